"""The example in the proposer's prompt obeys the contract that the prompt teaches."""

from __future__ import annotations

import pytest

from spadelab.environments.extraction import find_blocks
from spadelab.environments.interactive.contract import read_manifest
from spadelab.environments.interactive.session import ask, episode_return, open_sessions, step_sessions
from spadelab.environments.syntax import parse_program
from spadelab.records import Environment
from spadelab.roles.composition import load_template
from spadelab.sandbox import Limits, Sandbox

SEEDS = range(6)


@pytest.fixture(scope="module")
def environment() -> Environment:
    ((label, source),) = find_blocks(load_template("full_interactive", "propose"))
    assert label == "python"
    manifest = read_manifest(parse_program(source))
    return Environment(
        "example",
        "example",
        "interactive",
        manifest.skill,
        source,
        (),
        (),
        7,
        entry=manifest.class_name,
        turns=manifest.max_turns,
        action_format=manifest.action_format,
    )


def test_the_example_is_won_by_its_solution_and_by_nothing_else(
    environment: Environment, sandbox: Sandbox
) -> None:
    instances = [(environment, seed) for seed in SEEDS]
    asked = open_sessions(sandbox, instances, Limits())
    solutions = ask(sandbox, asked, "solution")
    assert len({str(solution) for solution in solutions}) > 1
    assert all("Count" in str(hint) for hint in ask(sandbox, asked, "hint"))
    first = solutions[0]
    assert isinstance(first, list) and len(first) == 7
    plays = [[str(a) for a in actions] for actions in solutions if isinstance(actions, list)]
    plays += [[action] * 8 for action in ("", "AB", "AA", "ABCD", "中", "a" * 4000)]
    sessions = open_sessions(sandbox, [*instances, *instances], Limits())
    for turn in range(8):
        moves = [(s, actions[turn]) for s, actions in zip(sessions, plays, strict=True) if not s.over]
        step_sessions(sandbox, moves)
    returns = [episode_return(session) for session in sessions]
    for session in (*asked, *sessions):
        assert session.fault is None and (session.over or session in asked)
        session.close()
    assert returns[:6] == [1.0] * 6 and sum(returns[6:]) <= 1.0
