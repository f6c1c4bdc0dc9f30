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
"""Plays of winning lists of actions on fresh seeds, of one environment in one cycle."""
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
    winners = _list_winners(episodes)
    plans = {name: _plan(scripts) for name, scripts in winners.items()}
    jobs = [_job(environments[name], plan, limits) for name, plan in plans.items()]
    rates: dict[str, float] = {}
    for (name, plan), outcomes in zip(plans.items(), sandbox.map(jobs), strict=True):
        take_calls(plan, outcomes)
        wins = sum(script.session.won for script in plan)
        if any(outcome.kind in MACHINERY for outcome in outcomes):
            continue
        if beyond_luck(wins / len(plan), len(plan), most):
            rates[name] = wins / len(plan)
    return [_disqualify(e, rates[e.environment]) if e.environment in rates else e for e in episodes]


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
    pairs = [(actions, e.seed, i) for actions, e in scripts.items() for i in seeds]
    return [
        Script(zlib.crc32(f"{seed} {i}".encode()) >> 1, len(actions), actions, number)
        for number, (actions, seed, i) in enumerate(pairs)
    ]


def _job(environment: Environment, plan: Sequence[Script], limits: Limits) -> Job:
    return Job(jailed_source(environment.source, environment.entry), tuple(real_calls(plan)), limits)


def _disqualify(episode: Episode, rate: float) -> Episode:
    if episode.score.fault:
        return episode
    reason = f"what wins one seed wins {rate:.0%} of the others: it can be won without looking"
    return replace(episode, score=Score(0.0, "trivial", reason, fault=True))
