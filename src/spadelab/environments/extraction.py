"""What a model wrote, taken apart: thoughts, the answer block, fenced blocks. Text in, text out.

Nothing here parses Python. Fences count only at the start of a line, so that three backquotes inside
a string literal of a program or an input cannot end a block.
"""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"</?think>")
_ANSWER = re.compile(r"</?answer>")
_MARKUP = re.compile(r"</?(?:think|answer)>")
_FENCE = re.compile(r"```[ \t]*(\w*)")
PROGRAM_LABELS = ("python", "py", "python3")


def strip_thoughts(text: str) -> str | None:
    """Drop everything inside <think>...</think>; None when a thought is never closed.

    A closing tag without an opening one ends a thought that the prompt had opened.
    """
    kept: list[str] = []
    position, thinking = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag[0] == "<think>":
            if not thinking:
                kept.append(text[position : tag.start()])
            thinking = True
        else:
            if not thinking:
                kept.clear()
            thinking = False
            position = tag.end()
    if thinking:
        return None
    kept.append(text[position:])
    return "".join(kept)


def find_answer(text: str) -> str | None:
    """The content of the last complete <answer>...</answer> outside thoughts, or None."""
    visible = strip_thoughts(text)
    if visible is None:
        return None
    answer: str | None = None
    start: int | None = None
    for tag in _ANSWER.finditer(visible):
        if tag[0] == "<answer>":
            start = tag.end()
        elif start is not None:
            answer = visible[start : tag.start()]
            start = None
    return answer


def find_blocks(text: str) -> list[tuple[str, str]]:
    """All closed fenced blocks as (label in lower case, content), in order of appearance."""
    blocks: list[tuple[str, str]] = []
    label: str | None = None
    content: list[str] = []
    for line in _unify_lines(text).split("\n"):
        # Stripped here: a pattern with spaces on both sides of nothing takes quadratic time to fail.
        fence = _FENCE.fullmatch(line.rstrip(" \t"))
        if label is None:
            if fence and fence[1]:
                label, content = fence[1].lower(), []
        elif fence and not fence[1]:
            blocks.append((label, "\n".join(content)))
            label = None
        else:
            content.append(line)
    return blocks


def find_program(answer: str) -> str:
    """The program of an induction answer: its last ```python block, or the whole text."""
    programs = [content for label, content in find_blocks(answer) if label in PROGRAM_LABELS]
    return (programs[-1] if programs else _unify_lines(answer)).strip("\n")


def has_markup(text: str) -> bool:
    """Whether the text contains a tag of the answer format, which would break the formats that embed it."""
    return _MARKUP.search(text) is not None


def _unify_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
