"""The solver: answers the question that an environment shows, and nothing else of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spadelab.config import SolverSettings
from spadelab.environments.tasks import slots
from spadelab.models.local import LocalModel
from spadelab.records import Environment, Generation
from spadelab.roles.composition import compose


def solver_prompt(environment: Environment, style: str) -> str:
    """The question: program, input, output or pairs, as the task type may show them."""
    return compose(style, f"solve_{environment.kind}", slots(environment))


def solve(
    model: LocalModel,
    environments: Sequence[Environment],
    rollouts: int,
    role: SolverSettings,
    temperature: float,
    generator: torch.Generator,
) -> list[list[Generation]]:
    """`rollouts` answers to each environment, in order."""
    prompts = [solver_prompt(environment, role.prompts) for environment in environments]
    return model.generate(prompts, rollouts, role.max_new_tokens, temperature, generator)
