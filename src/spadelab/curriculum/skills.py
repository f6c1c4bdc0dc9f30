"""Which kind of task is asked for how often: a bandit over kinds by how much of each can be learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Weight of the past in the learnable share of a kind, and the share that every kind keeps.
MEMORY = 0.98
FLOOR = 0.1


class SkillBandit:
    """Shares of kinds, moved towards those with the largest learnable share.

    The learnable share of a kind is the part of its environments that the solver wins sometimes but
    not always. With `strength` 0 the given shares stay; with 1 they are multiplied by the learnable
    shares. No kind falls to 0: what cannot be learned now may be later.
    """

    def __init__(self, shares: Mapping[Any, float], strength: float) -> None:
        total = sum(shares.values())
        self.given = {kind: share / total for kind, share in shares.items()}
        self.strength = strength
        self.learnable = dict.fromkeys(shares, 0.5)

    def update(self, kind: str, learnable: bool) -> None:
        """Take one measured environment."""
        self.learnable[kind] = MEMORY * self.learnable[kind] + (1 - MEMORY) * learnable

    def shares(self) -> dict[str, float]:
        """The shares to ask for; they sum to 1."""
        pulled = {kind: share * max(FLOOR, self.learnable[kind]) for kind, share in self.given.items()}
        total = sum(pulled.values())
        return {
            kind: (1 - self.strength) * share + self.strength * pulled[kind] / total
            for kind, share in self.given.items()
        }

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {"learnable": self.learnable}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self.learnable = dict(state["learnable"])
