"""Hand-made runs for the report: plausible records, without a model or a jail."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from spadelab.config import Settings, load_settings
from spadelab.credit.rewards import solve_counts
from spadelab.environments.tasks import KINDS, gold
from spadelab.evaluation.heldout import LEVELS
from spadelab.evaluation.metrics import describe_cycle
from spadelab.evaluation.statistics import wilson
from spadelab.models.tiny.tasks import draw_environment
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score
from spadelab.rng import Streams
from spadelab.store.run import Run

FACTS = {"backend": "bubblewrap", "layers": {"seccomp": "strict", "landlock": 4}, "canaries": {"fork": True}}


def make_settings(directory: Path, *overrides: str) -> Settings:
    return load_settings(None, [f"run.directory={directory}", "run.name=r", *overrides])[0]


def make_episode(environment: Environment, text: str, score: Score, finish: str = "stop") -> Episode:
    ids = tuple(range(len(text) // 3 + 1))
    return Episode(
        environment.id, environment.kind, Generation(text, (1,), ids, (0.0,) * len(ids), finish), score
    )


def attempt(environment: Environment, skill: float, stream: random.Random) -> Episode:
    """An episode that is right with a probability that falls with the difficulty."""
    if stream.random() < 1 / (1 + (environment.difficulty / skill) ** 3):
        return make_episode(environment, gold(environment), Score(1.0, "correct"))
    return make_episode(environment, "a = 1 # a=1, b=2\n<answer>(0, 0)</answer>", Score(0.0, "wrong"))


def record_learning(run: Run, cycles: int, drafts: int = 16) -> None:
    """Cycles of a run in which solver and proposals rise together."""
    stream = Streams(0).python("report")
    for cycle in range(cycles):
        level = 2 + 5 * cycle / max(1, cycles - 1)
        admissions: list[Admission] = []
        for index in range(drafts):
            kind = KINDS[index % 3]
            asked = max(1, round(stream.gauss(level, 1)))
            draft = Draft(f"c{cycle}-d{index}", kind, "```python\n...\n```", asked)
            if stream.random() < 0.12:
                code = stream.choice(["syntax", "syntax", "timeout", "non_deterministic"])
                check = Check("run", False, code, f"the program was stopped: {code}")
                admissions.append(Admission(draft, (check,)))
                continue
            environment = replace(draw_environment(kind, min(asked, 12), stream), born=cycle)
            admissions.append(Admission(draft, (Check("run", True),), environment))
        environments = [a.environment for a in admissions if a.environment]
        episodes = [attempt(e, level, stream) for e in environments for _ in range(8)]
        rewards = [stream.gauss(0.2, 0.1) for _ in admissions]
        metrics = describe_cycle(
            admissions, environments, episodes, solve_counts(episodes), {}, rewards, [], 1
        )
        metrics["target"] = dict.fromkeys(KINDS, level)
        timings = {"model": 1.2, "learner": 0.8, "sandbox": 0.3, "spent": 2.3 * (cycle + 1)}
        timings["elapsed"] = 2.5 * (cycle + 1)
        run.record_cycle(cycle, metrics, admissions, episodes, timings)


def make_measure(label: str, cycle: int, skill: float) -> dict[str, Any]:
    """A held-out measure as the conductor writes it."""
    cells = {k: {str(n): 1 / (1 + (n / skill) ** 3) for n in levels} for k, levels in LEVELS.items()}
    kinds = {kind: sum(row.values()) / len(row) for kind, row in cells.items()}
    wins = round(900 * sum(kinds.values()) / len(kinds))
    interval = wilson(wins, 900)
    correct = [1] * wins + [0] * (900 - wins)
    return {
        "label": label, "cycle": cycle, "tasks": 900, "accuracy": interval.estimate, "low": interval.low,
        "high": interval.high, "kinds": kinds, "cells": cells, "correct": correct, "faults": 0,
        "counts": dict.fromkeys(kinds, 300),
    }  # fmt: skip


def make_judged(rates: list[float], length: int = 10) -> list[dict[str, Any]]:
    """Judged stretches whose solve rates by the start model are `rates`."""
    entries = []
    for index, rate in enumerate(rates):
        interval = wilson(round(96 * rate), 96)
        entries.append({
            "from": index * length, "to": (index + 1) * length - 1, "tasks": 96, "difficulty": 2.0 + index,
            "start_solve_rate": interval.estimate, "low": interval.low, "high": interval.high, "kinds": {},
        })  # fmt: skip
    return entries


def write_evaluations(run: Run, **lists: list[dict[str, Any]]) -> None:
    (run.path / "evaluation.json").write_text(json.dumps(lists))
