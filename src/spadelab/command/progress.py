"""The state of a run as far as a watcher needs it, and what can be computed from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spadelab.config import Settings

if TYPE_CHECKING:
    from spadelab.records import Cycle


@dataclass(frozen=True, slots=True)
class Measure:
    """Held-out accuracy with its 95 % interval, overall and by task type."""

    label: str
    accuracy: float
    low: float
    high: float
    kinds: dict[str, float]

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(slots=True)
class Progress:
    """What was heard of a run so far. Times are monotonic seconds; `measuring` is one held-out measure."""

    settings: Settings
    stage: str = "starting"
    last: Cycle | None = None
    heldout: list[Measure] = field(default_factory=list)
    measuring: float = 0.0
    started: float = field(default_factory=time.monotonic)
    stage_started: float = field(default_factory=time.monotonic)
    saved: float | None = None

    def enter(self, stage: str) -> None:
        """The run says what it does now."""
        self.stage, self.stage_started = stage, time.monotonic()

    def take_cycle(self, cycle: Cycle) -> None:
        """A cycle is over; every `run.checkpoint_every` cycles a checkpoint follows it."""
        self.last, self.stage = cycle, "learning"
        if (cycle.number + 1) % self.settings.run.checkpoint_every == 0:
            self.saved = time.monotonic()

    def take_measure(self, measure: Measure) -> None:
        """A held-out measure is over."""
        self.heldout.append(measure)
        self.measuring = time.monotonic() - self.stage_started

    @property
    def share(self) -> float:
        """The part of the run's budget that is used up, in [0, 1]: cycles, minutes or CPU seconds."""
        if self.last is None:
            return 0.0
        run, timings = self.settings.run, self.last.timings
        used = [(self.last.number + 1) / self.settings.cycles]
        if run.minutes:
            used.append(timings.get("elapsed", 0.0) / (60 * run.minutes))
        if run.cpu_seconds:
            used.append(timings.get("spent", 0.0) / run.cpu_seconds)
        return min(1.0, max(used))

    @property
    def remaining(self) -> float | None:
        """Estimated seconds to the end: the cycles at the pace so far and one held-out measure."""
        if self.last is None or self.share == 0:
            return None
        elapsed = self.last.timings.get("elapsed", 0.0)
        return elapsed * (1 - self.share) / self.share + self.measuring


def rates(cycle: Cycle) -> dict[str, float]:
    """Tokens a second of sampling, both roles together, and programs a second of gates and scoring."""
    timings = cycle.timings
    drafts = [admission.draft.generation for admission in cycle.admissions]
    written = sum(len(generation.ids) for generation in drafts if generation)
    pairs = {
        "tok/s": (cycle.metrics["tokens"] + written, timings.get("model", 0.0)),
        "programs/s": (timings.get("programs", 0.0), timings.get("sandbox", 0.0)),
    }
    return {name: count / seconds for name, (count, seconds) in pairs.items() if count and seconds > 0}


def show_duration(seconds: float | None) -> str:
    """ "42 s", "3 min 05 s", "2 h 07 min"; "?" when it is not known."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
