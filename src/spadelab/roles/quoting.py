"""Texts of others inside a prompt: fenced by a tag that they do not contain, without control tokens."""

from __future__ import annotations

import hashlib
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NOT_NAME = re.compile(r"\W+")
# Tags and special tokens of chat templates: <|im_start|>, </s>, <start_of_turn>, [INST], <｜User｜>.
_MARKUP = re.compile(r"<(?=[/|｜])|<(?=[\w-]{1,40}>)|\[(?=/?(?:INST|[A-Z]+_[A-Z]+)\])|`(?=``)")


def choose_fence(*texts: str) -> str:
    """Eight hex digits that occur in none of the texts and follow from them alone."""
    joined = "\0".join(texts)
    fence = _digest(joined)
    while fence in joined.lower():
        fence = _digest(fence)
    return fence


def escape(text: str) -> str:
    """The text with a space inside everything that a tokenizer or reader may take for markup.

    Spaces, since Python keeps its meaning outside strings. Control characters become spaces too, and
    what is not valid Unicode a question mark.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    return _MARKUP.sub(lambda match: match[0] + " ", _CONTROL.sub(" ", text))


def clean_name(text: str) -> str:
    """A name that an environment gave, as at most 40 characters of one word: it can say nothing else."""
    return _NOT_NAME.sub("_", text)[:40]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
