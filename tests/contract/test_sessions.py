"""Instances in the real jail: every step is checked, faults are typed, replay is byte-equal."""

from __future__ import annotations

import pytest

from spadelab.environments.interactive.contract import read_manifest
from spadelab.environments.interactive.session import (
    UNFINISHED,
    WIN,
    Session,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.environments.syntax import parse_program
from spadelab.records import Environment
from spadelab.sandbox import Limits, Sandbox

TEMPLATE = """
import random
NAME = "counter"
SUMMARY = "count"
SKILL = "Mathematical Reasoning"
MAX_TURNS = 5
ACTION_FORMAT = "text"

class CounterEnv:
    def reset(self, *, seed):
        self.random = random.Random(seed)
        self.n = 0
        {reset}
        return f"go {{self.random.randrange(1000)}}", {{}}

    def step(self, action):
        self.n += 1
        {step}
        return f"{{self.n}} {{action}} {{self.random.random()}}", 0.25, self.n == 4, False, {{}}

    def solution(self):
        return ["x"] * 4
"""
LIMITS = Limits(wall_seconds=1.0, cpu_seconds=10.0, memory_mb=64)


def environment(step: str = "pass", reset: str = "pass") -> Environment:
    source = TEMPLATE.format(step=step, reset=reset)
    manifest = read_manifest(parse_program(source))
    return Environment(
        "id", "key", "interactive", manifest.skill, source, (), (), 4,
        entry=manifest.class_name, turns=manifest.max_turns, action_format=manifest.action_format,
    )  # fmt: skip


def play(sandbox: Sandbox, world: Environment, actions: list[str], seed: int = 3) -> Session:
    (session,) = open_sessions(sandbox, [(world, seed)], LIMITS)
    try:
        for action in actions:
            if not session.over:
                step_sessions(sandbox, [(session, action)])
    finally:
        session.close()
    return session


def test_a_sound_episode_ends_with_its_rewards_summed(sandbox: Sandbox) -> None:
    session = play(sandbox, environment(), ["a"] * 9)
    assert session.terminated and len(session.steps) == 4 and session.fault is None
    assert episode_return(session) >= WIN
    assert episode_return(session, "final") == 0.25


def test_replay_is_byte_equal_in_another_process(sandbox: Sandbox) -> None:
    actions = ["a", "中文", "\0", "x" * 3999]
    one, two = (play(sandbox, environment(), actions, seed=11) for _ in range(2))
    assert (one.opening, one.steps) == (two.opening, two.steps)
    assert play(sandbox, environment(), actions, seed=12).opening != one.opening


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("raise ValueError('no')", "exception"),
        ("if self.n == 3: raise KeyError(action)", "exception"),
        ("raise SystemExit", "exception"),
        ("if self.n == 2: return 'o', float('nan'), False, False, {}", "reward_range"),
        ("if self.n == 2: return 'o', float('inf'), False, False, {}", "reward_range"),
        ("if self.n == 2: return 'o', 1e9, False, False, {}", "reward_range"),
        ("if self.n == 2: return 'o', 0.9, False, False, {}", "reward_range"),  # the sum leaves [0, 1]
        ("if self.n == 2: return 'o', -0.5, False, False, {}", "reward_range"),
        ("if self.n == 2: return 'o', True, False, False, {}", "bad_type"),
        ("if self.n == 2: return 'o', '1', False, False, {}", "bad_type"),
        ("if self.n == 2: return 'o', 0.0, 1, False, {}", "bad_type"),
        ("if self.n == 2: return b'o', 0.0, False, False, {}", "bad_type"),
        ("if self.n == 2: return 'o', 0.0, False, False", "bad_type"),
        ("if self.n == 2: return None", "bad_type"),
        ("if self.n == 2: return 'o', 0.0, False, False, {'x': object()}", "bad_type"),
        ("if self.n == 2: return 'o' * 9000, 0.0, False, False, {}", "output_limit"),
        ("while self.n == 2: pass", "wall_timeout"),
        ("if self.n == 2: self.x = bytearray(10 ** 9)", "memory"),
    ],
)
def test_a_fault_on_any_step_is_typed_and_ends_the_session(sandbox: Sandbox, step: str, code: str) -> None:
    session = play(sandbox, environment(step), ["a"] * 5)
    assert session.fault is not None and session.fault.code == code, session.fault
    assert len(session.steps) == {"raise ValueError('no')": 0, "raise SystemExit": 0}.get(
        step, 2 if "3" in step else 1
    )


def test_a_fault_in_reset_shows_no_observation(sandbox: Sandbox) -> None:
    session = play(sandbox, environment(reset="raise RuntimeError('reset')"), [])
    assert session.fault and session.fault.code == "exception" and session.opening == ""
    empty = play(sandbox, environment(reset="return ' ', {}"), [])
    assert empty.fault and empty.fault.code == "bad_type"


def test_running_out_of_turns_is_never_a_win(sandbox: Sandbox) -> None:
    idle = environment("return 'o', 0.2, False, False, {}")
    session = play(sandbox, idle, ["a"] * 9)
    assert session.truncated and len(session.steps) == 5
    assert episode_return(session) == UNFINISHED < WIN
    paying = environment("return 'o', float(self.n == 5), False, self.n == 5, {}")
    assert episode_return(play(sandbox, paying, ["a"] * 9)) == 0.0
    assert episode_return(play(sandbox, paying, ["a"] * 9), "final") == 0.0


def test_many_sessions_at_once_do_not_mix(sandbox: Sandbox) -> None:
    world = environment()
    sessions = open_sessions(sandbox, [(world, seed) for seed in range(40)], LIMITS)
    try:
        step_sessions(sandbox, [(session, f"a{session.seed}") for session in sessions])
        alone = [play(sandbox, world, [f"a{seed}"], seed) for seed in (0, 39)]
        assert [(s.opening, s.steps) for s in (sessions[0], sessions[39])] == [
            (s.opening, s.steps) for s in alone
        ]
        assert len({session.observation for session in sessions}) == 40
    finally:
        for session in sessions:
            session.close()


def test_actions_beyond_text_reach_the_environment_as_valid_text(sandbox: Sandbox) -> None:
    session = play(sandbox, environment(), ["\ud800 a", "x" * 10_000_000])
    assert session.fault is None
    assert [step.action[:3] for step in session.steps] == ["? a", "xxx"]
    assert len(session.steps[1].action) == 4000
