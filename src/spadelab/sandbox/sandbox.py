"""The sandbox: programs in, outcomes out."""

from __future__ import annotations

import platform
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .backends import Flavour
from .capacity import Budget, count_cores
from .channel import Channel
from .container import ENGINES
from .jobs import Call, Job, Limits, Outcome, SandboxUnavailable
from .launches import BACKENDS
from .packages import check_packages
from .pool import Pool, Seat
from .preload import is_bare
from .traffic import Task, direct

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
    of each kind, by default one for each core that this process may use. `allowed_packages`: what
    programs may import beyond the standard list; such programs run in jails of their own, started when
    first needed. `image`: of a container, see `launch_container`. `memory_mb`: what programs that run at
    the same time may take in all, half of the memory by default; others wait (see `capacity`). Raises
    SandboxUnavailable when no jail can be built, when an allowed package is not installed, or when a
    canary attack gets through.
    """

    def __init__(
        self,
        backend: str = "auto",
        workers: int | None = None,
        allowed_packages: Sequence[str] = ("numpy", "sympy"),
        canaries: bool = True,
        image: str | None = None,
        memory_mb: int | None = None,
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ValueError(f"sandbox backend {backend!r}: choose auto, {', '.join(BACKENDS)}")
        self.executions = 0
        self.seconds = 0.0
        self.workers = workers or count_cores()
        self._budget = Budget(memory_mb)
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

        A job whose jail died is tried once more, in a jail of its own: if that dies too, it was the
        job's doing, and the outcome is a crash by the name of "jail died". Raises SandboxUnavailable when no
        jail can be started: a run that went on would take the lack of answers for wrong ones.
        """
        started = time.monotonic()
        results: list[list[Outcome]] = [[] for _ in jobs]
        seats: dict[Channel, Seat] = {}
        waiting = deque(self._plan(index, job, seats) for index, job in enumerate(jobs))
        most = _DEPTH * self.workers
        try:
            with closing(direct(waiting, self._budget, most)) as stream:
                for task in stream:
                    if task.channel is None:
                        raise SandboxUnavailable(task.failure)
                    # A child that lingers holds memory: only where there is plenty of it.
                    linger = bool(waiting) and 4 * most * task.megabytes <= self._budget.total
                    self._pool.release(seats.pop(task.channel), task.channel, at_once=not linger)
                    if task.channel.lost and not task.again:
                        waiting.append(self._plan(task.index, jobs[task.index], seats, again=True))
                    results[task.index] = _blame(task)
        finally:
            for channel, seat in seats.items():
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
        outcomes: list[list[Outcome]] = [[] for _ in jobs]
        seats: dict[Channel, Seat] = {}
        waiting = deque(self._plan(index, job, seats) for index, job in enumerate(jobs))
        opened: dict[int, Channel] = {}
        try:
            with closing(direct(waiting, self._budget, _LOADING * self.workers)) as stream:
                for task in stream:
                    if task.channel is None:
                        raise SandboxUnavailable(task.failure)
                    if task.channel.lost and not task.again:
                        self._pool.release(seats.pop(task.channel), task.channel)
                        waiting.append(self._plan(task.index, jobs[task.index], seats, again=True))
                    opened[task.index] = task.channel
                    outcomes[task.index] = _blame(task)
        except BaseException:
            for channel, seat in seats.items():
                self._pool.release(seat, channel)
            raise
        self.executions += len(jobs)
        self.seconds += time.monotonic() - started
        children = [Child(self, seats[channel], channel) for _, channel in sorted(opened.items())]
        return list(zip(children, outcomes, strict=True))

    def call_many(self, calls: Sequence[tuple[Child, Call]]) -> list[Outcome]:
        """One call in each of many different open children, at the same time.

        "jail_died" is the outcome where the jail of a child died: what the child knew is lost with it.
        """
        return [outcome for (outcome,) in self._ask([(child.channel, (call,)) for child, call in calls])]

    def _ask(self, requests: Sequence[tuple[Channel, Sequence[Call]]]) -> list[list[Outcome]]:
        """Further requests to different children, as many at once as memory allows."""

        def plan(index: int, channel: Channel, calls: Sequence[Call]) -> Task:
            def begin() -> Channel:
                channel.begin(calls)
                return channel

            return Task(index, channel.limits.memory_mb, begin)

        started = time.monotonic()
        waiting = deque(plan(index, *request) for index, request in enumerate(requests))
        with closing(direct(waiting, self._budget, len(requests))) as stream:
            deque(stream, maxlen=0)
        self.seconds += time.monotonic() - started
        return [channel.outcomes for channel, _ in requests]

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
            "memory_mb": self._budget.total,
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

    def _plan(self, index: int, job: Job, seats: dict[Channel, Seat], again: bool = False) -> Task:
        """A task that runs the job in a fresh child, and notes which seat that has."""

        def begin() -> Channel:
            flavour = self._choose(job)
            take = self._pool.take_alone if again else self._pool.take
            seat, channel = take(flavour, job.limits)
            seats[channel] = seat
            channel.open(job.source, job.calls, job.stream)
            self._pool.warm(seat, job.limits)
            return channel

        return Task(index, job.limits.memory_mb, begin, again)

    def _choose(self, job: Job) -> Flavour:
        packages = self._find_packages(job.source)
        return Flavour(job.hash_seed, packages, bare=is_bare(job.source))

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
        return self._sandbox._ask([(self.channel, calls)])[0]

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


def _blame(task: Task) -> list[Outcome]:
    """The outcomes of a request; a program under which two jails died is to blame for it."""
    assert task.channel is not None
    if not (task.again and task.channel.lost):
        return task.channel.outcomes
    message = "its jail died under it, and then another in which it was alone"
    return [
        replace(outcome, kind="crash", error="jail died", message=message)
        if outcome.kind == "jail_died"
        else outcome
        for outcome in task.channel.outcomes
    ]
