"""Turning a validation error into one sentence: which file, which key, what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


def explain_invalid(
    error: ValidationError,
    settings: type[BaseModel],
    source: str,
    overrides: Sequence[str],
    aliases: Sequence[str],
) -> str:
    """One sentence for the first of the errors, naming the file (or the override) and the key."""
    errors = error.errors(include_url=False)
    # An unknown key is the likeliest cause of whatever else is wrong.
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    key = ".".join(str(part) for part in _key_parts(first["loc"], settings))
    override = next((o for o in reversed(overrides) if o.partition("=")[0].strip() == key), None)
    place = f"--set {override}" if override is not None else source
    if first["type"] == "extra_forbidden":
        return f"{place}: unknown key {key}; {suggest_key(key, known_keys(settings, aliases))}."
    return f"{place}: {_describe(first, key, settings)}."


def known_keys(settings: type[BaseModel], aliases: Sequence[str] = ()) -> list[str]:
    """Every dotted key of the tree, and the aliases."""
    keys = list(aliases)
    for section, field in settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys += [f"{section}.{name}" for name in field.annotation.model_fields]
    return keys


def suggest_key(key: str, known: Sequence[str]) -> str:
    """ "did you mean X", X being the nearest known key; else the keys of the section, or the sections."""
    section, _, leaf = key.partition(".")
    sections = list(dict.fromkeys(name.split(".")[0] for name in known))
    if not leaf:
        near = difflib.get_close_matches(section, sections, 1) or [
            k for k in known if k.endswith(f".{section}")
        ]
        return f"did you mean {near[0]}" if near else f"the sections are {', '.join(sections)}"
    leaves = [name.split(".", 1)[1] for name in known if name.startswith(f"{section}.")]
    near = [f"{section}.{name}" for name in difflib.get_close_matches(leaf, leaves, 1)]
    near = [name for name in known if name.endswith(f".{leaf}")] or near
    near = near or difflib.get_close_matches(key, known, 1)
    if near:
        return f"did you mean {near[0]}"
    return (
        f"the keys of {section} are {', '.join(leaves)}"
        if leaves
        else f"the sections are {', '.join(sections)}"
    )


def _key_parts(location: tuple[int | str, ...], settings: type[BaseModel]) -> tuple[int | str, ...]:
    # Behind section and key come list positions and dict keys, and pydantic's names of union branches
    # and of "[key]" failures, which mean nothing to a reader.
    return tuple(
        part for part in location[:3] if part != "[key]" and not str(part).startswith(("function", "const"))
    )


def _describe(error: ErrorDetails, key: str, settings: type[BaseModel]) -> str:
    if error["type"] == "value_error":
        message = str(error["ctx"]["error"])
        return (
            f"{key} is {_short(error['input'])}, but {message}"
            if message.startswith("must")
            else _prefix(key, message)
        )
    if error["type"] in ("model_type", "model_attributes_type"):
        section = settings.model_fields[key].annotation
        names = (
            ", ".join(section.model_fields)
            if isinstance(section, type) and issubclass(section, BaseModel)
            else ""
        )
        return f"{key} is {_short(error['input'])}, but must be a section with the keys {names}"
    message = error["msg"].replace("Input should be", "must be").replace("should", "must")
    if error["type"] == "string_pattern_mismatch":
        message = 'must be "cpu", "mps", "cuda" or "cuda:N"'
    message = message.partition(", unable to parse")[0].partition(", got a number")[0]
    return (
        f"{key} is {_short(error['input'])}, but {message[:1].lower() + message[1:]}{_default(key, settings)}"
    )


def _prefix(key: str, message: str) -> str:
    return f"{key}: {message}" if key else message


def _default(key: str, settings: type[BaseModel]) -> str:
    section, _, leaf = key.partition(".")
    tree: Any = settings.model_fields[section].default
    if leaf in type(tree).model_fields:
        return f" (default: {_short(getattr(tree, leaf))})"
    return ""


def _short(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
