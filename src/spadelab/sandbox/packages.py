"""Where the packages lie that programs may import."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from .jobs import SandboxUnavailable


def check_packages(packages: Sequence[str]) -> None:
    """Raise SandboxUnavailable, naming the package and the setting, when one is not installed."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            raise SandboxUnavailable(
                f"sandbox.allowed_packages names {name!r}, which is not installed; install it or take it "
                "off the list"
            )


def find_roots(packages: Sequence[str]) -> dict[str, str]:
    """Top-level module to the folder that holds it: the packages, what was installed with them, and all
    that they require. Raises SandboxUnavailable when one of `packages` is missing.
    """
    check_packages(packages)
    modules = set(packages)
    seen: set[str] = set()
    waiting = [_find_distribution(name) for name in packages]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.distribution(name)
            modules |= _list_modules(found)
            needed = [text for text in found.requires or [] if "extra ==" not in text]
            waiting += [re.split(r"[^A-Za-z0-9_.-]", text, maxsplit=1)[0] for text in needed]
    roots: dict[str, str] = {}
    for name in modules:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin).resolve()
            roots[name] = str(origin.parent.parent if spec.submodule_search_locations else origin.parent)
    return roots


def list_paths(roots: dict[str, str]) -> list[Path]:
    """The files and folders of the packages at `roots`."""
    paths = []
    for name, folder in roots.items():
        candidates = [Path(folder, name), Path(folder, name + ".py"), Path(folder, name + ".libs")]
        paths += [path for path in candidates if path.exists()]
    return paths


def _find_distribution(module: str) -> str:
    """The name under which the module was installed."""
    try:
        importlib.metadata.distribution(module)
    except importlib.metadata.PackageNotFoundError:
        return importlib.metadata.packages_distributions().get(module, [module])[0]
    return module


def _list_modules(found: importlib.metadata.Distribution) -> set[str]:
    """The top-level modules that a distribution brought."""
    names = (found.read_text("top_level.txt") or "").split()
    if not names:
        names = [file.parts[0].removesuffix(".py") for file in found.files or [] if file.suffix == ".py"]
    return {name for name in names if name.isidentifier()}
