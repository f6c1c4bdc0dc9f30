"""What goes into the sandbox and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "value",
    "program_error",
    "wall_timeout",
    "cpu_timeout",
    "memory",
    "output_limit",
    "crash",
    "protocol_error",
    "jail_died",
    "unavailable",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one child.

    `wall_seconds` bounds the load with the first call, and each further call; `cpu_seconds` (rounded
    up to whole seconds) and `memory_mb` bound the child as a whole; `output_bytes` bounds the printed
    text of a call and, apart from it, the text of its result.
    """

    wall_seconds: float = 5.0
    cpu_seconds: float = 5.0
    memory_mb: int = 256
    output_bytes: int = 65536


@dataclass(frozen=True, slots=True)
class Call:
    """One call in the child.

    `arguments` is an argument list as literal source ("3, [1, 2]"). With `trace`, the statements that
    the program's functions execute are recorded with the locals after them.
    """

    function: str
    arguments: str
    trace: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A program and the calls to make, in order, in one fresh child.

    `hash_seed`, 0 or 1, chooses between two kinds of jail that differ in the order of hashed sets and
    in their memory layout: a deterministic program answers the same in both. `stream` (at least 0) numbers
    what unseeded generators, os.urandom and the clock give: equal in every run on the same stream.
    """

    source: str
    calls: tuple[Call, ...]
    limits: Limits = Limits()
    hash_seed: int = 0
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call.

    `value` is canonical literal source when `kind` is "value". `error` names the exception, or the
    signal or exit code of a crash. `trace` holds (source line, "a=1, b=2") pairs. `seconds` is wall
    time as the host saw it. "jail_died" and "unavailable" are never the program's fault; a program that
    twice takes its jail along has a "crash" with the error "jail died".
    """

    kind: Kind
    value: str = ""
    error: str = ""
    message: str = ""
    stdout: str = ""
    trace: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


class SandboxUnavailable(RuntimeError):
    """No jail can be built here; the message says why and what would help."""
