"""Frames between the host and a child: u32 length (little endian), then a request or a reply.

A request is a list of texts, each behind its own length: the program, its stream of chance and its room for
output, unless it was loaded before; then for each call a name, the function, its arguments and whether to
trace. A reply, which is hostile, is JSON and checked before use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from .jobs import Call, Limits, Outcome
from .literals import LiteralError, parse_literal, render
from .tracer import MAX_ENTRIES, MAX_LINE

LOAD = ""
"""The name that the load of a program has among the names of calls."""
# Control characters but for tab and newline, and those that turn the direction of writing.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class WireError(ValueError):
    """The child broke the protocol."""


class Reply(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The child's answer to one call. Every field is hostile until `to_outcome` has checked it."""

    id: str
    kind: Literal["value", "program_error", "output_limit", "memory"]
    value: str = ""
    error: str = ""
    message: str = ""
    stdout: str = ""
    trace: tuple[tuple[str, str], ...] = ()


class Codec:
    """Encodes requests and decodes replies; one a channel, since msgspec's coders keep buffers."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # Text may grow sixfold when JSON escapes it; the trace has its own room.
        self.frame_cap = 6 * (6 * limits.output_bytes + 1000 * 500) + (1 << 16)
        self._decoder = msgspec.json.Decoder(Reply)
        self._source = ""
        self._traced: frozenset[str] = frozenset()

    def encode(self, calls: Sequence[tuple[str, Call]], source: str | None = None, stream: int = 0) -> bytes:
        """The request frame; the first one carries the program.

        Raises UnicodeEncodeError for text that no encoding can carry (lone surrogates).
        """
        fields: list[str] = []
        if source is not None:
            fields += [source, str(stream), str(self.limits.output_bytes)]
            self._source = source
        for name, call in calls:
            fields += [name, call.function, call.arguments, "trace" if call.trace else ""]
        self._traced = frozenset(name for name, call in calls if call.trace)
        return _pack(b"".join(_pack(text.encode()) for text in fields))

    def split(self, buffer: bytearray) -> Iterator[Reply]:
        """Take whole frames off the front of `buffer`, each checked when it is asked for: what stands before
        a broken one has been answered, however the bytes arrived. Raises WireError.
        """
        while len(buffer) >= 4:
            length = int.from_bytes(buffer[:4], "little")
            if length > self.frame_cap:
                raise WireError(f"a frame of {length} bytes")
            if len(buffer) < 4 + length:
                return
            frame = memoryview(buffer)[4 : 4 + length]
            try:
                reply = self._decoder.decode(frame)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise WireError(f"not a reply: {error}"[:200]) from None
            finally:
                frame.release()
            del buffer[: 4 + length]
            yield reply

    def to_outcome(self, reply: Reply, seconds: float, loading: bool) -> Outcome:
        """Check a reply's content and make the outcome of it. Raises WireError."""
        room = self.limits.output_bytes
        value = reply.value
        if reply.kind == "value" and not loading:
            try:
                value = render(parse_literal(value, room), room)
            except LiteralError as error:
                raise WireError(f"the result is not literal text: {error}") from None
        elif value:
            raise WireError("a result beside a failure")
        if len(reply.stdout) > room or len(reply.error) > 100 or len(reply.trace) > MAX_ENTRIES:
            raise WireError("a field is too long")
        if reply.trace:
            self._check_trace(reply)
        name, message, stdout = map(_show, (reply.error, reply.message[:500], reply.stdout))
        return Outcome(reply.kind, value, name, message, stdout, reply.trace, seconds)

    def _check_trace(self, reply: Reply) -> None:
        """What was recorded becomes part of what solvers learn from."""
        if reply.id not in self._traced:
            raise WireError("a trace that nobody asked for")
        lines = {line[:MAX_LINE] for line in self._source.splitlines()}
        if any(line not in lines or not values.isprintable() for line, values in reply.trace):
            raise WireError("a trace of something else than the program")


def _pack(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def _show(text: str) -> str:
    """The text with what a terminal would obey written out: it will be printed and logged."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)
