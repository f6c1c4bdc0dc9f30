"""Trial runs of a proposed program in fresh jailed processes, and what they say about it.

Every program runs at least twice: two processes, two hash seeds, two streams of chance and time, and the
calls of the second run in reverse order, so that results that depend on any of these differ.
Programs that mention a source of randomness run EXTRA_RUNS times more, since a coin agrees with
itself half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spadelab.sandbox import Call, Job, Limits, Outcome

EXTRA_RUNS = 14
FAULTS = frozenset({"jail_died", "unavailable"})
_RESOURCES = frozenset({"wall_timeout", "cpu_timeout", "memory", "output_limit"})
_CODES = {
    "wall_timeout": "timeout",
    "cpu_timeout": "timeout",
    "memory": "memory",
    "output_limit": "output_too_long",
    "protocol_error": "crash",
}
_ERROR_CODES = {"SystemExit": "exit", "MemoryError": "memory", "NotAnArgumentList": "bad_arguments"}


class Rejected(Exception):
    """A gate's verdict: `code` is countable, `reason` one sentence. Never leaves this package."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Trials:
    """Outcomes of all runs, run by run, each in the order of the inputs; the first run was traced."""

    runs: tuple[tuple[Outcome, ...], ...]

    @property
    def seconds(self) -> float:
        """Seconds that the jail spent on these runs."""
        return sum(outcome.seconds for run in self.runs for outcome in run)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Canonical literals, one an input, of the untraced reference run."""
        return tuple(outcome.value for outcome in self.runs[1])

    @property
    def trace(self) -> tuple[tuple[str, str], ...]:
        """Statements executed on the first input."""
        return self.runs[0][0].trace


def plan_trials(
    source: str, function: str, inputs: Sequence[str], limits: Limits, random: bool
) -> tuple[Job, ...]:
    """The jobs of one program; `random` asks for the extra runs."""
    jobs = []
    for number in range(2 + EXTRA_RUNS * random):
        calls = tuple(
            Call(function, text, trace=number == 0 and index == 0) for index, text in enumerate(inputs)
        )
        order = calls[:: -1 if number % 2 else 1]
        # The reference run is that of number 1. It gets what an answer is judged under, seed and stream 0, so
        # that a program cannot tell the gates from the judgement.
        twin = number ^ 1
        jobs.append(Job(source, order, limits, hash_seed=twin % 2, stream=twin))
    return tuple(jobs)


def collect_trials(results: Sequence[Sequence[Outcome]]) -> Trials:
    """Put the results of `plan_trials` jobs back in the order of the inputs."""
    return Trials(tuple(tuple(run[:: -1 if number % 2 else 1]) for number, run in enumerate(results)))


def check_execution(trials: Trials) -> None:
    """Raise Rejected when some input has no value in every run that can be compared."""
    outcomes = [outcome for run in trials.runs for outcome in run]
    for outcome in outcomes:
        if outcome.kind in FAULTS:
            raise Rejected(*explain_outcome(outcome))
    if _traced_alone_failed(trials):
        raise Rejected("too_difficult", "too many statements are executed to be traced")
    for column in zip(*trials.runs, strict=True):
        if all(outcome.kind != "value" for outcome in column):
            raise Rejected(*explain_outcome(column[1]))


def check_determinism(trials: Trials) -> None:
    """Raise Rejected("non_deterministic") when two runs disagree on an input."""
    for column in zip(*trials.runs, strict=True):
        if len({(outcome.kind, outcome.value) for outcome in column}) > 1:
            shown = sorted({(outcome.value or outcome.error or outcome.kind)[:40] for outcome in column})
            raise Rejected("non_deterministic", f"two fresh runs disagree: {' and '.join(shown[:2])}")


def _traced_alone_failed(trials: Trials) -> bool:
    """Recording every statement costs time and room: only programs far beyond the limit get here."""
    plain = all(outcome.kind == "value" for run in trials.runs[1:] for outcome in run)
    return plain and any(outcome.kind in _RESOURCES for outcome in trials.runs[0])


def explain_outcome(outcome: Outcome) -> tuple[str, str]:
    """(code, sentence) of an outcome without a value."""
    detail = f"{outcome.error}: {outcome.message}".strip(": ")[:200]
    if outcome.kind == "program_error":
        if outcome.error == "NotALiteral":
            code = "nan" if "finite" in outcome.message else "not_literal"
            return code, f"the result is not plain data: {outcome.message[:200]}"
        return _ERROR_CODES.get(outcome.error, "exception"), f"the program raised {detail}"
    if outcome.kind == "crash":
        return ("exit" if "exit" in outcome.error else "crash"), f"the process ended early: {detail}"
    if outcome.kind in FAULTS:
        return outcome.kind, f"the sandbox failed: {outcome.message or outcome.kind}"
    return _CODES[outcome.kind], f"the program met a limit: {outcome.kind} {detail}".strip()
