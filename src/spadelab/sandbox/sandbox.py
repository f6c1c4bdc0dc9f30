"""The sandbox: programs in, outcomes out."""

from __future__ import annotations

import os
import platform
import re
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .backends import Flavour
from .channel import Channel, Switchboard
from .container import ENGINES
from .jobs import Call, Job, Limits, Outcome, SandboxUnavailable
from .launches import BACKENDS
from .packages import check_packages
from .pool import Pool, Seat

if TYPE_CHECKING:
    from .canaries import CanaryResult

# Jobs at a time for each jail: enough to hide the fork; more would only eat into their wall time.
_DEPTH = 2
# Programs that load at a time for each jail; the wall time of a load runs while the others load.
_LOADING = 8


class Sandbox:
    """Runs untrusted programs, each in a fresh child of a jail. A context manager.

    `backend`: "auto" (the first that works of bubblewrap, Landlock, docker and podman), one of their
    names in lower case, or "unsafe" (no isolation at all; never chosen automatically). `workers`: jails
    of each kind, one a core by default. `allowed_packages`: what programs may import beyond the standard
    list; such programs run in jails of their own, started when first needed. `image`: of a container,
    see `launch_container`. Raises SandboxUnavailable when no jail can be built, when an allowed package
    is not installed, or when a canary attack gets through.
    """

    def __init__(
        self,
        backend: str = "auto",
        workers: int | None = None,
        allowed_packages: Sequence[str] = ("numpy", "sympy"),
        canaries: bool = True,
        image: str | None = None,
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ValueError(f"sandbox backend {backend!r}: choose auto, {', '.join(BACKENDS)}")
        self.executions = 0
        self.seconds = 0.0
        self.workers = workers or os.cpu_count() or 1
        self._packages = tuple(allowed_packages)
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, self._packages)) or '(?!)'})\b")
        check_packages(self._packages)
        self._pool = Pool(backend, self.workers, image)
        self._contained: dict[str, bool] = {}
        if canaries and self.isolated:
            self._prove()

    @property
    def backend(self) -> str:
        """The name of the backend that was found to work."""
        return self._pool.first.backend

    @property
    def isolated(self) -> bool:
        """False only for the backend "unsafe"."""
        return self.backend != "unsafe"

    def probe(self) -> list[CanaryResult]:
        """What the self-test asks beside the canaries; nothing where the canaries say it all."""
        return []

    def run(self, job: Job) -> list[Outcome]:
        """Run one job in a fresh child; one outcome a call."""
        return self.map([job])[0]

    def map(self, jobs: Sequence[Job]) -> list[list[Outcome]]:
        """Run jobs in parallel, one fresh child each; results in the order of the jobs.

        A job whose jail died is tried once more in a fresh jail.
        """
        started = time.monotonic()
        results: list[list[Outcome]] = [[] for _ in jobs]
        waiting = deque((index, False) for index in range(len(jobs)))
        running: dict[Channel, tuple[int, bool, Seat]] = {}
        board = Switchboard()
        try:
            while waiting or running:
                while waiting and len(running) < _DEPTH * self.workers:
                    index, again = waiting.popleft()
                    try:
                        seat, channel = self._begin(jobs[index])
                    except SandboxUnavailable as error:
                        missing = Outcome("unavailable", message=str(error))
                        results[index] = [missing] * len(jobs[index].calls)
                        continue
                    running[channel] = (index, again, seat)
                    if not channel.done:
                        board.add(channel)
                finished = [channel for channel in running if channel.done] or board.wait()
                for channel in finished:
                    index, again, seat = running.pop(channel)
                    self._pool.release(seat, channel)
                    if channel.lost and not again:
                        waiting.append((index, True))
                    results[index] = channel.outcomes
        finally:
            for channel, (_, _, seat) in running.items():
                self._pool.release(seat, channel)
            self.executions += len(jobs)
            self.seconds += time.monotonic() - started
        return results

    def open(self, source: str, limits: Limits | None = None, hash_seed: int = 0) -> Child:
        """Load a program in a child that stays; failures of the load are the outcome of every call."""
        return self.open_many([Job(source, (), limits or Limits(), hash_seed)])[0][0]

    def open_many(self, jobs: Sequence[Job]) -> list[tuple[Child, list[Outcome]]]:
        """Load each job's program in a child that stays, and make the job's calls; in the order of the jobs.

        The children must be closed by the caller. Raises SandboxUnavailable when no jail is left.
        """
        started = time.monotonic()
        children: list[Child] = []
        try:
            for start in range(0, len(jobs), _LOADING * self.workers):
                batch = [
                    Child(self, *self._begin(job)) for job in jobs[start : start + _LOADING * self.workers]
                ]
                children += batch
                _finish([child.channel for child in batch])
        except BaseException:
            for child in children:
                child.close()
            raise
        self.executions += len(jobs)
        self.seconds += time.monotonic() - started
        return [(child, child.channel.outcomes) for child in children]

    def call_many(self, calls: Sequence[tuple[Child, Call]]) -> list[Outcome]:
        """One call in each of many different open children, at the same time."""
        started = time.monotonic()
        channels = [child.channel for child, _ in calls]
        for child, call in calls:
            child.channel.begin((call,))
        _finish(channels)
        self.seconds += time.monotonic() - started
        return [channel.outcomes[0] for channel in channels]

    def facts(self) -> dict[str, Any]:
        """What protects this run: JSON-able, stored with runs and printed by the doctor."""
        inside = self._pool.first.facts
        return {
            "backend": self.backend,
            "layers": {
                "namespaces": self.backend in ("bubblewrap", *ENGINES),
                "landlock": inside.get("landlock", 0),
                "seccomp": "strict" if self.isolated else "",
                "rlimits": True,
                "root_dropped": inside.get("dropped", False),
            },
            "uid": inside["uid"],
            "canaries": dict(self._contained),
            "workers": self.workers,
            "allowed_packages": list(self._packages),
            "python": inside["python"],
            "kernel": platform.release(),
        }

    def close(self) -> None:
        """End every jail and child."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, job: Job) -> tuple[Seat, Channel]:
        flavour = Flavour(job.hash_seed, self._find_packages(job.source))
        seat, channel = self._pool.take(flavour, job.limits)
        channel.open(job.source, job.calls, job.stream)
        self._pool.warm(seat, job.limits)
        return seat, channel

    def _find_packages(self, source: str) -> tuple[str, ...]:
        # One line at a time and no regular expression that could backtrack: the source is hostile.
        wanted = any("import" in line and self._names.search(line) for line in source.splitlines())
        return self._packages if wanted else ()

    def _prove(self) -> None:
        from .canaries import self_test  # the canaries use the sandbox that they test

        try:
            results = self_test(self)
        except BaseException:
            self.close()
            raise
        self._contained = {result.name: result.contained for result in results}
        failed = [f"{result.name} ({result.detail})" for result in results if not result.contained]
        if failed:
            self.close()
            raise SandboxUnavailable(f"the {self.backend} jail leaks: {', '.join(failed)}")


class Child:
    """A loaded program that keeps its state between calls. A context manager."""

    def __init__(self, sandbox: Sandbox, seat: Seat, channel: Channel) -> None:
        self._sandbox = sandbox
        self._seat = seat
        self.channel = channel
        self._closed = False

    def call(self, call: Call) -> Outcome:
        """One call; after the child died, its last outcome."""
        return self.call_all((call,))[0]

    def call_all(self, calls: Sequence[Call]) -> list[Outcome]:
        """Several calls in one frame."""
        started = time.monotonic()
        self.channel.begin(calls)
        _finish([self.channel])
        self._sandbox.seconds += time.monotonic() - started
        return self.channel.outcomes

    def close(self) -> None:
        """Kill the child."""
        if not self._closed:
            self._closed = True
            self._sandbox._pool.release(self._seat, self.channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _finish(channels: Sequence[Channel]) -> None:
    board = Switchboard()
    for channel in channels:
        if not channel.done:
            board.add(channel)
    while len(board):
        board.wait()
