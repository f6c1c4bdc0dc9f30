"""Wins that need no look at the instance: what won one seed is played on others.

The gates try many texts, but no list holds every password, superset or dice. A solver that found one says
the same on every seed, so its wins transfer; those of a solver that looks do not.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spadelab.environments.interactive.contract import jailed_source
from spadelab.environments.interactive.plays import Script, real_calls, take_calls
from spadelab.environments.interactive.session import MACHINERY, WIN
from spadelab.environments.interactive.verdicts import beyond_luck
from spadelab.records import Environment, Episode, Score
from spadelab.sandbox import Job, Limits, Sandbox

PLAYS = 24
"""Plays of winning lists of actions on fresh seeds, of one environment in one cycle; a process each."""
GLIMPSE = 4
"""The first of them; where none wins, the rest is not played."""
MOST_SCRIPTS = 8
"""Winning lists of actions that are looked at, of one environment in one cycle."""


def disqualify(
    episodes: Sequence[Episode],
    environments: Mapping[str, Environment],
    sandbox: Sandbox,
    limits: Limits,
    most: float,
) -> list[Episode]:
    """The episodes, in order; all of an environment whose wins transfer are faults with outcome "trivial".

    `environments` by id. `most`: the share of other seeds, in [0, 1], that wins may win by luck, as at the
    gates. What the machinery failed to judge stays as it is.
    """
    plans = {name: _plan(scripts) for name, scripts in _list_winners(episodes).items()}
    for part in (slice(GLIMPSE), slice(GLIMPSE, None)):
        suspects = {name: plan for name, plan in plans.items() if not part.start or _rate(plan)[0]}
        scripts = [(name, script) for name, plan in suspects.items() for script in plan[part]]
        jobs = [_job(environments[name], script, limits) for name, script in scripts]
        for (_, script), outcomes in zip(scripts, sandbox.map(jobs), strict=True):
            take_calls([script], outcomes)
    rates = {name: rate for name, plan in plans.items() if beyond_luck(*(rate := _rate(plan)), most)}
    return [_disqualify(e, rates[e.environment][0]) if e.environment in rates else e for e in episodes]


def _list_winners(episodes: Sequence[Episode]) -> dict[str, dict[tuple[str, ...], Episode]]:
    """The different winning lists of actions of each environment id, each with an episode."""
    winners: dict[str, dict[tuple[str, ...], Episode]] = {}
    for episode in episodes:
        actions = tuple(turn.action for turn in episode.turns if turn.action)
        if episode.score.reward >= WIN and not episode.score.fault and actions:
            scripts = winners.setdefault(episode.environment, {})
            if len(scripts) < MOST_SCRIPTS:
                scripts.setdefault(actions, episode)
    return winners


def _plan(scripts: Mapping[tuple[str, ...], Episode]) -> list[Script]:
    seeds = range(PLAYS // len(scripts))
    return [
        Script(zlib.crc32(f"{e.seed} {i}".encode()) >> 1, len(actions), actions)
        for i in seeds
        for actions, e in scripts.items()
    ]


def _rate(plan: Sequence[Script]) -> tuple[float, int]:
    """Win rate and number of the plays that began and that the machinery did not fail."""
    played = [s.session for s in plan if s.session.opening or s.session.fault]
    judged = [session for session in played if not session.fault or session.fault.code not in MACHINERY]
    return sum(session.won for session in judged) / max(1, len(judged)), len(judged)


def _job(environment: Environment, script: Script, limits: Limits) -> Job:
    return Job(jailed_source(environment.source, environment.entry), tuple(real_calls([script])), limits)


def _disqualify(episode: Episode, rate: float) -> Episode:
    if episode.score.fault:
        return episode
    reason = f"what wins one seed wins {rate:.0%} of the others: it can be won without looking"
    return replace(episode, score=Score(0.0, "trivial", reason, fault=True))
