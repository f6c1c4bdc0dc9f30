"""What the outcomes of trial runs mean: codes, determinism, faults. Outcomes as the sandbox types them."""

from __future__ import annotations

import pytest

from spadelab.environments.tasks import make_environment
from spadelab.environments.trials import (
    Rejected,
    check_determinism,
    check_execution,
    collect_trials,
    plan_trials,
)
from spadelab.environments.verification import judge_outcomes
from spadelab.sandbox import Limits, Outcome

ONE, TWO = Outcome("value", "1"), Outcome("value", "2")
SLOW, FULL = Outcome("wall_timeout"), Outcome("output_limit")
DIED, MISSING = Outcome("jail_died"), Outcome("unavailable")


def judge(first: list[Outcome], second: list[Outcome]) -> str:
    """The verdict on the outcomes of the two runs, both given in the order of the inputs."""
    trials = collect_trials([first, second[::-1]])
    try:
        check_execution(trials)
        check_determinism(trials)
    except Rejected as rejected:
        assert rejected.reason
        return rejected.code
    return ""


def error(name: str, message: str = "") -> Outcome:
    return Outcome("program_error", error=name, message=message)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ([ONE, TWO], [ONE, TWO], ""),
        ([ONE, TWO], [TWO, ONE], "non_deterministic"),
        ([ONE], [error("ValueError")], "non_deterministic"),
        ([error("ValueError")], [ONE], "non_deterministic"),
        ([SLOW], [ONE], "too_difficult"),
        ([FULL], [ONE], "too_difficult"),
        ([ONE], [SLOW], "non_deterministic"),
        ([SLOW], [SLOW], "timeout"),
        ([SLOW], [Outcome("cpu_timeout")], "timeout"),
        ([FULL], [FULL], "output_too_long"),
        ([Outcome("memory")], [Outcome("memory")], "memory"),
        ([error("MemoryError")], [error("MemoryError")], "memory"),
        ([error("SystemExit")], [error("SystemExit")], "exit"),
        ([error("KeyError")], [error("KeyError")], "exception"),
        ([ONE, error("KeyError")], [ONE, error("KeyError")], "exception"),
        ([error("NotALiteral", "not plain data")], [error("NotALiteral", "not plain data")], "not_literal"),
        ([error("NotALiteral", "is not finite")], [error("NotALiteral", "is not finite")], "nan"),
        ([Outcome("crash", error="exit code 3")], [Outcome("crash", error="exit code 3")], "exit"),
        ([Outcome("crash", error="SIGSEGV")], [Outcome("crash", error="SIGSEGV")], "crash"),
        ([Outcome("protocol_error")], [Outcome("protocol_error")], "crash"),
        ([DIED], [ONE], "jail_died"),
        ([ONE], [MISSING], "unavailable"),
        ([error("KeyError")], [DIED], "jail_died"),
    ],
)
def test_every_pair_of_outcomes_has_one_code(first: list[Outcome], second: list[Outcome], code: str) -> None:
    assert judge(first, second) == code


def test_the_plan_changes_process_seed_and_order() -> None:
    plan = plan_trials("source", "f", ("1", "2"), Limits(), random=False)
    assert [(job.hash_seed, job.stream) for job in plan] == [(1, 1), (0, 0)]  # the last is the reference
    assert [[call.arguments for call in job.calls] for job in plan] == [["1", "2"], ["2", "1"]]
    assert [[call.trace for call in job.calls] for job in plan] == [[True, False], [False, False]]
    assert len(plan_trials("source", "f", ("1",), Limits(), random=True)) > 8


def test_failures_of_the_jail_are_faults_and_those_of_the_program_are_not() -> None:
    environment = make_environment("abduction", "def f(a): return a", ("1",), ("1",), (), "", "", 0)
    for outcome, fault in ((DIED, True), (MISSING, True), (SLOW, False), (Outcome("crash"), False)):
        score = judge_outcomes(environment, [outcome])
        assert (score.fault, score.reward, score.outcome) == (fault, 0.0, outcome.kind)
    assert judge_outcomes(environment, [ONE]).outcome == "correct"
    assert judge_outcomes(environment, [Outcome("value", "f(1)")]).outcome == "protocol_error"
