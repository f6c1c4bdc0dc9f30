"""Hints for the hinted arm, asked of an instance that is never played.

An environment that is asked for a hint could behave differently afterwards, so the arms differ in
nothing but the text of the prompt: both are played in fresh processes that were asked for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from spadelab.environments.interactive.contract import jailed_source
from spadelab.environments.interactive.hints import judge_hint
from spadelab.play.interactive import Instance
from spadelab.records import Environment
from spadelab.sandbox import Call, Job, Limits, Outcome, Sandbox
from spadelab.sandbox.literals import parse_literal


def draw_hints(sandbox: Sandbox, instances: Sequence[Instance], limits: Limits) -> list[str]:
    """The hint of each instance; "" where there is none, or none that is legal."""
    asked = [
        i for i, instance in enumerate(instances) if any(d.hint for d in instance.environment.demonstrations)
    ]
    jobs = []
    for i in asked:
        environment = instances[i].environment
        calls = (
            Call("_spade_reset", f"0, {instances[i].seed}"),
            Call("_spade_solution", "0"),
            Call("_spade_hint", "0"),
        )
        jobs.append(Job(jailed_source(environment.source, environment.entry), calls, limits))
    hints = [""] * len(instances)
    for i, outcomes in zip(asked, sandbox.map(jobs), strict=True):
        hints[i] = _legal(outcomes)
    return hints


def has_hint(environment: Environment) -> bool:
    """Whether the environment gives hints itself."""
    return any(demonstration.hint for demonstration in environment.demonstrations)


def _legal(outcomes: Sequence[Outcome]) -> str:
    if any(outcome.kind != "value" for outcome in outcomes):
        return ""
    opening, solution, hint = (parse_literal(outcome.value) for outcome in outcomes)
    match opening, solution, hint:
        case (str() as observation, dict()), list(), str():
            actions = [action for action in solution if isinstance(action, str)]
            return "" if judge_hint(hint, [actions], [observation]) else hint
    return ""
