"""Instances at play: one jailed process each, every answer checked on every step.

What the jail answers is hostile. A legal answer becomes a `Step`; anything else becomes a `Fault`, which
ends the session: the proposer pays for it, the solver does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from spadelab.environments.interactive.contract import jailed_source
from spadelab.records import Environment
from spadelab.sandbox import Call, Child, Job, Limits, Outcome, Sandbox
from spadelab.sandbox.literals import parse_literal

ReturnRule = Literal["sum", "final"]

MAX_ACTION_CHARS = 4000
MAX_OBSERVATION_CHARS = 8000
SLACK = 1e-9
"""Rounding that a running sum of rewards may show beyond [0, 1]."""
WIN = 1.0 - 1e-9
"""A return from here on is a win; the slack absorbs the rounding of summed step rewards."""
UNFINISHED = 1.0 - 1e-6
"""The most that an episode without a proper end returns: never a win."""
MACHINERY = ("jail_died", "unavailable")
"""Fault codes that are nobody's fault: neither role pays."""


@dataclass(frozen=True, slots=True)
class Fault:
    """How an environment broke the contract. `code` is countable, `reason` one sentence."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """One checked answer of `step`."""

    action: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool


@dataclass(slots=True)
class Session:
    """One instance: (source, seed, actions) determine everything in it."""

    seed: int
    max_turns: int
    child: Child | None
    number: int = 0
    opening: str = ""
    steps: list[Step] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def observation(self) -> str:
        """What the solver sees now."""
        return self.steps[-1].observation if self.steps else self.opening

    @property
    def terminated(self) -> bool:
        """Whether the environment ended the episode."""
        return bool(self.steps) and self.steps[-1].terminated

    @property
    def won(self) -> bool:
        """Terminated with a return of 1, without a fault."""
        return self.fault is None and self.terminated and episode_return(self) >= WIN

    @property
    def truncated(self) -> bool:
        """Whether the episode ran out of turns, by its own account or by MAX_TURNS."""
        return not self.terminated and bool(
            self.steps and (self.steps[-1].truncated or len(self.steps) >= self.max_turns)
        )

    @property
    def over(self) -> bool:
        """No further action is possible."""
        return self.fault is not None or self.terminated or self.truncated

    def close(self) -> None:
        """End the process."""
        if self.child is not None:
            self.child.close()
            self.child = None


def open_sessions(
    sandbox: Sandbox, instances: Sequence[tuple[Environment, int]], limits: Limits, hash_seed: int = 0
) -> list[Session]:
    """Start and reset one instance for each (environment, seed), a process each; close them all after use."""
    sessions = [Session(seed, environment.turns, None) for environment, seed in instances]
    jobs = [
        Job(jailed_source(environment.source, environment.entry), (reset_call(session),), limits, hash_seed)
        for (environment, _), session in zip(instances, sessions, strict=True)
    ]
    for session, (child, (outcome,)) in zip(sessions, sandbox.open_many(jobs), strict=True):
        session.child = child
        accept_reset(session, outcome)
    return sessions


def step_sessions(sandbox: Sandbox, moves: Sequence[tuple[Session, str]]) -> None:
    """One action in each of different sessions, at the same time; the sessions take the answers in."""
    sessions = [session for session, _ in moves]
    actions = [legal_action(action) for _, action in moves]
    calls = [step_call(session, action) for session, action in zip(sessions, actions, strict=True)]
    outcomes = _call(sandbox, sessions, calls)
    for session, action, outcome in zip(sessions, actions, outcomes, strict=True):
        accept_step(session, action, outcome)


def reset_call(session: Session) -> Call:
    """The call that resets the session's instance."""
    return Call("_spade_reset", f"{session.number}, {session.seed}")


def step_call(session: Session, action: str) -> Call:
    """The call that takes one action; ASCII, so that no text is beyond the wire."""
    return Call("_spade_step", f"{session.number}, {action!a}")


def legal_action(text: str) -> str:
    """What an environment gets of a solver's text: valid Unicode, at most MAX_ACTION_CHARS characters."""
    return text[:MAX_ACTION_CHARS].encode("utf-8", "replace").decode("utf-8")


def accept_reset(session: Session, outcome: Outcome) -> None:
    """Check what `reset` answered."""
    value = _value(session, outcome, "reset")
    if session.fault is None:
        take_reset(session, value)


