"""Prompts: text files with named slots, filled in one pass so that slot text is never a template itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PROMPTS = Path(__file__).parent / "prompts"
SLOT = re.compile(r"\{(\w+)\}")


@cache
def load_template(style: str, name: str) -> str:
    """The text of `prompts/<style>/<name>.txt`."""
    return (PROMPTS / style / f"{name}.txt").read_text(encoding="utf-8")


def compose(style: str, name: str, slots: Mapping[str, str]) -> str:
    """Fill the template's slots; a slot without a value raises KeyError naming it."""
    return SLOT.sub(lambda match: slots[match.group(1)], load_template(style, name))


def fixed_pieces(style: str) -> list[str]:
    """The text between the slots of every template of a style, in a stable order."""
    files = sorted((PROMPTS / style).glob("*.txt"))
    return [piece for file in files for piece in SLOT.split(file.read_text(encoding="utf-8"))[::2] if piece]
