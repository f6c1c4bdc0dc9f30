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
    """`solver` and `proposer` are the same object when the run shares one model."""

    def __init__(self, settings: Settings) -> None:
        self.shared = settings.shared_model
        self.solver = load_policy(settings, settings.solver_model)
        training = settings.training
        self.learners = {"solver": Learner(self.solver, training, settings.solver.temperature)}
        if self.shared:
            self.proposer = self.solver
            return
        self.proposer = load_policy(settings, settings.proposer.model)
        if settings.proposer.train:
            rate = training.proposer_learning_rate
            own = training if rate is None else training.model_copy(update={"learning_rate": rate})
            self.learners["proposer"] = Learner(self.proposer, own, settings.proposer.temperature)

    def step(self, rows: Sequence[Row], stream: random.Random) -> dict[str, dict[str, float]]:
        """Let every learner learn from the rows of its roles; the metrics by learner."""
        return {
            name: learner.step([row for row in rows if self.shared or row.role == name], stream)
            for name, learner in self.learners.items()
        }

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
