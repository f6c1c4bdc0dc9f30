"""A root file system with this interpreter and nothing else, for containers where no image can be fetched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy

_SKIPPED = (
    "test",
    "tests",
    "site-packages",
    "__pycache__",
    "config-*",
    "ensurepip",
    "idlelib",
    "tkinter",
    "lib2to3",
    "turtledemo",
    "pydoc_data",
)


def build_root(folder: Path) -> Path:
    """Copy interpreter, standard library and the shared libraries of both and of NumPy; some 70 MB."""
    library, python = Path(sysconfig.get_path("stdlib")), Path(sys.executable).resolve()
    home = folder / "usr" / "local"
    shutil.copytree(library, home / "lib" / library.name, ignore=shutil.ignore_patterns(*_SKIPPED))
    (home / "bin").mkdir()
    shutil.copy(python, home / "bin" / "python3")
    objects = [python, *library.glob("lib-dynload/*.so"), *Path(numpy.__file__).parent.rglob("*.so")]
    linked = subprocess.run(["ldd", *map(str, objects)], capture_output=True, text=True, check=False).stdout
    for path in set(re.findall(r"(/\S+) \(0x", linked)):
        if "site-packages" in path:
            continue
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for name in ("proc", "dev", "sys", "etc", "tmp", "run", "jail"):
        (folder / name).mkdir()
    return folder
