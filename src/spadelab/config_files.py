"""Reading settings files and overrides into plain trees, and checking model folders."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from spadelab.errors import UserError

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the tree in a .json, .toml, .yaml or .yml file.

    Raises UserError when the file is missing, unreadable, broken (with line and column), of another
    type, or not a mapping.
    """
    parsers = {".json": _parse_json, ".toml": _parse_toml, ".yaml": _parse_yaml, ".yml": _parse_yaml}
    parse = parsers.get(path.suffix.lower())
    if parse is None:
        raise UserError(f"{path}: the settings file must end in .json, .toml, .yaml or .yml.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such settings file; check the path after --config.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text.") from None
    except OSError as error:
        raise UserError(f"{path}: the settings file cannot be read ({error.strerror}).") from None
    try:
        tree = parse(path, text)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
        raise UserError(f"{path}: the settings file cannot be read ({error}); simplify it.") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: the file must hold sections such as model and run, not a {_name(tree)}.")
    return tree


def apply_override(
    tree: dict[str, Any], override: str, aliases: Mapping[str, str], text_keys: Container[str]
) -> None:
    """Set `key.path=value` in the tree.

    The value is JSON, or text where it is not JSON; `text_keys` take a bare number as text too.
    Raises UserError.
    """
    key, equals, text = override.partition("=")
    key = aliases.get(key.strip(), key.strip())
    if not equals or not all(key.split(".")):
        raise UserError(f"--set {override}: write it as key.path=value, for example run.seed=1.")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if key in text_keys and not isinstance(value, str):
        value = text
    set_key(tree, key, value, f"--set {override}")


def set_key(tree: dict[str, Any], key: str, value: Any, source: str) -> None:
    """Set the dotted key, making sections on the way. Raises UserError where a section is a value."""
    *sections, leaf = key.split(".")
    for depth, section in enumerate(sections, 1):
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            path = ".".join(sections[:depth])
            raise UserError(f"{source}: {path} is a {_name(tree)}, but must be a section with keys.")
    tree[leaf] = value


def rename_keys(tree: dict[str, Any], aliases: Mapping[str, str], source: str) -> None:
    """Move every aliased key to its own name in place. Raises UserError when both say different things."""
    for alias, key in aliases.items():
        section, leaf = alias.split(".")
        if not isinstance(tree.get(section), dict) or leaf not in tree[section]:
            continue
        value = tree[section].pop(leaf)
        own_section, own_leaf = key.split(".")
        own = tree.get(own_section)
        if isinstance(own, dict) and own.get(own_leaf, value) != value:
            raise UserError(
                f"{source}: {alias} is {value!r} and {key} is {own[own_leaf]!r}, "
                f"but both mean the same setting; keep {key} only."
            )
        set_key(tree, key, value, source)


def check_model_folder(path: str | Path) -> None:
    """Raise UserError, naming what is missing, unless the folder has config, weights and a tokenizer."""
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder}: the model folder {what}; give a folder in Hugging Face format or 'tiny'.")
    missing = []
    if not (folder / "config.json").is_file():
        missing.append("config.json")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        missing.append("weights (*.safetensors or *.bin)")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        missing.append(f"a tokenizer ({' or '.join(TOKENIZER_FILES)})")
    if missing:
        raise UserError(f"{folder}: the model folder lacks {' and '.join(missing)}; download it completely.")


def _parse_json(path: Path, text: str) -> Any:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        tree = dict(pairs)
        if len(tree) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise UserError(f"{path}: the key {twice!r} appears twice in one section; keep one.")
        return tree

    try:
        return json.loads(text, object_pairs_hook=build)
    except json.JSONDecodeError as error:
        raise UserError(_broken(path, "JSON", error.lineno, error.colno, error.msg)) from None


def _parse_toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the position is only in the message: "... (at line 2, column 5)".
        message, _, place = str(error).rpartition(" (at ")
        numbers = [int(word) for word in place.rstrip(")").replace(",", "").split() if word.isdigit()]
        if len(numbers) != 2:  # "(at end of document)"
            lines = text.split("\n")
            numbers = [len(lines), len(lines[-1]) + 1]
        raise UserError(_broken(path, "TOML", numbers[0], numbers[1], message)) from None


def _parse_yaml(path: Path, text: str) -> Any:
    import yaml  # only here: a run without a YAML file need not pay for the import

    try:
        return yaml.safe_load(text) or {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise UserError(_broken(path, "YAML", line, column, error.problem or "not readable")) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        raise UserError(_broken(path, "YAML", line, column, "a character that is not allowed")) from None


def _broken(path: Path, language: str, line: int, column: int, message: str) -> str:
    detail = message[:1].lower() + message[1:].rstrip(".")
    return f"{path}, line {line}, column {column}: not valid {language} ({detail}); correct it there."


def _name(value: Any) -> str:
    names = {dict: "section", list: "list", str: "text", bool: "yes/no value", int: "number", float: "number"}
    return names.get(type(value), "null value" if value is None else type(value).__name__)
