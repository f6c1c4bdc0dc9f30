"""Verification: what execution says of a solver's answer.

Answers are parsed as literals or argument lists on the host and compared there, exact types, floats
within the tolerance of `literals.equal`; nothing that a model wrote is evaluated outside the jail.
Induction programs run in a child that gets the hidden inputs and never the outputs (AZR §1.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spadelab.environments.extraction import find_answer, find_program, strip_thoughts
from spadelab.environments.syntax import ProgramError, find_entry, parse_program
from spadelab.environments.trials import FAULTS
from spadelab.records import Environment, Score
from spadelab.sandbox import Call, Job, Limits, Outcome, Sandbox
from spadelab.sandbox.literals import LiteralError, equal, parse_arguments, parse_literal, render

MAX_ANSWER_CHARS = 20_000


def verify(attempts: Sequence[tuple[Environment, str]], sandbox: Sandbox, limits: Limits) -> list[Score]:
    """Score completions, in order. Reward 1.0 when right, else 0.0; outcome "correct", "wrong",
    "no_answer", "too_long", "not_literal", "bad_arguments", or the kind of the jail's outcome.

    Equal answers to one task are executed once. `fault` marks a failure of the jail or of the stored
    task ("bad_task"): such a score says nothing about the answer.
    """
    sources = {environment.source for environment, _ in attempts if environment.kind == "abduction"}
    entries = {source: _name_entry(source) for source in sources}
    plans = [_judge_or_plan(environment, text, limits, entries) for environment, text in attempts]
    jobs = list(dict.fromkeys(plan for plan in plans if isinstance(plan, Job)))
    results = dict(zip(jobs, sandbox.map(jobs), strict=True))
    return [
        plan if isinstance(plan, Score) else judge_outcomes(environment, results[plan])
        for plan, (environment, _) in zip(plans, attempts, strict=True)
    ]


def _judge_or_plan(
    environment: Environment, text: str, limits: Limits, entries: Mapping[str, str]
) -> Score | Job:
    """A score where the host alone can tell, otherwise the job that decides."""
    answer = find_answer(text)
    if answer is None:
        open_thought = strip_thoughts(text) is None
        return _fail("no_answer", "a thought is never closed" if open_thought else "there is no answer block")
    if len(answer) > MAX_ANSWER_CHARS:
        return _fail("too_long", f"the answer has more than {MAX_ANSWER_CHARS} characters")
    if environment.kind == "deduction":
        return _judge_literal(environment, answer)
    if environment.kind == "abduction":
        return _plan_abduction(environment, answer, limits, entries[environment.source])
    return _plan_induction(environment, answer, limits)


def _judge_literal(environment: Environment, answer: str) -> Score:
    try:
        value = parse_literal(answer)
    except LiteralError as error:
        return _fail("not_literal", f"the answer is not plain data: {error}")
    return _compare([value], environment.outputs)


def _plan_abduction(environment: Environment, answer: str, limits: Limits, entry: str) -> Score | Job:
    if not entry:
        return Score(0.0, "bad_task", "the stored program has no entry function", fault=True)
    try:
        arguments = ", ".join(map(render, parse_arguments(answer)))
    except LiteralError as error:
        return _fail("bad_arguments", f"the answer is not an argument list: {error}")
    return Job(environment.source, (Call(entry, arguments),), limits)


def _name_entry(source: str) -> str:
    """Name of the entry function, "" for a source that has none or cannot be parsed."""
    try:
        entry = find_entry(parse_program(source))
    except ProgramError:
        return ""
    return entry.name if entry else ""


def _plan_induction(environment: Environment, answer: str, limits: Limits) -> Score | Job:
    source = find_program(answer)
    try:
        entry = find_entry(parse_program(source))
    except ProgramError as error:
        return _fail("program_error", f"the answer is not valid Python: {error}")
    if entry is None:
        return _fail("program_error", "the answer defines no function")
    hidden = environment.inputs[environment.visible :]
    return Job(source, tuple(Call(entry.name, arguments) for arguments in hidden), limits)


def judge_outcomes(environment: Environment, outcomes: Sequence[Outcome]) -> Score:
    """The score of an executed answer: every outcome a value, and every value equal to the stored one."""
    for outcome in outcomes:
        if outcome.kind != "value":
            reason = f"{outcome.error}: {outcome.message}".strip(": ")[:200]
            return Score(0.0, outcome.kind, reason, fault=outcome.kind in FAULTS)
    try:
        values = [parse_literal(outcome.value) for outcome in outcomes]
    except LiteralError as error:  # the child is not believed, not even on its own encoding
        return _fail("protocol_error", str(error))
    return _compare(values, environment.outputs[environment.visible :])


def _compare(values: Sequence[object], outputs: Sequence[str]) -> Score:
    try:
        expected = [parse_literal(output) for output in outputs]
    except LiteralError as error:
        return Score(0.0, "bad_task", f"a stored output is not a literal: {error}", fault=True)
    if not expected or len(values) != len(expected):
        return Score(0.0, "bad_task", "the stored task has nothing to compare with", fault=True)
    right = sum(map(equal, values, expected))
    if right == len(expected):
        return Score(1.0, "correct")
    return _fail("wrong", f"{right} of {len(expected)} outputs agree" if len(expected) > 1 else "")


def _fail(outcome: str, reason: str) -> Score:
    return Score(0.0, outcome, reason)
