"""Scripted play: policies that need no model, and how far luck alone carries."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from spadelab.environments.interactive.session import (
    WIN,
    Session,
    ask,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.records import Demonstration, Environment
from spadelab.sandbox import Limits, Sandbox

Policy = Callable[[Session, random.Random], str]

# Processes that are open at the same time.
OPEN_SESSIONS = 256
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
    returns = play_all([(environment, seed, act) for seed in seeds], sandbox, limits, stream)
    return [value for value in returns if value is not None]


def play_all(
    games: Sequence[tuple[Environment, int, Policy]], sandbox: Sandbox, limits: Limits, stream: random.Random
) -> list[float | None]:
    """The return of one episode of each game, all in step with each other; None where it ended in a fault."""
    returns: list[float | None] = []
    for start in range(0, len(games), OPEN_SESSIONS):
        chunk = games[start : start + OPEN_SESSIONS]
        sessions = open_sessions(sandbox, [(environment, seed) for environment, seed, _ in chunk], limits)
        players = [(session, act) for session, (_, _, act) in zip(sessions, chunk, strict=True)]
        try:
            while active := [(session, act) for session, act in players if not session.over]:
                step_sessions(sandbox, [(session, act(session, stream)) for session, act in active])
            returns += [None if session.fault else episode_return(session) for session in sessions]
        finally:
            for session in sessions:
                session.close()
    return returns


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


def measure_luck(
    environments: Sequence[Environment],
    sandbox: Sandbox,
    seeds: Sequence[int],
    limits: Limits,
    stream: random.Random,
) -> list[float]:
    """The win rate of the luckiest thoughtless play of each environment, on `seeds`. For `beats_luck`.

    Plays: silence, echo, words seen, legal moves at random, and the solutions of other instances, which
    count as one play pooled over the demonstrations. Every episode has a fresh process, as in real play.
    """
    games: list[tuple[Environment, int, Policy]] = []
    places: list[tuple[int, int]] = []
    for number, environment in enumerate(environments):
        for kind, policies in enumerate(_thoughtless(environment)):
            for act in policies:
                games += [(environment, seed, act) for seed in seeds]
                places += [(number, kind)] * len(seeds)
    wins: dict[tuple[int, int], list[bool]] = {}
    for place, value in zip(places, play_all(games, sandbox, limits, stream), strict=True):
        if value is not None:
            wins.setdefault(place, []).append(value >= WIN)
    luck = [0.0] * len(environments)
    for (number, _), won in wins.items():
        luck[number] = max(luck[number], sum(won) / len(won))
    return luck


def _thoughtless(environment: Environment) -> list[list[Policy]]:
    moves = [turn.action for demonstration in environment.demonstrations for turn in demonstration.turns]
    return [
        [recite(demonstration) for demonstration in environment.demonstrations],
        [lambda session, stream: stream.choice(moves)],
        *([POLICIES[name]] for name in ("null", "echo", "random tokens")),
    ]
