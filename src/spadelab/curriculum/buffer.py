"""The pool of environments worth playing again."""

from __future__ import annotations

import math
import random
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import msgspec

from spadelab.records import Environment


@dataclass(frozen=True, slots=True)
class Entry:
    """An environment with its latest measured solve rate wins / n and the cycle of that measure."""

    environment: Environment
    wins: int
    n: int
    cycle: int

    def worth(self, half_life: float) -> float:
        """log2 of p (1 - p) 2^(-age / half_life), up to the same constant for all entries.

        All entries age alike, so their order never changes with time and needs no clock.
        """
        p = self.wins / self.n
        return math.log2(p * (1 - p)) + self.cycle / half_life


class Buffer:
    """Keeps the frontier (0 < p < 1), and apart from it some mastered environments (p = 1).

    Full, the frontier drops its least worth entry (variance of the outcome, halved every
    `half_life` cycles since it was measured) and the mastered ones their oldest. Equal `key` means
    equal task: the first is kept, its measure is renewed. Order is part of the state, so a restored
    buffer samples exactly as the saved one would have.
    """

    def __init__(
        self, capacity: int, half_life: float = 50.0, mastered: int = 256, memory: int = 65536
    ) -> None:
        if capacity < 1 or half_life <= 0 or mastered < 0 or memory <= capacity + mastered:
            raise ValueError(
                "a buffer needs capacity >= 1, half_life > 0, mastered >= 0 and memory > capacity + mastered"
            )
        self.capacity = capacity
        self.half_life = half_life
        self.mastered_capacity = mastered
        self.memory = memory
        self._frontier: dict[str, Entry] = {}
        self._mastered: dict[str, Entry] = {}
        self._known: dict[str, None] = {}

    def __len__(self) -> int:
        """Number of frontier environments."""
        return len(self._frontier)

    @property
    def known(self) -> Container[str]:
        """Keys of the environments ever added, the unsolvable and the evicted too (the last `memory`)."""
        return self._known.keys()

    def add(self, environment: Environment, wins: int, n: int, cycle: int) -> bool:
        """Record a measure of wins out of n faultless attempts; True if it is now in the frontier.

        n = 0 only makes the key known. An environment that nobody solves any more leaves.
        Raises ValueError unless 0 <= wins <= n.
        """
        if not 0 <= wins <= n:
            raise ValueError(f"a measure needs 0 <= wins <= n, got wins={wins}, n={n}")
        key = environment.key
        self._remember(key)
        if n == 0:
            return key in self._frontier
        old = self._frontier.pop(key, None) or self._mastered.pop(key, None)
        entry = Entry(old.environment if old else environment, wins, n, cycle)
        if wins == n:
            self._mastered[key] = entry
            if len(self._mastered) > self.mastered_capacity:
                del self._mastered[next(iter(self._mastered))]
        elif wins > 0:
            self._frontier[key] = entry
            if len(self._frontier) > self.capacity:
                del self._frontier[min(self._frontier, key=self._worth)]
        return key in self._frontier

    def remove(self, key: str) -> None:
        """Let an environment go whose play says nothing; its key stays known."""
        self._frontier.pop(key, None)
        self._mastered.pop(key, None)

    def sample(
        self, k: int, stream: random.Random, kind: str | None = None, avoided: str | None = None
    ) -> list[Environment]:
        """At most k different frontier environments, uniformly, of one kind if given.

        None that the policy called `avoided` wrote.
        """
        others = {key: e for key, e in self._frontier.items() if e.environment.writer != avoided}
        return _draw(others, k, stream, kind)

    def replay(self, k: int, stream: random.Random, kind: str | None = None) -> list[Environment]:
        """At most k different mastered environments, uniformly: practice against forgetting."""
        return _draw(self._mastered, k, stream, kind)

    def references(self, kind: str, k: int, stream: random.Random) -> list[Environment]:
        """At most k examples for the proposer's prompt: frontier first, then mastered ones.

        Uniform, because favouring recent ones led Absolute Zero towards collapse (its D.3).
        """
        chosen = self.sample(k, stream, kind)
        return chosen + self.replay(k - len(chosen), stream, kind)

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {
            "frontier": msgspec.to_builtins(list(self._frontier.values())),
            "mastered": msgspec.to_builtins(list(self._mastered.values())),
            "known": list(self._known),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self._frontier = _index(state["frontier"])
        self._mastered = _index(state["mastered"])
        # In place: the novelty gate may hold on to `known`.
        self._known.clear()
        self._known.update(dict.fromkeys(state["known"]))

    def _worth(self, key: str) -> float:
        return self._frontier[key].worth(self.half_life)

    def _remember(self, key: str) -> None:
        self._known[key] = None
        if len(self._known) > self.memory:
            # What can still be sampled stays known, however old it is.
            held = self._frontier.keys() | self._mastered.keys()
            del self._known[next(old for old in self._known if old not in held)]


def _draw(entries: dict[str, Entry], k: int, stream: random.Random, kind: str | None) -> list[Environment]:
    pool = [e.environment for e in entries.values() if kind is None or e.environment.kind == kind]
    return stream.sample(pool, min(k, len(pool)))


def _index(packed: list[Any]) -> dict[str, Entry]:
    entries = msgspec.convert(packed, list[Entry])
    return {entry.environment.key: entry for entry in entries}
