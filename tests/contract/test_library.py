"""The hand-written environments, played in the sandbox at every level."""

from __future__ import annotations

import ast
import itertools
import random
import re
from collections import Counter
from collections.abc import Sequence

import pytest

from spadelab.environments.interactive.contract import FAMILY, SKILLS, jailed_source, read_manifest
from spadelab.environments.interactive.gates import GateSettings, admit
from spadelab.environments.interactive.session import (
    Session,
    Step,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.environments.library import library_source, list_library
from spadelab.records import Draft, Environment
from spadelab.sandbox import Call, Job, Limits, Sandbox
from spadelab.sandbox.literals import parse_literal

NAMES = list_library()
STREAM = random.Random("library")
SEEDS = [STREAM.randrange(2**31) for _ in range(24)]
PLAYED = SEEDS[:4]
LIMITS = Limits()
PLAYED_LEVELS = (1, 3, 5)
PLAY = """
def _spade_play(seed, actions):
    observation, info = _spade_reset(0, seed)
    steps = [(observation[:4000], 0.0, False, False)]
    for action in actions:
        if steps[-1][2] or steps[-1][3]:
            break
        steps.append(_spade_step(0, action)[:4])
    return steps
"""


def environment_of(name: str, level: int | None = None) -> Environment:
    source = library_source(name, level)
    manifest = read_manifest(ast.parse(source))
    return Environment(
        id=f"{name}-{level}",
        key="",
        family=FAMILY,
        kind=manifest.skill,
        source=source,
        inputs=(),
        outputs=(),
        difficulty=1,
        name=manifest.name,
        entry=manifest.class_name,
        turns=manifest.max_turns,
        action_format=manifest.action_format,
    )


def solve(sandbox: Sandbox, environment: Environment) -> tuple[dict[int, list[str]], dict[int, str]]:
    """The solution and the hint of each seed."""
    calls = [
        call
        for i, seed in enumerate(SEEDS)
        for call in (
            Call("_spade_reset", f"{i}, {seed}"),
            Call("_spade_solution", f"{i}"),
            Call("_spade_hint", f"{i}"),
        )
    ]
    source = jailed_source(environment.source, environment.entry)
    outcomes = sandbox.run(Job(source, tuple(calls), LIMITS))
    assert {outcome.kind for outcome in outcomes} == {"value"}, outcomes[-1]
    values = [parse_literal(outcome.value) for outcome in outcomes]
    return dict(zip(SEEDS, values[1::3], strict=True)), dict(zip(SEEDS, values[2::3], strict=True))


def play(
    sandbox: Sandbox, environment: Environment, plans: Sequence[tuple[int, Sequence[str]]], hash_seed: int = 0
) -> list[Session]:
    """Each plan is a seed and the actions, taken until they or the episode end."""
    sessions = open_sessions(sandbox, [(environment, seed) for seed, _ in plans], LIMITS, hash_seed)
    try:
        for turn in range(max(len(actions) for _, actions in plans)):
            moves = [
                (session, actions[turn])
                for session, (_, actions) in zip(sessions, plans, strict=True)
                if not session.over and turn < len(actions)
            ]
            if moves:
                step_sessions(sandbox, moves)
    finally:
        for session in sessions:
            session.close()
    assert [session.fault for session in sessions] == [None] * len(sessions)
    return sessions


def play_at_once(
    sandbox: Sandbox, environment: Environment, plans: Sequence[tuple[int, Sequence[str]]]
) -> list[list[tuple[str, float, bool, bool]]]:
    """The same in one process, for what needs no isolation; each begins with its opening."""
    calls = [Call("_spade_play", f"{seed}, {list(actions)!a}") for seed, actions in plans]
    source = jailed_source(environment.source, environment.entry) + PLAY
    outcomes = sandbox.run(Job(source, tuple(calls), LIMITS))
    assert {outcome.kind for outcome in outcomes} == {"value"}, outcomes[-1]
    return [parse_literal(outcome.value) for outcome in outcomes]


def transcript(session: Session) -> tuple[str, list[Step]]:
    return session.opening, session.steps


def won(session: Session) -> bool:
    return session.terminated and episode_return(session) == 1.0


def test_each_skill_has_four() -> None:
    manifests = [read_manifest(ast.parse(library_source(name))) for name in NAMES]
    assert Counter(manifest.skill for manifest in manifests) == dict.fromkeys(SKILLS, 4)
    assert all(manifest.has_hint for manifest in manifests)
    assert len({manifest.name for manifest in manifests}) == len({m.class_name for m in manifests}) == 24


def test_a_level_changes_one_line() -> None:
    for name in NAMES:
        lines = library_source(name).splitlines()
        changed = library_source(name, 5).splitlines()
        assert [pair for pair in zip(lines, changed, strict=True) if pair[0] != pair[1]] == [
            ("LEVEL = 3", "LEVEL = 5")
        ]
        assert library_source(name, 3) == library_source(name)
        assert 25 <= len(lines) <= 90


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        library_source("../records")
    with pytest.raises(ValueError, match="level 6: choose 1 to 5"):
        library_source(NAMES[0], 6)


@pytest.mark.parametrize("name", NAMES)
def test_solutions_win_again_and_again_and_grow(sandbox: Sandbox, name: str) -> None:
    lengths = []
    for level in PLAYED_LEVELS:
        environment = environment_of(name, level)
        solutions, hints = solve(sandbox, environment)
        lengths.append(sum(map(len, solutions.values())))
        plans = [(seed, solutions[seed]) for seed in PLAYED]
        sessions = play(sandbox, environment, plans)
        for session, (seed, actions) in zip(sessions, plans, strict=True):
            assert won(session), (level, seed, session.steps[-1:])
            assert [step.action for step in session.steps] == actions
        again = play(sandbox, environment, plans, hash_seed=1)
        assert list(map(transcript, again)) == list(map(transcript, sessions)), level
        assert len({session.opening for session in sessions} | {str(s) for s in solutions.values()}) > 6
        for seed, hint in hints.items():
            assert 20 < len(hint) < 200
            assert solutions[seed][-1] not in re.findall(r"\w+", hint)
    assert lengths == sorted(lengths), lengths
    assert lengths[-1] >= 1.2 * lengths[0], lengths


@pytest.mark.parametrize("name", NAMES)
def test_other_play_hardly_ever_wins(sandbox: Sandbox, name: str) -> None:
    for level in PLAYED_LEVELS:
        environment = environment_of(name, level)
        solutions, _ = solve(sandbox, environment)
        rng = random.Random(level)
        guessed, foreign = [], []
        openings = play_at_once(sandbox, environment, [(seed, []) for seed in SEEDS])
        seen = {seed: re.findall(r"\w+", steps[0][0]) for seed, steps in zip(SEEDS, openings, strict=True)}
        for start in range(0, len(SEEDS), 4):
            seeds = SEEDS[start : start + 4]
            words = {word for seed in seeds for word in seen[seed]}
            known = sorted(words.union(*(solutions[seed] for seed in seeds)))
            guessed += [(seed, rng.choices(known, k=environment.turns)) for seed in seeds for _ in range(2)]
            foreign += [(a, solutions[b]) for a, b in itertools.permutations(seeds, 2)]
        fixed = ["", "1", "yes", "None", *sorted(words)[:9], "{}", "\0", "9" * 4000, "\u94b1" * 9, "[" * 3999]
        constant = [(seed, [action] * environment.turns) for seed in PLAYED for action in fixed]
        for plans, bound in ((guessed, 0.2), (foreign, 0.15), (constant, 0.05)):
            episodes = play_at_once(sandbox, environment, plans)
            assert sum(episode[-1][1] == 1.0 for episode in episodes) <= bound * len(plans), (level, bound)
            for episode in episodes:
                assert not episode[-1][3] or episode[-1][1] == 0, (level, episode[-1])
        for episode in episodes:  # of constant play, which uses all turns
            assert any(step[2] or step[3] for step in episode), (level, episode[-1])


@pytest.mark.parametrize("level", PLAYED_LEVELS)
def test_every_gate_admits_all(sandbox: Sandbox, level: int) -> None:
    drafts = [Draft(name, "", f"```python\n{library_source(name, level)}\n```", 0) for name in NAMES]
    admissions = admit(drafts, sandbox, GateSettings(), frozenset())
    assert [(a.draft.id, a.checks[-1].reason) for a in admissions if not a.environment] == []


def test_the_last_turn_pays_nothing(sandbox: Sandbox) -> None:
    """Right answers up to the last turn, but too few of them: partial rewards are kept, none is added."""
    environment = environment_of("next_terms")
    solutions, _ = solve(sandbox, environment)
    (session,) = play(sandbox, environment, [(SEEDS[0], ["no", "no", *solutions[SEEDS[0]]])])
    assert session.truncated and not session.terminated and session.steps[-1].reward == 0
    assert [step.reward for step in session.steps[2:-1]] == [0.1] * 3
