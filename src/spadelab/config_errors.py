"""Turning a validation error into one sentence: which file, which key, what would be right."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

UNKNOWN = ("extra_forbidden", "invalid_key")


def explain_invalid(
    error: ValidationError,
    settings: type[BaseModel],
    source: str,
    overrides: Sequence[str],
    aliases: Mapping[str, str],
) -> str:
    """One sentence for the first of the errors, naming the file (or the override) and the key."""
    errors = error.errors(include_url=False)
    # An unknown key is the likeliest cause of whatever else is wrong.
    first = next((e for e in errors if e["type"] in UNKNOWN), errors[0])
    # Behind a dict's key pydantic adds "[key]" when the key itself is wrong.
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    place = next((f"--set {o}" for o in reversed(overrides) if _concerns(o, key, aliases)), source)
    if first["type"] in UNKNOWN:
        if isinstance(first["input"], dict) and first["input"]:
            key += f".{next(iter(first['input']))}"
        return f"{place}: unknown key {key}; {suggest_key(key, known_keys(settings, tuple(aliases)))}."
    return f"{place}: {_describe(first, key, settings)}."


def known_keys(settings: type[BaseModel], aliases: Sequence[str] = ()) -> list[str]:
    """Every dotted key of the tree, then the aliases."""
    return [*_leaves(settings), *aliases]


def text_keys(settings: type[BaseModel]) -> frozenset[str]:
    """The dotted keys whose values are free text."""
    return frozenset(key for key, leaf in _leaves(settings).items() if leaf.annotation is str)


def _leaves(settings: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    """Dotted key to field, for all that is no section."""
    found: dict[str, FieldInfo] = {}
    for name, field in settings.model_fields.items():
        if isinstance(field.default, BaseModel):
            found |= _leaves(type(field.default), f"{prefix}{name}.")
        else:
            found[prefix + name] = field
    return found


def suggest_key(key: str, known: Sequence[str]) -> str:
    """Say which known key is nearest: "did you mean X", else what the section (or the tree) offers."""
    section, _, leaf = key.partition(".")
    sections = list(dict.fromkeys(name.split(".")[0] for name in known))
    leaves = [name.split(".", 1)[1] for name in known if name.startswith(f"{section}.")]
    # In order: the right key in a wrong section, a misspelt key, a misspelt section.
    same_leaf = [name for name in known if name.split(".", 1)[1] == (leaf or section)]
    near = difflib.get_close_matches(key, same_leaf, 1, cutoff=0)
    near = near or [f"{section}.{name}" for name in difflib.get_close_matches(leaf, leaves, 1)]
    near = near or ([] if leaves else difflib.get_close_matches(section, sections, 1))
    if near:
        return f"did you mean {near[0]}"
    if leaves:
        return f"the keys of {section} are {', '.join(leaves)}"
    return f"the sections are {', '.join(sections)}"


def _concerns(override: str, key: str, aliases: Mapping[str, str]) -> bool:
    path = override.partition("=")[0].strip()
    path = aliases.get(path, path)
    return bool(key) and (f"{key}.".startswith(f"{path}.") or path.startswith(f"{key}."))


def _describe(error: ErrorDetails, key: str, settings: type[BaseModel]) -> str:
    if error["type"] == "value_error":
        message = str(error["ctx"]["error"])
        # Validators of one key say "must be ..."; those of several name the keys themselves.
        return f"{key} is {_show(error['input'])}, but {message}" if message.startswith("must") else message
    if error["type"] == "model_type":
        names = ", ".join(type(_find_default(key, settings)).model_fields)
        return f"{key} is {_show(error['input'])}, but must be a section with the keys {names}"
    if error["type"] == "tuple_type":
        message = "must be a list"
    else:
        message = error["msg"].partition(", ")[0] if error["type"].endswith("_parsing") else error["msg"]
        message = message.replace("Input should be", "must be")
    return f"{key} is {_show(error['input'])}, but {message}{_default(key, settings)}"


def _default(key: str, settings: type[BaseModel]) -> str:
    leaves = _leaves(settings)
    return f" (default: {_show(leaves[key].default)})" if key in leaves else ""


def _find_default(key: str, settings: type[BaseModel]) -> BaseModel:
    """The default of the section `key`."""
    section, *further = key.split(".")
    value = settings.model_fields[section].default
    for name in further:
        value = getattr(value, name)
    return value  # type: ignore[no-any-return]


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
