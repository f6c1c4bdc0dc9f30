"""Advantages: pure functions from rewards and group keys to one number a sequence.

`groups[i]` is the key of sequence i: the task's id for `grpo`, `dr_grpo` and `rloo`, the pair of
task kind and role for `trrpp`. Order is kept. A group without variance gives exactly 0, so its
rows can be dropped; nothing here ever gives NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

Estimator = Callable[[Sequence[float], Sequence[str]], list[float]]

WHITENING_EPSILON = 1e-8
"""Added to the variance by the published whitening (verl `masked_whiten`)."""


def trrpp(
    rewards: Sequence[float], groups: Sequence[str], lengths: Sequence[int] | None = None, ddof: int = 1
) -> list[float]:
    """Task-Relative REINFORCE++: (r - mean) / sqrt(var + 1e-8) inside each (task, role) group.

    Absolute Zero, Eq. 8 to 10. By default over sequences, the paper's literal reading. With
    `lengths` (completion tokens) mean and variance are over tokens, as its code does: a long
    sequence then weighs more, and a failed one can get a positive advantage.
    """
    weights = [1] * len(rewards) if lengths is None else lengths
    result = [0.0] * len(rewards)
    for members in _members(rewards, groups):
        whitened = _whiten([rewards[i] for i in members], [weights[i] for i in members], ddof)
        for i, value in zip(members, whitened, strict=True):
            result[i] = value
    return result


def pooled(
    rewards: Sequence[float], groups: Sequence[str], lengths: Sequence[int] | None = None
) -> list[float]:
    """REINFORCE++ over the whole batch, groups ignored: the contaminated baseline, to compare with."""
    return trrpp(rewards, ["all"] * len(groups), lengths)


def grpo(
    rewards: Sequence[float],
    groups: Sequence[str],
    epsilon: float = 1e-6,
    ddof: int = 1,
    raw_singletons: bool = False,
) -> list[float]:
    """GRPO (arXiv 2402.03300): (r - mean) / (std + epsilon) inside each group.

    A group of one has no baseline and gives 0; verl's convention r / (1 + epsilon) is kept behind
    `raw_singletons`.
    """
    result = dr_grpo(rewards, groups)
    for members in _members(rewards, groups):
        n = len(members)
        if n == 1:
            result[members[0]] = rewards[members[0]] / (1.0 + epsilon) if raw_singletons else 0.0
            continue
        std = math.sqrt(math.fsum(result[i] ** 2 for i in members) / (n - ddof))
        for i in members:
            result[i] /= std + epsilon
    return result


def dr_grpo(rewards: Sequence[float], groups: Sequence[str]) -> list[float]:
    """Dr. GRPO (arXiv 2503.20783): r - mean inside each group, no division."""
    result = [0.0] * len(rewards)
    for members in _members(rewards, groups):
        values = [rewards[i] for i in members]
        # Equal rewards can differ from their rounded mean; the row must still count as empty.
        mean = values[0] if min(values) == max(values) else math.fsum(values) / len(values)
        for i in members:
            result[i] = rewards[i] - mean
    return result


def rloo(rewards: Sequence[float], groups: Sequence[str]) -> list[float]:
    """RLOO (arXiv 2402.14740): r_i minus the mean of the others = n / (n - 1) (r_i - mean)."""
    result = dr_grpo(rewards, groups)
    for members in _members(rewards, groups):
        n = len(members)
        for i in members:
            result[i] *= n / max(1, n - 1)
    return result


class Rae:
    """Role-conditioned advantage estimation (SPIRAL, arXiv 2506.24119): r minus a running mean a key.

    b <- alpha b + (1 - alpha) r from b = 0, one b for each key. "pre" subtracts the old b (the
    published code), "post" the new one (Algorithm 1); A_post = alpha A_pre exactly. Calls see the
    sequences in order and the baselines persist: keep `state` in the checkpoint.
    """

    def __init__(self, alpha: float = 0.95, order: Literal["pre", "post"] = "pre") -> None:
        self.alpha = alpha
        self.order = order
        self.baselines: dict[str, float] = {}

    def __call__(self, rewards: Sequence[float], groups: Sequence[str]) -> list[float]:
        """Advantages of the sequences in order; the baselines move along."""
        result = []
        for reward, group in zip(rewards, groups, strict=True):
            before = self.baselines.get(group, 0.0)
            after = self.alpha * before + (1.0 - self.alpha) * reward
            self.baselines[group] = after
            result.append(reward - (before if self.order == "pre" else after))
        return result

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {"baselines": dict(self.baselines)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self.baselines = dict(state["baselines"])


ADVANTAGES: Mapping[str, Estimator] = MappingProxyType(
    {"trrpp": trrpp, "grpo": grpo, "dr_grpo": dr_grpo, "rloo": rloo, "global": pooled}
)
"""The estimators without state; `Rae` has one and is made by `make_estimator`."""


def make_estimator(name: str) -> Estimator:
    """The estimator called `name`: one of ADVANTAGES, or a fresh `Rae` for "rae".

    Raises KeyError for an unknown name.
    """
    return Rae() if name == "rae" else ADVANTAGES[name]


def spread(value: float, steps: int, gamma: float) -> list[float]:
    """value * gamma^(steps - 1 - t) for t = 0 .. steps - 1: credit that fades away from the end.

    With tokens as steps the discounted return of REINFORCE++, with turns SPIRAL's turn discount.
    """
    return [value * gamma ** (steps - 1 - t) for t in range(steps)]


def _members(rewards: Sequence[float], groups: Sequence[str]) -> list[list[int]]:
    """The indices of each group, in order of first appearance."""
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards but {len(groups)} group keys")
    if not all(math.isfinite(reward) for reward in rewards):
        raise ValueError("a reward is not finite")
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    return list(members.values())


def _whiten(values: list[float], weights: list[int], ddof: int) -> list[float]:
    """(v - mean) / sqrt(var + 1e-8), mean and variance weighted by token counts."""
    total = sum(weights)
    if total <= ddof or min(values) == max(values):
        return [0.0] * len(values)
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total
    squares = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))
    scale = math.sqrt(squares / (total - ddof) + WHITENING_EPSILON)
    return [(v - mean) / scale for v in values]
