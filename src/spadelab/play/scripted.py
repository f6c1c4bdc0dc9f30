"""Scripted play: policies that need no model."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from spadelab.environments.interactive.session import (
    Session,
    ask,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.records import Demonstration, Environment
from spadelab.sandbox import Limits, Sandbox

Policy = Callable[[Session, random.Random], str]

_PIECES = re.compile(r"\w+")


def play(
    environment: Environment,
    sandbox: Sandbox,
    seeds: Sequence[int],
    act: Policy,
    limits: Limits,
    stream: random.Random,
) -> list[float]:
    """The returns of a scripted policy, one episode a seed, those that ended in a fault left out."""
    sessions = open_sessions(sandbox, [(environment, seed) for seed in seeds], limits)
    try:
        while active := [session for session in sessions if not session.over]:
            step_sessions(sandbox, [(session, act(session, stream)) for session in active])
        return [episode_return(session) for session in sessions if session.fault is None]
    finally:
        for session in sessions:
            session.close()


def draw_token(session: Session, stream: random.Random) -> str:
    """Any word or number that was seen so far."""
    seen = [session.opening, *(step.observation for step in session.steps)]
    pieces: list[str] = [piece for text in seen for piece in _PIECES.findall(text)]
    return stream.choice(pieces or ["1"])


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "null": lambda session, stream: "",
        "one": lambda session, stream: "1",
        "yes": lambda session, stream: "yes",
        "echo": lambda session, stream: session.observation,
        "random tokens": draw_token,
        "random numbers": lambda session, stream: str(stream.randrange(10)),
        "random letters": lambda session, stream: stream.choice("ABCDEFGH"),
        "longer each turn": lambda session, stream: "x" * (len(session.steps) + 1),
    }
)


def recite(demonstration: Demonstration) -> Policy:
    """What memory alone can do: the solution of one instance, said in all of them, over and over."""
    actions = [turn.action for turn in demonstration.turns]
    return lambda session, stream: actions[len(session.steps) % len(actions)]


def half_oracle(environment: Environment, sandbox: Sandbox, seeds: Sequence[int], limits: Limits) -> Policy:
    """A solver at the frontier: it follows `solution()` where the hash of the seed is even, else idles."""
    sessions = open_sessions(sandbox, [(environment, seed) for seed in seeds], limits)
    try:
        answers = dict(zip(seeds, ask(sandbox, sessions, "solution"), strict=True))
    finally:
        for session in sessions:
            session.close()

    def act(session: Session, stream: random.Random) -> str:
        actions = answers[session.seed]
        knows = zlib.crc32(str(session.seed).encode()) % 2 == 0
        if not knows or not isinstance(actions, list) or len(session.steps) >= len(actions):
            return "?"
        return str(actions[len(session.steps)])

    return act
