"""Argument lists and files as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

from spadelab.errors import UserError
from spadelab.sandbox.literals import LiteralError, parse_arguments, parse_literal, render


def read_arguments(text: str) -> str:
    """The arguments as Python source, "3, [1, 2]".

    A JSON or Python list holds the arguments ("[3, [1, 2]]"); anything else is what stands between
    the parentheses of a call ("3, [1, 2]"). Raises UserError when it is neither.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    try:
        if not isinstance(value, list):
            value = _read_python(text)
        return ", ".join(map(render, value))
    except LiteralError as error:
        raise UserError(
            f"--args {text}: {error}; write a JSON list ('[3, [1, 2]]') or arguments ('3, [1, 2]')."
        ) from None


def _read_python(text: str) -> list[object]:
    try:
        value = parse_literal(text)
    except LiteralError:
        value = None
    return value if isinstance(value, list) else list(parse_arguments(text))


def read_text(path: Path) -> str:
    """The text of a file; UserError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text.") from None
    except OSError as error:
        raise UserError(f"{path}: the file cannot be read ({error.strerror}).") from None


def make_folder(path: Path) -> None:
    """Make a folder for results; UserError when that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: the folder cannot be made ({error.strerror}); choose another.") from None
