"""The held-out benchmark of program tasks, and how a model is measured on it.

Fixed by a seed before any training. Its programs of two and more statements come from the side of
the grammar that no warm start saw, and self-play refuses drafts that repeat one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spadelab.config import Settings
from spadelab.environments.programs import shape_key, task_key
from spadelab.evaluation.statistics import Interval, wilson
from spadelab.models.local import LocalModel
from spadelab.models.tiny.tasks import draw_environment
from spadelab.play.episodes import play
from spadelab.records import Environment
from spadelab.rng import Streams
from spadelab.sandbox import Limits, Sandbox

# Difficulty levels (statements) by task type, each with the same number of tasks: from single
# statements to three times what the warm start showed.
LEVELS = {"deduction": range(1, 17), "abduction": range(1, 17), "induction": range(1, 9)}


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
        cells = self.cells()
        return {kind: sum(rows.values()) / len(rows) for kind, rows in cells.items()}


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
    model: LocalModel,
    environments: Sequence[Environment],
    settings: Settings,
    sandbox: Sandbox,
    limits: Limits,
) -> HeldOutResult:
    """Greedy accuracy on `environments`, one answer each."""
    generator = Streams(settings.evaluation.seed).torch("evaluation")
    episodes = play(model, environments, 1, settings.solver, sandbox, limits, generator, temperature=0.0)
    return HeldOutResult(
        tuple(e.kind for e in environments),
        tuple(e.difficulty for e in environments),
        tuple(episode.score.reward for episode in episodes),
        sum(episode.score.fault for episode in episodes),
    )
