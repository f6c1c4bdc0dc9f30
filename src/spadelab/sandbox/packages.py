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
    roots: dict[str, str] = {}
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        spec = importlib.util.find_spec(name) if name not in roots else None
        if spec is None or spec.origin is None:
            continue  # known, or a requirement under another name: the import will say what is missing
        origin = Path(spec.origin).resolve()
        roots[name] = str(origin.parent.parent if spec.submodule_search_locations else origin.parent)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.distribution(name)
            beside = (found.read_text("top_level.txt") or "").split()
            needed = [_module_name(text) for text in found.requires or [] if "extra ==" not in text]
            waiting += [module for module in (*beside, *needed) if module.isidentifier()]
    return roots


def list_paths(roots: dict[str, str]) -> list[Path]:
    """The files and folders of the packages at `roots`."""
    paths = []
    for name, folder in roots.items():
        candidates = [Path(folder, name), Path(folder, name + ".py"), Path(folder, name + ".libs")]
        paths += [path for path in candidates if path.exists()]
    return paths


def _module_name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    return match.group().replace("-", "_").lower() if match else ""
