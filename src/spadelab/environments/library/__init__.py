"""Hand-written interactive environments, from easy to hard, four for each skill.

They are examples in the proposer's prompt, a pool to start from and the baseline of fixed environments.
Their modules are data: read as text, run only in the sandbox, never imported. Each has a constant LEVEL,
from which its instances take their size.
"""

from __future__ import annotations

import re
from pathlib import Path

LEVELS = range(1, 6)
_FOLDER = Path(__file__).parent


def list_library() -> tuple[str, ...]:
    """The names of all environments, sorted."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("[a-z]*.py")))


def library_source(name: str, level: int | None = None) -> str:
    """The text of one environment, at its own level or at one of LEVELS.

    Raises KeyError for a name that is not in the library and ValueError for a level outside LEVELS.
    """
    if name not in list_library():
        raise KeyError(name)
    source = (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
    if level is None:
        return source
    if level not in LEVELS:
        raise ValueError(f"level {level}: choose {LEVELS.start} to {LEVELS.stop - 1}")
    return re.sub(r"^LEVEL = \d+$", f"LEVEL = {level}", source, flags=re.MULTILINE)
