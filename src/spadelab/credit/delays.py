"""Delayed credit of the proposer: a draft is paid once its environment's replays are known.

SPADE pays a draft d cycles after it was written, from every play of its environment in between. Here a
draft is found by its environment's id and its own age, whatever the intervals of the loop are, and the
drafts still held at the end of a run are paid then.

    each cycle:  hold every new admission -> play -> observe every environment played -> due
    at the end:  flush
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from spadelab.credit.regret import Arms
from spadelab.records import Admission


@dataclass(frozen=True, slots=True)
class Held:
    """A draft waiting for its reward, rejected ones included: they are part of the batch's mean.

    `cycle` wrote it, `version` of the policy sampled it, `window` has its environment's arms, oldest
    first; empty: nothing was measured.
    """

    cycle: int
    version: int
    admission: Admission
    window: tuple[Arms, ...] = ()


class DelayedCredit:
    """Holds the drafts of a cycle until `delay` cycles later; with delay = 0 until `due` of that cycle.

    The window is the draft's cycle and those after it, max(1, delay) in all: what is played later no
    longer counts, so that with a delay it does not matter whether a cycle asks for `due` before or after
    it plays.
    """

    def __init__(self, delay: int) -> None:
        if delay < 0:
            raise ValueError(f"delay must be 0 or more, got {delay}")
        self.delay = delay
        self._held: list[Held] = []

    def __len__(self) -> int:
        """Number of drafts held."""
        return len(self._held)

    def hold(self, cycle: int, admission: Admission, version: int) -> None:
        """Keep a draft that the policy of `version` wrote in `cycle`."""
        self._held.append(Held(cycle, version, admission))

    def observe(self, cycle: int, environment_id: str, arms: Arms) -> None:
        """Take the returns of an environment played in `cycle`, faults dropped.

        Environments that no held draft made are ignored (they were paid, or nobody sampled them), and
        so are empty arms.
        """
        if arms.plain:
            self._held = [
                replace(held, window=(*held.window, arms))
                if self._counts(held, cycle, environment_id)
                else held
                for held in self._held
            ]

    def due(self, cycle: int) -> list[Held]:
        """Remove and return the drafts to be paid in `cycle`, in the order they were held."""
        return self._take(lambda held: held.cycle + self.delay <= cycle)

    def flush(self) -> list[Held]:
        """Remove and return all that is held: the end of the run."""
        return self._take(lambda held: True)

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {"held": msgspec.to_builtins(self._held)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self._held = msgspec.convert(state["held"], list[Held])

    def _counts(self, held: Held, cycle: int, environment_id: str) -> bool:
        environment = held.admission.environment
        age = cycle - held.cycle
        return environment is not None and environment.id == environment_id and 0 <= age < max(1, self.delay)

    def _take(self, wanted: Callable[[Held], bool]) -> list[Held]:
        taken = [held for held in self._held if wanted(held)]
        self._held = [held for held in self._held if not wanted(held)]
        return taken
