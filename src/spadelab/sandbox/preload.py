"""The modules that programs may import: loaded in the zygote, since children cannot open files.

Every page and mapping costs each fork. So a program that names no module runs in a jail with none of
these, where this file is not loaded either.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder

STANDARD_MODULES = """
    __future__ abc array base64 bisect calendar cmath collections collections.abc contextlib copy
    dataclasses datetime decimal enum fractions functools graphlib hashlib heapq itertools json keyword
    math numbers operator pprint random re statistics string struct textwrap types typing unicodedata
"""
# What C code imports for a program that does not say so: for strptime and for very large integers.
_IMPLICIT = ("_strptime", "_pylong")
_NOT_NEEDED = """
    benchmarks conftest distutils f2py plotting interactive testing typing setup __main__ code_generators
    codegen parsing physics stats galgebra external printing _pyinstaller sandbox this random_matrix
"""
# "\N{...}" looks into `unicodedata`, a generic class into `typing`.
_WANTS_A_MODULE = re.compile(r"import|\\N\{|class\s+\w+\s*\[")


def is_bare(source: str) -> bool:
    """Whether a program gets along without any module, as far as its text shows.

    Names beyond ASCII do not: they are normalised with `unicodedata`.
    """
    return source.isascii() and not _WANTS_A_MODULE.search(source)


def list_allowed(packages: Sequence[str]) -> frozenset[str]:
    """The top-level names that programs may import."""
    return frozenset(name.partition(".")[0] for name in (*STANDARD_MODULES.split(), *packages))


def load_modules() -> None:
    """Import all of the standard modules."""
    sys.modules["_hashlib"] = None  # type: ignore[assignment]  # OpenSSL is large, slow to fork
    for name in STANDARD_MODULES.split():
        importlib.import_module(name)
    for name in _IMPLICIT:
        with suppress(ModuleNotFoundError):  # not in every version
            importlib.import_module(name)


def load_packages(packages: Sequence[str], roots: Mapping[str, str]) -> None:
    """Import the packages, which lie at `roots`."""
    sys.meta_path.append(PackageFinder(roots))
    for name in packages:
        import_whole(name)


class PackageFinder:
    """Finds the allowed packages and what they require, and nothing that lies beside them."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        self.roots = roots

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """The protocol of sys.meta_path."""
        folder = self.roots.get(name)
        return PathFinder.find_spec(name, [folder]) if path is None and folder else None


def import_whole(package: str) -> None:
    """Import a package with its submodules: nothing loads later."""
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        reason = " ".join(str(error).split())
        sys.exit(f"sandbox.allowed_packages: {package} cannot be imported in the jail ({reason[:300]})")
    skipped = frozenset(_NOT_NEEDED.split())
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), package + ".", lambda name: None):
        parts = found.name.split(".")
        if any(part in skipped or part.startswith(("test", "_pytest")) for part in parts):
            continue
        with suppress(Exception):  # a part that does not load here is a part less
            importlib.import_module(found.name)
