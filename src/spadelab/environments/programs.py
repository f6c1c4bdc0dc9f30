"""Program tasks: the family's public face (deduction, abduction, induction; AZR §1)."""

from __future__ import annotations

from spadelab.environments.gates import GateSettings, admit
from spadelab.environments.syntax import ProgramError, find_entry, parse_program, shape_key, task_key
from spadelab.environments.tasks import KINDS, gold, propose_text, slots
from spadelab.environments.verification import verify
from spadelab.sandbox import Call, Job, Limits, Sandbox

__all__ = [
    "KINDS",
    "GateSettings",
    "ProgramError",
    "admit",
    "difficulty",
    "gold",
    "propose_text",
    "shape_key",
    "slots",
    "task_key",
    "verify",
]


def difficulty(source: str, arguments: str, sandbox: Sandbox, limits: Limits | None = None) -> int:
    """Statements executed by one traced call, the return not counted: a task's difficulty.

    Counts up to `tracer.MAX_ENTRIES`, which the gates refuse. Raises ProgramError when the source
    does not parse, has no function, or gives no value.
    """
    entry = find_entry(parse_program(source))
    if entry is None:
        raise ProgramError("no function at the top level")
    job = Job(source, (Call(entry.name, arguments, trace=True),), limits or Limits())
    (outcome,) = sandbox.run(job)
    if outcome.kind != "value":
        raise ProgramError(f"{outcome.kind} {outcome.error}: {outcome.message}")
    return len(outcome.trace)
