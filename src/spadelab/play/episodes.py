"""Single-turn episodes: sample the solver's answers, let execution score them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spadelab.config import SolverSettings
from spadelab.environments.programs import verify
from spadelab.models.local import LocalModel
from spadelab.records import Environment, Episode
from spadelab.roles.solver import solve
from spadelab.sandbox import Limits, Sandbox

# Natural-log probability below which "every group came out identical" is a broken sampler, not luck.
IMPLAUSIBLE = -30.0


def play(
    model: LocalModel,
    environments: Sequence[Environment],
    rollouts: int,
    role: SolverSettings,
    sandbox: Sandbox,
    limits: Limits,
    generator: torch.Generator,
    temperature: float | None = None,
) -> list[Episode]:
    """`rollouts` scored episodes of each environment, grouped in the order of `environments`."""
    if not environments:
        return []
    heat = role.temperature if temperature is None else temperature
    groups = solve(model, environments, rollouts, role, heat, generator)
    pairs = [(e, g) for e, group in zip(environments, groups, strict=True) for g in group]
    scores = verify([(environment, generation.text) for environment, generation in pairs], sandbox, limits)
    episodes = [
        Episode(environment.id, environment.kind, generation, score)
        for (environment, generation), score in zip(pairs, scores, strict=True)
    ]
    if heat > 0:
        assert_varied(episodes, rollouts)
    return episodes


def assert_varied(episodes: Sequence[Episode], rollouts: int) -> None:
    """Raise RuntimeError when all rollouts of every task are identical beyond what chance explains.

    Identical rollouts (greedy decoding by mistake) turn every solve rate into 0 or 1, which silences
    learnability rewards without any error. The chance that a group repeats its first member is
    exp(logp * (rollouts - 1)).
    """
    surprise = 0.0
    for start in range(0, len(episodes), rollouts):
        group = [episode.generation for episode in episodes[start : start + rollouts]]
        if any(generation.ids != group[0].ids for generation in group):
            return
        surprise += sum(group[0].logprobs) * (rollouts - 1)
    if surprise < IMPLAUSIBLE:
        raise RuntimeError(
            f"all {rollouts} rollouts of each of {len(episodes) // rollouts} tasks are identical "
            f"(log-probability {surprise:.0f}): the sampler does not sample"
        )
