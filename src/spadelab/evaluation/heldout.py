"""The held-out benchmark, and how a model is measured on it.

Fixed before any training, and self-play refuses drafts that repeat a part of it. Program tasks are drawn
by a seed, from the side of the grammar that no warm start saw (two statements and more). Interactive
environments are written by hand or drawn by a seed, and played on fixed instances.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spadelab.config import Settings
from spadelab.environments.interactive.contract import FAMILY as INTERACTIVE
from spadelab.environments.interactive.session import WIN
from spadelab.environments.programs import shape_key, task_key
from spadelab.evaluation.heldout_worlds import draw_heldout, load_heldout
from spadelab.evaluation.statistics import Interval, wilson
from spadelab.models.local import LocalModel
from spadelab.models.tiny.tasks import draw_environment
from spadelab.play.episodes import play
from spadelab.play.interactive import Instance, play_instances
from spadelab.records import Environment, Episode
from spadelab.rng import Streams
from spadelab.sandbox import Limits, Sandbox

# Difficulty levels (statements) by task type, each with the same number of tasks: from single
# statements to three times what the warm start showed.
LEVELS = {"deduction": range(1, 17), "abduction": range(1, 17), "induction": range(1, 9)}

# Instances that are played: all of each hand-written environment, one of each drawn one.
SEEDS = tuple(range(9001, 9009))
BY_HAND = "hand-written"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Environments to be played once each.

    `seeds[i]` is the instance of an interactive one; `labels[i]` says in which part of the results it counts.
    """

    environments: tuple[Environment, ...]
    seeds: tuple[int, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self.environments)

    @property
    def keys(self) -> frozenset[str]:
        """What self-play must not train on."""
        programs = [e for e in self.environments if e.family != INTERACTIVE]
        return heldout_keys(programs) | {e.key for e in self.environments if e.family == INTERACTIVE}

    def thin(self, step: int) -> Benchmark:
        """Every `step`-th episode."""
        return Benchmark(self.environments[::step], self.seeds[::step], self.labels[::step])


def benchmark_of(environments: Sequence[Environment]) -> Benchmark:
    """The given environments, an interactive one on an instance that its id decides."""
    return Benchmark(
        tuple(environments),
        tuple(int(e.id[:7], 16) for e in environments),
        tuple(e.kind for e in environments),
    )


def build_benchmark(settings: Settings) -> Benchmark:
    """The held-out benchmark of the family that the settings name."""
    if settings.self_play.family == INTERACTIVE:
        written, drawn = load_heldout(), draw_heldout()
        whole = Benchmark(
            (*(e for e in written for _ in SEEDS), *drawn),
            (*SEEDS * len(written), *itertools.islice(itertools.cycle(SEEDS), len(drawn))),
            (*[BY_HAND] * (len(written) * len(SEEDS)), *(e.kind for e in drawn)),
        )
        return whole.thin(-(-len(whole) // settings.evaluation.tasks))
    return benchmark_of(build_heldout(settings.evaluation.seed, settings.evaluation.tasks))


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """Correctness of each task (1.0 or 0.0) in the order of the benchmark, with its kind and level."""

    kinds: tuple[str, ...]
    levels: tuple[int, ...]
    correct: tuple[float, ...]
    faults: int

    @property
    def accuracy(self) -> Interval:
        """Accuracy over all tasks with its Wilson interval."""
        return wilson(int(sum(self.correct)), len(self.correct))

    def cells(self) -> dict[str, dict[int, float]]:
        """Accuracy by kind and level."""
        table: dict[str, dict[int, list[float]]] = {}
        for kind, level, correct in zip(self.kinds, self.levels, self.correct, strict=True):
            table.setdefault(kind, {}).setdefault(level, []).append(correct)
        return {k: {lv: sum(v) / len(v) for lv, v in rows.items()} for k, rows in table.items()}

    def by_kind(self) -> dict[str, float]:
        """Accuracy by kind."""
        groups: dict[str, list[float]] = {}
        for kind, correct in zip(self.kinds, self.correct, strict=True):
            groups.setdefault(kind, []).append(correct)
        return {kind: sum(group) / len(group) for kind, group in groups.items()}


def build_heldout(seed: int, tasks: int) -> list[Environment]:
    """The benchmark: `tasks` distinct environments spread evenly over kinds and levels."""
    stream = Streams(seed).python("heldout")
    found: dict[str, Environment] = {}
    wanted = 0.0
    for kind, levels in LEVELS.items():
        for level in levels:
            wanted += tasks / (len(LEVELS) * len(levels))
            while len(found) < round(wanted):
                environment = draw_environment(kind, level, stream, reserved=True)
                found.setdefault(task_key(kind, environment.source, environment.inputs), environment)
    return list(found.values())


def heldout_keys(environments: Sequence[Environment]) -> frozenset[str]:
    """What self-play must not train on: the shape of every program above the atoms, and every task.

    An atom (one statement) may be trained on with other inputs; a model cannot compose what it never saw.
    """
    shapes = {shape_key(e.source) for e in environments if e.difficulty > 1}
    return frozenset(shapes | {task_key(e.kind, e.source, e.inputs) for e in environments})


def evaluate(
    model: LocalModel, benchmark: Benchmark, settings: Settings, sandbox: Sandbox, limits: Limits
) -> HeldOutResult:
    """Greedy accuracy on the benchmark, one episode each; only a win is correct."""
    generator = Streams(settings.evaluation.seed).torch("evaluation")
    episodes = play_once(model, benchmark, settings, sandbox, limits, generator)
    return HeldOutResult(
        benchmark.labels,
        tuple(e.difficulty for e in benchmark.environments),
        tuple(float(episode.score.reward >= WIN) for episode in episodes),
        sum(episode.score.fault for episode in episodes),
    )


def play_once(
    model: LocalModel,
    benchmark: Benchmark,
    settings: Settings,
    sandbox: Sandbox,
    limits: Limits,
    generator: torch.Generator,
) -> list[Episode]:
    """One greedy episode of each environment, without a hint, in order."""
    role = settings.solver
    if any(e.family == INTERACTIVE for e in benchmark.environments):
        pairs = zip(benchmark.environments, benchmark.seeds, strict=True)
        instances = [Instance(environment, seed) for environment, seed in pairs]
        return play_instances(model, instances, role, sandbox, limits, generator, 0.0)
    return play(model, benchmark.environments, 1, role, sandbox, limits, generator, temperature=0.0)
