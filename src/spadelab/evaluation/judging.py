"""Whether the proposals became harder, judged by the one solver that never changes: the start model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from spadelab.config import Settings
from spadelab.environments.interactive.session import WIN
from spadelab.evaluation.heldout import benchmark_of, play_once
from spadelab.evaluation.statistics import wilson
from spadelab.evaluation.stretches import STRETCHES, split
from spadelab.models.local import LocalModel
from spadelab.records import Environment, Episode
from spadelab.rng import Streams
from spadelab.sandbox import Limits, Sandbox
from spadelab.store.run import Run


def judge_difficulty(
    run: Run,
    start_model: LocalModel,
    settings: Settings,
    sandbox: Sandbox,
    limits: Limits,
    periods: int = STRETCHES,
    tasks: int = 96,
) -> list[dict[str, Any]]:
    """Let the frozen start model answer proposals of equal stretches of the run, greedily, once each.

    One entry for each of at most `periods` stretches in which drafts were admitted: "from" and "to"
    (first and last cycle), "tasks" (answers scored), "difficulty" (mean, as written),
    "start_solve_rate" with its 95 % Wilson interval "low" and "high", and "kinds" (the rate by task
    type). A stretch's sample of at most `tasks` holds equally many of each type, where there are as
    many, so that a changing mixture is not taken for a changing difficulty. The draw depends on
    `settings.evaluation.seed` and the records alone. Answers that ended by a fault are left out.
    """
    streams = Streams(settings.evaluation.seed)
    stretches = split([cycle.cycle for cycle in run.iter_cycles()], periods)
    share = tasks // sum(weight > 0 for weight in settings.self_play.task_types.values())
    chosen = [_sample(pool, share, streams.python("judging")) for pool in _list_proposals(run, stretches)]
    wanted = {name for names in chosen for name in names}
    environments = {e.id: e for e in run.iter_environments() if e.id in wanted}
    entries = []
    for stretch, names in zip(stretches, chosen, strict=True):
        proposals = [environments[name] for name in names]
        generator = streams.torch("judging")
        episodes = play_once(start_model, benchmark_of(proposals), settings, sandbox, limits, generator)
        if any(not episode.score.fault for episode in episodes):
            entries.append({"from": stretch[0], "to": stretch[-1], **summarise(proposals, episodes)})
    return entries


def _list_proposals(run: Run, stretches: Sequence[Sequence[int]]) -> list[dict[str, list[str]]]:
    """Ids of the environments admitted in each stretch, by task type, each once."""
    found: list[dict[str, dict[str, None]]] = [{} for _ in stretches]
    place = {cycle: index for index, stretch in enumerate(stretches) for cycle in stretch}
    for admission in run.iter_admissions():
        if admission.environment:
            found[place[admission.cycle]].setdefault(admission.kind, {})[admission.environment] = None
    return [{kind: list(names) for kind, names in pool.items()} for pool in found]


def _sample(pool: Mapping[str, Sequence[str]], share: int, stream: random.Random) -> list[str]:
    return [
        name for _, names in sorted(pool.items()) for name in stream.sample(names, min(share, len(names)))
    ]


def summarise(environments: Sequence[Environment], episodes: Sequence[Episode]) -> dict[str, Any]:
    """One stretch's entry without its cycles, from one episode an environment, not all of them faults."""
    scored = [(e, p) for e, p in zip(environments, episodes, strict=True) if not p.score.fault]
    rewards: dict[str, list[float]] = {}
    for environment, episode in scored:
        rewards.setdefault(environment.kind, []).append(float(episode.score.reward >= WIN))
    interval = wilson(int(sum(map(sum, rewards.values()))), len(scored))
    return {
        "tasks": len(scored),
        "difficulty": sum(environment.difficulty for environment, _ in scored) / len(scored),
        "start_solve_rate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "kinds": {kind: sum(values) / len(values) for kind, values in rewards.items()},
    }
