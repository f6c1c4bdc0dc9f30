"""What a solver's reply means as an action: thoughts dropped, then read in the environment's format.

All readers are linear in the length of the reply. What cannot be read becomes a sentence for the solver,
and the environment is not stepped.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from spadelab.environments.extraction import strip_thoughts
from spadelab.environments.interactive.session import MAX_ACTION_CHARS

MAX_REPLY_CHARS = 100_000
"""The longest reply outside thoughts that is looked at."""

_BRACE = re.compile(r"\\boxed\s*\{|[{}]")
_CALL = re.compile(r"<tool_call>\s*|\{(?=\s*[\"}])")


@dataclass(frozen=True, slots=True)
class Action:
    """An action in the form that `step` gets it, or the reason why the reply holds none."""

    text: str
    error: str = ""


class _Unreadable(ValueError):
    """The reply holds no action; the message is the sentence for the solver."""


def read_action(text: str, action_format: str) -> Action:
    r"""Read a reply.

    "text": the whole reply. "boxed": the content of the last complete `\boxed{}`, without one the whole
    reply (SPADE takes the first box). "tool_call": the last <tool_call>, without one the last JSON object,
    as canonical JSON of {"name": text, "arguments": object}. Surrounding space is dropped everywhere.
    Raises ValueError for another format.
    """
    if action_format not in ("text", "boxed", "tool_call"):
        raise ValueError(f"unknown action format {action_format!r}")
    try:
        reply = _visible(text)
        if action_format == "tool_call":
            action = _read_call(reply)
        else:
            box = find_boxed(reply) if action_format == "boxed" else None
            action = reply.strip() if box is None else box
        if len(action) > MAX_ACTION_CHARS:
            raise _Unreadable(f"The action has more than {MAX_ACTION_CHARS} characters.")
    except _Unreadable as error:
        return Action("", str(error))
    return Action(action)


def write_action(action: str, action_format: str) -> str:
    """The shortest reply that `read_action` reads as this action."""
    if action_format == "boxed":
        return rf"\boxed{{{action}}}"
    return f"<tool_call>{action}</tool_call>" if action_format == "tool_call" else action


def find_boxed(text: str) -> str | None:
    r"""The stripped content of the last `\boxed{}` whose braces balance, or None."""
    opened: list[tuple[int, int]] = []  # where the brace's content starts, and its box (-1: a plain brace)
    last, content = -1, None
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append((brace.end(), brace.start() if brace[0] != "{" else -1))
        elif opened:
            start, box = opened.pop()
            if box > last:
                last, content = box, text[start : brace.start()].strip()
    return content


def _visible(text: str) -> str:
    visible = strip_thoughts(text)
    if visible is None:
        raise _Unreadable("A thought is never closed, so the reply holds no action.")
    if len(visible) > MAX_REPLY_CHARS:
        raise _Unreadable(f"The reply has more than {MAX_REPLY_CHARS} characters.")
    return visible


def _read_call(reply: str) -> str:
    call = _find_call(reply)
    if call.keys() != {"name", "arguments"}:
        raise _Unreadable('A tool call must have exactly the keys "name" and "arguments".')
    if not isinstance(call["name"], str) or not isinstance(call["arguments"], dict):
        raise _Unreadable('The "name" of a tool call must be a text and its "arguments" an object.')
    try:
        return json.dumps(call, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except ValueError:
        raise _Unreadable("The tool call holds a number that is not finite.") from None
    except RecursionError:
        raise _Unreadable("The tool call is nested too deeply.") from None


def _find_call(reply: str) -> dict[str, Any]:
    """The last object after a <tool_call>, or else the last object; what follows it is not looked at.

    A parse that fails is resumed where it failed: an object that stands inside the failed one as its
    value would fail at the same place. So no character is parsed twice.
    """
    repeated: list[str] = []

    def gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            repeated.append("The tool call holds a key twice in one object.")
        return fields

    decoder = json.JSONDecoder(object_pairs_hook=gather)
    found: dict[bool, dict[str, Any] | str] = {}  # the last object or its error: after a tag, and bare
    position = 0
    while start := _CALL.search(reply, position):
        tagged = start[0] != "{"
        repeated.clear()
        try:
            value, position = decoder.raw_decode(reply, start.end() - (not tagged))
            found[tagged] = value if isinstance(value, dict) else "A tool call must be a JSON object."
            if repeated:
                found[tagged] = repeated[0]
        except json.JSONDecodeError as error:
            position = max(error.pos, start.end())
            if tagged:
                found[True] = f"The tool call is not valid JSON: {error.msg} (character {error.pos})."
        except RecursionError:
            raise _Unreadable("The tool call is nested too deeply.") from None
        except ValueError:
            raise _Unreadable("The tool call holds a number with too many digits.") from None
    call = found.get(True, found.get(False, "The reply holds no JSON object with a tool call."))
    if isinstance(call, str):
        raise _Unreadable(call)
    return call
