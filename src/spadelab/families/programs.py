"""Program tasks: deduction, abduction and induction over a program and its inputs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import torch

from spadelab.config import Settings
from spadelab.environments.programs import GateSettings, admit, gold
from spadelab.environments.seeds import identity_environments
from spadelab.families.family import play_limits, program_limits
from spadelab.models.local import LocalModel
from spadelab.play.episodes import play
from spadelab.records import Admission, Draft, Environment, Episode, Generation
from spadelab.rng import Streams
from spadelab.roles.proposer import Request, propose
from spadelab.roles.solver import solver_prompt
from spadelab.sandbox import Sandbox


class ProgramFamily:
    """The family "programs"; it keeps no state."""

    def __init__(self, settings: Settings, sandbox: Sandbox) -> None:
        self.settings, self.sandbox = settings, sandbox
        self.gates = GateSettings(limits=program_limits(settings))

    def seeds(self) -> list[Environment]:
        """The identity, one task of each kind."""
        return list(identity_environments())

    def write(
        self, model: LocalModel, requests: Sequence[Request], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """One draft for each request, in order."""
        return propose(model, requests, self.settings, cycle, generator)

    def admit(
        self, model: LocalModel, drafts: Sequence[Draft], known: Container[str], cycle: int, streams: Streams
    ) -> list[Admission]:
        """The gates: one admission for each draft, in order."""
        return admit(drafts, self.sandbox, self.gates, known, cycle)

    def repair(
        self, model: LocalModel, failed: Sequence[Admission], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """Programs are short: a new draft is as good as a repaired one."""
        return []

    def play(self, model: LocalModel, environments: Sequence[Environment], streams: Streams) -> list[Episode]:
        """`solver.rollouts` answers to each task."""
        role = self.settings.solver
        limits = play_limits(self.settings)
        return play(model, environments, role.rollouts, role, self.sandbox, limits, streams.torch("solver"))

    def copies(self, environments: Sequence[Environment]) -> Mapping[str, float]:
        """Nothing: only exact copies are known among programs, and the gates reject them."""
        return {}

    def demonstrate(self, model: LocalModel, environment: Environment) -> Sequence[Generation]:
        """The answer that execution recorded."""
        ids = model.encode_completion(gold(environment))
        prompt = model.encode_prompt(solver_prompt(environment, self.settings.solver.prompts))
        return [Generation(gold(environment), prompt, ids, (0.0,) * len(ids), "stop")]

    def remember(
        self,
        admissions: Sequence[Admission],
        environments: Sequence[Environment],
        solved: dict[str, tuple[int, int]],
    ) -> None:
        """Nothing: the pool remembers all that is needed."""

    def state(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing."""
