"""The verb `exec`: one program in the jail."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from spadelab.command.arguments import read_arguments, read_text
from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.errors import UserError
from spadelab.sandbox import Call, Job, Limits, Outcome, make_sandbox

MACHINERY = ("jail_died", "unavailable")


@dataclass(frozen=True, slots=True)
class Request:
    """What to call, in which jail. `seconds` bounds wall clock and CPU, `memory` is in MiB."""

    function: str
    arguments: str
    seconds: float
    memory: int
    backend: str
    trace: bool


def execute(path: Path, request: Request, as_json: bool) -> int:
    """Run the program; the exit code: 0 for a value, 1 when the program failed."""
    call = Call(request.function, read_arguments(request.arguments), request.trace)
    limits = Limits(request.seconds, request.seconds, request.memory)
    job = Job(read_text(path), (call,), limits)
    warn_unsafe(request.backend)
    with make_sandbox(request.backend, workers=1) as sandbox:
        (outcome,) = sandbox.run(job)
    if outcome.kind in MACHINERY:
        raise UserError(f"the sandbox failed ({outcome.kind}): {outcome.message}; run spadelab doctor.")
    if as_json:
        print_json(asdict(outcome))
    else:
        show(outcome)
    return 0 if outcome.kind == "value" else 1


def show(outcome: Outcome) -> None:
    """The value on stdout; what the program printed, its trace and its failure on stderr."""
    if outcome.stdout:
        print(outcome.stdout, end="" if outcome.stdout.endswith("\n") else "\n", file=sys.stderr)
    for statement, state in outcome.trace:
        print(f"{statement} # {state}", file=sys.stderr)
    sys.stderr.flush()
    if outcome.kind == "value":
        print(outcome.value, flush=True)
        return
    parts = [part for part in (outcome.error, outcome.message) if part]
    print(f"{outcome.kind.replace('_', ' ')}: {': '.join(parts) or 'no further detail'}", file=sys.stderr)
