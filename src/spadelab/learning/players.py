"""The policies of a run with their learners: two sets of weights, or one that plays both roles."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from safetensors.torch import load_model, save_model

from spadelab.config import Settings
from spadelab.learning.learner import Learner
from spadelab.models.local import LocalModel, resolve_model
from spadelab.records import Row


class Players:
    """The policies by name, and a learner for each that is trained.

    One model for both roles is called "solver" and does the proposer's work too. A population has as
    many of each, numbered from the second on ("solver", "solver2", ...).
    """

    def __init__(self, settings: Settings) -> None:
        self.shared = settings.shared_model
        self.policies: dict[str, LocalModel] = {}
        self.learners: dict[str, Learner] = {}
        training = settings.training
        rate = training.proposer_learning_rate
        own = training if rate is None else training.model_copy(update={"learning_rate": rate})
        numbers = ["", *map(str, range(2, settings.self_play.population + 1))]
        self.solvers = [f"solver{number}" for number in numbers]
        self.writers = self.solvers if self.shared else [f"proposer{number}" for number in numbers]
        for name in self.solvers:
            self.policies[name] = load_policy(settings, settings.solver_model)
            self.learners[name] = Learner(self.policies[name], training, settings.solver.temperature)
        for name in self.writers if not self.shared else []:
            self.policies[name] = load_policy(settings, settings.proposer.model)
            if settings.proposer.train:
                self.learners[name] = Learner(self.policies[name], own, settings.proposer.temperature)

    @property
    def solver(self) -> LocalModel:
        """The first solver: the one that is measured."""
        return self.policies[self.solvers[0]]

    @property
    def proposer(self) -> LocalModel:
        """The first proposer."""
        return self.policies[self.writers[0]]

    def pair(self, stream: random.Random) -> list[tuple[str, str]]:
        """(proposer, solver) names for one cycle; in a population nobody plays what it wrote itself."""
        if len(self.solvers) == 1:
            return [(self.writers[0], self.solvers[0])]
        shift = stream.randrange(1, len(self.solvers))
        order = stream.sample(range(len(self.solvers)), len(self.solvers))
        return [(self.writers[i], self.solvers[order[(k + shift) % len(order)]]) for k, i in enumerate(order)]

    def avoided(self, player: str) -> str | None:
        """Whose environments a solver does not play: its own proposer's, in a population; else nobody's."""
        return self.writers[self.solvers.index(player)] if len(self.solvers) > 1 else None

    def step(self, rows: Mapping[str, Sequence[Row]], stream: random.Random) -> dict[str, dict[str, float]]:
        """Let every learner learn from its rows; the metrics by learner."""
        return {name: learner.step(rows.get(name, ()), stream) for name, learner in self.learners.items()}

    def files(self) -> Mapping[str, bytes | Callable[[Path], None]]:
        """Checkpoint files: weights and optimiser of every learner."""
        files: dict[str, bytes | Callable[[Path], None]] = {}
        for name, learner in self.learners.items():
            files[f"{name}.safetensors"] = _writer(learner.model)
            files[f"{name}.optimizer.pt"] = learner.state()
        return files

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint folder."""
        for name, learner in self.learners.items():
            load_model(learner.model.model, folder / f"{name}.safetensors")
            learner.restore((folder / f"{name}.optimizer.pt").read_bytes())

    def export(self, folder: Path) -> None:
        """Write each trained model as an ordinary model folder."""
        for name, learner in self.learners.items():
            learner.model.save(folder / name)


def load_policy(settings: Settings, name: str) -> LocalModel:
    """Load the model called `name` on the configured device."""
    where = settings.model
    return LocalModel.load(resolve_model(name), where.max_seq_len, where.device, where.dtype)


def _writer(model: LocalModel) -> Callable[[Path], None]:
    return lambda path: save_model(model.model, str(path))
