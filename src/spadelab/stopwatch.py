"""Where the time of a cycle goes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from spadelab.sandbox import Sandbox


class Stopwatch:
    """Measures one cycle; `seconds` are wall time by name, the sandbox's share of a block under "sandbox"."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.seconds: dict[str, float] = defaultdict(float)
        self._started, self._clock = self._computing(), time.monotonic()
        self._executed = sandbox.executions

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add the seconds of the block to `name`."""
        start, waited = time.perf_counter(), self.sandbox.seconds
        yield
        waited = self.sandbox.seconds - waited if name != "sandbox" else 0.0
        self.seconds["sandbox"] += waited
        self.seconds[name] += time.perf_counter() - start - waited

    @property
    def spent(self) -> float:
        """CPU seconds of this process plus the time it waited for the jails, which compute meanwhile."""
        return self._computing() - self._started

    @property
    def elapsed(self) -> float:
        """Wall seconds since the start."""
        return time.monotonic() - self._clock

    @property
    def programs(self) -> float:
        """Programs that the sandbox ran since the start."""
        return float(self.sandbox.executions - self._executed)

    def _computing(self) -> float:
        return time.process_time() + self.sandbox.seconds