def take_reset(session: Session, value: object) -> None:
    """Check the value that `reset` gave."""
    match value:
        case (str() as observation, dict()):
            session.opening = _observe(session, observation, "reset")
            if not observation.strip():
                session.fault = Fault("bad_type", "reset gave an empty observation")
        case _:
            session.fault = Fault("bad_type", "reset must return (str, dict)")


def accept_step(session: Session, action: str, outcome: Outcome) -> None:
    """Check what `step` answered, on this and every step."""
    value = _value(session, outcome, f"step {len(session.steps) + 1}")
    if session.fault is None:
        take_step(session, action, value)


def take_step(session: Session, action: str, value: object) -> None:
    """Check a value that `step` gave."""
    match value:
        case (
            str() as observation,
            int() | float() as reward,
            bool() as terminated,
            bool() as truncated,
            dict(),
        ):
            pass
        case _:
            session.fault = Fault("bad_type", "step must return (str, float, bool, bool, dict)")
            return
    where = f"step {len(session.steps) + 1}"
    if isinstance(reward, bool):
        session.fault = Fault("bad_type", f"the reward of {where} is a bool")
        return
    if not abs(reward) <= 1 + 2 * SLACK:  # an int may be too large for a float; NaN is within nothing
        session.fault = Fault("reward_range", f"the reward of {where} is not within [-1, 1]")
        return
    total = math.fsum(step.reward for step in session.steps) + reward if reward else 0.0
    if not -SLACK <= total <= 1 + SLACK:
        session.fault = Fault(
            "reward_range", f"the rewards sum to {total:g} after {where}, but must stay in [0, 1]"
        )
        return
    observation = _observe(session, observation, where)
    if session.fault is None:
        session.steps.append(Step(action, observation, float(reward), terminated, truncated))


def episode_return(session: Session, rule: ReturnRule = "sum") -> float:
    """The return in [0, 1]: the sum of the step rewards.

    An episode that did not terminate returns less than a win, and what is paid with the truncation
    itself does not count: running out of turns earns nothing. "final" is the published rule instead:
    the last reward, clipped, and 0 unless terminated (SPADE, rewards.py).
    """
    rewards = [step.reward for step in session.steps if not step.truncated or step.terminated]
    if rule == "final":
        return min(1.0, max(-1.0, rewards[-1])) if session.terminated else 0.0
    total = min(1.0, max(0.0, math.fsum(rewards)))
    return total if session.terminated else min(total, UNFINISHED)


def ask(sandbox: Sandbox, sessions: Sequence[Session], method: Literal["solution", "hint"]) -> list[object]:
    """The plain value that `solution` or `hint` gives in each session; a failure is the session's fault."""
    calls = [Call(f"_spade_{method}", str(session.number)) for session in sessions]
    outcomes = _call(sandbox, sessions, calls)
    return [_value(s, outcome, method) for s, outcome in zip(sessions, outcomes, strict=True)]


def _call(sandbox: Sandbox, sessions: Sequence[Session], calls: Sequence[Call]) -> list[Outcome]:
    pairs = []
    for session, call in zip(sessions, calls, strict=True):
        if session.child is None:
            raise ValueError("the session is closed")
        pairs.append((session.child, call))
    return sandbox.call_many(pairs)


def _value(session: Session, outcome: Outcome, where: str) -> object:
    """The answer as plain data; anything else becomes the session's fault."""
    if outcome.kind == "value":
        return parse_literal(outcome.value)
    if session.fault is None:
        detail = f"{outcome.error}: {outcome.message}".strip(": ")[:200]
        code = {"program_error": "exception"}.get(outcome.kind, outcome.kind)
        if outcome.error == "NotALiteral":
            code = "reward_range" if "finite" in outcome.message else "bad_type"
        session.fault = Fault(code, f"{where}: {outcome.kind} {detail}".strip())
    return None


def _observe(session: Session, observation: str, where: str) -> str:
    if len(observation) > MAX_OBSERVATION_CHARS:
        session.fault = Fault(
            "output_limit", f"the observation of {where} is longer than {MAX_OBSERVATION_CHARS} characters"
        )
    return observation if observation.isascii() else observation.encode("utf-8", "replace").decode("utf-8")
