"""How hard the next tasks shall be: a target that follows the solve rate, one for each task kind."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Band:
    """Settings of a target. Difficulties are executed statements, solve rates lie in [0, 1].

    Outside [low, high] the target moves by `step`. A share `replay` of the requests is for easier
    tasks, against forgetting; the others reach from one below the target to a share `ahead` of it above,
    and at least to one above.
    `smoothing` is the weight of the past in the running solve rate.
    """

    minimum: float = 1.0
    maximum: float = 64.0
    low: float = 0.4
    high: float = 0.6
    step: float = 0.15
    replay: float = 0.4
    smoothing: float = 0.5
    ahead: float = 0.4

    def __post_init__(self) -> None:
        if not 1 <= self.lowest <= self.highest or not 0 <= self.low <= self.high <= 1:
            raise ValueError("a band needs 1 <= minimum <= maximum and 0 <= low <= high <= 1")
        if self.step < 0 or not 0 <= self.replay <= 1 or not 0 <= self.smoothing < 1:
            raise ValueError("a band needs step >= 0, replay in [0, 1] and smoothing in [0, 1)")

    @property
    def lowest(self) -> int:
        """The least difficulty that can be asked for."""
        return math.ceil(self.minimum)

    @property
    def highest(self) -> int:
        """The greatest difficulty that can be asked for."""
        return math.floor(self.maximum)


class DifficultyTarget:
    """The difficulty asked of the proposer for one task kind, a real number moved in small steps."""

    def __init__(self, start: float, band: Band) -> None:
        self.band = band
        self.value = min(max(start, band.minimum), band.maximum)
        self.solve_rate: float | None = None

    def update(self, solve_rate: float, obeyed: float = 1.0) -> float:
        """Take one cycle's solve rate, return the new target.

        `solve_rate` is over all tasks of this kind in the cycle, the easy replay included: the
        same band on frontier tasks alone kept the target below the start. `obeyed` is the share of
        drafts written as asked. Below one half the target may only fall, because the solve rate
        then says nothing of the difficulty asked for and a rising target would run away.
        """
        if not 0 <= solve_rate <= 1:
            raise ValueError(f"a solve rate lies in [0, 1], got {solve_rate}")
        past = solve_rate if self.solve_rate is None else self.solve_rate
        self.solve_rate = self.band.smoothing * past + (1 - self.band.smoothing) * solve_rate
        if self.solve_rate > self.band.high and obeyed >= 0.5:
            self.value = min(self.value + self.band.step, self.band.maximum)
        elif self.solve_rate < self.band.low:
            self.value = max(self.value - self.band.step, self.band.minimum)
        return self.value

    def sample(self, stream: random.Random) -> int:
        """One requested difficulty, within [minimum, maximum].

        A share `replay` is uniform below the target; the rest is the target, rounded up with the
        probability of its fraction, plus -1 to the reach of `ahead`.
        """
        floor = int(self.value)
        lowest = self.band.lowest
        if stream.random() < self.band.replay:
            return stream.randint(lowest, max(lowest, floor - 1))
        around = (
            floor
            + (stream.random() < self.value - floor)
            + stream.randint(-1, max(1, int(self.value * self.band.ahead)))
        )
        return min(max(around, lowest), self.band.highest)

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint (the band is a setting, not a state)."""
        return {"value": self.value, "solve_rate": self.solve_rate}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self.value = state["value"]
        self.solve_rate = state["solve_rate"]


class DifficultyWindow:
    """The published alternative (RLVE, arXiv 2511.07317): tasks from a window below a ceiling.

    The ceiling rises by one when at least `attempts` attempts at it were counted and a share
    `accuracy` of them won; it never falls. The window is the ceiling and `width` levels below it.
    No setting reaches it: it is kept for the published test vector RLVE-01.
    """

    def __init__(self, accuracy: float = 0.9, attempts: int = 4, width: int = 4) -> None:
        self.accuracy = accuracy
        self.attempts = attempts
        self.width = width
        self.ceiling = 0
        self.wins = 0
        self.seen = 0

    def update(self, difficulty: int, won: bool) -> tuple[int, int]:
        """Count one attempt, return the (lowest, highest) difficulty of the window."""
        if difficulty == self.ceiling:
            self.seen += 1
            self.wins += won
            if self.seen >= self.attempts and self.wins >= self.accuracy * self.seen - 1e-9:
                self.ceiling, self.wins, self.seen = self.ceiling + 1, 0, 0
        return max(0, self.ceiling - self.width), self.ceiling

    def state(self) -> dict[str, int]:
        """JSON state for a checkpoint."""
        return {"ceiling": self.ceiling, "wins": self.wins, "seen": self.seen}

    def restore(self, state: dict[str, int]) -> None:
        """Continue from `state`."""
        self.ceiling, self.wins, self.seen = state["ceiling"], state["wins"], state["seen"]
