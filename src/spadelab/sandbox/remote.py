"""The backend `remote`: the same jail, started anew by a sandbox service for each request."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from .backends import Flavour
from .canaries import CanaryResult
from .jobs import Call, Job, Outcome, SandboxUnavailable
from .parcel import Parcel, Report, fail
from .sandbox import Child, Sandbox
from .service import Answer, Load, Service, ServiceAway, ServiceError

WORKERS = 8
_BATCH = 16
_LONGEST_BATCH = 120.0
_PROBES = 3
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)  # as long as a service takes to start anew
_FORTUNES = ("wall_timeout", "cpu_timeout", "jail_died")
_TRAILS = ("leave a file for the next run", "leave a process for the next run")
_CURE = "the service does not keep runs apart; set `isolation: lite` in its configuration or give each a VM"


class RemoteSandbox(Sandbox):
    """A `Sandbox` whose jails a SandboxFusion-compatible service starts. A context manager.

    `url`: the service's address. `workers`: requests at the same time. A request carries the zygote and
    a batch of programs; each runs in a child of its own behind the same filter and limits as here, so a
    service is one more wall around the jail, not a replacement for it. Both are tested at the start:
    raises SandboxUnavailable when the service does not answer, cannot carry the jail, or lets one run
    see what another left.

    A child that stays is a replay: each call runs all calls so far again, in a fresh process, and a
    program that then answers otherwise than before has broken the protocol.
    """

    def __init__(
        self,
        url: str,
        workers: int | None = None,
        allowed_packages: Sequence[str] = ("numpy", "sympy"),
        canaries: bool = True,
    ) -> None:
        self.executions = 0
        self.seconds = 0.0
        self.workers = workers or WORKERS
        self._packages = tuple(allowed_packages)
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, self._packages)) or '(?!)'})\b")
        self._contained: dict[str, bool] = {}
        self._apart = False
        self._proven = False
        self._closed = threading.Event()
        self._threads = ThreadPoolExecutor(self.workers, "remote")
        try:
            self._service = Service(url)
            self._far = self._send(Flavour(0), []).facts
            if self._far.uid == 0:
                raise ServiceError(f"the jail that {url} starts still runs as root")
            if canaries and self._packages:  # an absent package is an error now, not later
                self._send(Flavour(0, self._packages), [])
            if canaries:
                self._prove()
            self._proven = True
        except ServiceError as error:
            self.close()
            raise SandboxUnavailable(str(error)) from None

    @property
    def backend(self) -> str:
        """Always "remote"."""
        return "remote"

    def probe(self) -> list[CanaryResult]:
        """Whether a run sees the file or the process that the run before it tried to leave."""
        trail = secrets.token_hex(8)
        found = {name for _ in range(_PROBES) for name in self._send(Flavour(0), [], trail).found}
        self._apart = not found
        return [CanaryResult(name, name not in found, _CURE if name in found else "") for name in _TRAILS]

    def map(self, jobs: Sequence[Job]) -> list[list[Outcome]]:
        """Run jobs, a batch a request; results in the order of the jobs.

        A request that fails is made once more, and again for half a minute while nobody answers. After that
        raises SandboxUnavailable: a run that went on would take the lack of answers for wrong ones.
        """
        return [report.outcomes for report in self._deliver(jobs)]

    def open_many(self, jobs: Sequence[Job]) -> list[tuple[Child, list[Outcome]]]:
        """A child for each job, and the outcomes of the job's calls; in the order of the jobs.

        Without calls nothing is sent yet. Raises SandboxUnavailable when the service fails.
        """
        children = [RemoteChild(self, replace(job, calls=())) for job in jobs]
        outcomes = self.advance([(child, job.calls) for child, job in zip(children, jobs, strict=True)])
        return list(zip(children, outcomes, strict=True))

    def call_many(self, calls: Sequence[tuple[Child, Call]]) -> list[Outcome]:
        """One call in each of many different open children, at the same time."""
        pairs = []
        for child, call in calls:
            if not isinstance(child, RemoteChild):
                raise TypeError("a child of another sandbox")
            pairs.append((child, (call,)))
        return [outcome for (outcome,) in self.advance(pairs)]

    def advance(self, pairs: Sequence[tuple[RemoteChild, Sequence[Call]]]) -> list[list[Outcome]]:
        """Further calls in each of different children; their outcomes."""
        moving = [(child, calls) for child, calls in pairs if calls and not child.ended]
        jobs = [replace(child.job, calls=(*child.job.calls, *calls)) for child, calls in moving]
        fresh = {
            child: child.accept(job, report)
            for (child, _), job, report in zip(moving, jobs, self._deliver(jobs), strict=True)
        }
        return [fresh.get(child, [child.ended] * len(calls) if child.ended else []) for child, calls in pairs]

    def facts(self) -> dict[str, Any]:
        """What protects this run: JSON-able, stored with runs and printed by the doctor."""
        return {
            "backend": self.backend,
            "url": self._service.url,
            "layers": {
                "service_isolation": self._apart,
                "landlock": self._far.landlock,
                "seccomp": "strict",
                "rlimits": True,
                "root_dropped": self._far.dropped,
            },
            "uid": self._far.uid,
            "canaries": dict(self._contained),
            "workers": self.workers,
            "allowed_packages": list(self._packages),
            "python": self._far.python,
            "kernel": self._far.kernel,
        }

    def close(self) -> None:
        """Make no further request; those under way end with their deadlines."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _deliver(self, jobs: Sequence[Job]) -> list[Report]:
        started = time.monotonic()
        reports: dict[int, Report] = {}
        groups: dict[Flavour, list[Parcel]] = defaultdict(list)
        for index, job in enumerate(jobs):
            try:
                parcel = Parcel(index, job)
            except UnicodeEncodeError:
                reports[index] = fail(
                    job, Outcome("program_error", error="UnicodeEncodeError", message="not valid text")
                )
                continue
            groups[Flavour(job.hash_seed, self._find_packages(job.source))].append(parcel)
        batches = [(f, batch) for f, parcels in groups.items() for batch in self._divide(parcels)]
        try:
            for (_, batch), answers in zip(batches, self._threads.map(self._run, batches), strict=True):
                reports |= {parcel.index: report for parcel, report in zip(batch, answers, strict=True)}
        except ServiceError as error:
            raise SandboxUnavailable(str(error)) from None
        self.executions += len(jobs)
        self.seconds += time.monotonic() - started
        return [reports[index] for index in range(len(jobs))]

    def _divide(self, parcels: Sequence[Parcel]) -> Iterator[list[Parcel]]:
        """Batches that keep all workers busy and that no service would think too long."""
        size = min(_BATCH, -(-len(parcels) // self.workers))
        batch: list[Parcel] = []
        seconds = 0.0
        for parcel in parcels:
            seconds += parcel.seconds
            if batch and (len(batch) == size or seconds > _LONGEST_BATCH):
                yield batch
                batch, seconds = [], parcel.seconds
            batch.append(parcel)
        if batch:
            yield batch

    def _run(self, order: tuple[Flavour, list[Parcel]]) -> list[Report]:
        flavour, parcels = order
        reports: list[Report] = []
        lost = False
        while len(reports) < len(parcels):
            waiting = parcels[len(reports) :]
            results = self._send(flavour, [parcel.load for parcel in waiting]).results
            reports += [parcel.read(result) for parcel, result in zip(waiting, results, strict=False)]
            if not results and lost:  # twice the jail did not survive this one program
                reports.append(fail(waiting[0].job, Outcome("jail_died", message="the far jail died")))
            lost = not results and not lost
        return reports

    def _send(self, flavour: Flavour, loads: Sequence[Load], trail: str = "") -> Answer:
        # At the start an address where nobody answers is an error at once.
        for pause in (0.0, *_PAUSES) if self._proven else (0.0,):
            try:
                return self._service.send(flavour, loads, trail)
            except ServiceAway:
                self._closed.wait(pause)
            except ServiceError:
                break
        return self._service.send(flavour, loads, trail)


class RemoteChild(Child):
    """A loaded program whose state is the list of its calls: `job` has all that were made."""

    def __init__(self, sandbox: RemoteSandbox, job: Job) -> None:
        self._remote = sandbox
        self.job = job
        self.ended: Outcome | None = None
        self._outcomes: list[Outcome] = []

    def call_all(self, calls: Sequence[Call]) -> list[Outcome]:
        """Several calls in one replay."""
        return self._remote.advance([(self, calls)])[0]

    def accept(self, job: Job, report: Report) -> list[Outcome]:
        """The new outcomes in the replay of `job`; what was answered before must be answered again."""
        self.job, self.ended = job, report.ended
        fresh = report.outcomes[len(self._outcomes) :]
        for number, (old, new) in enumerate(zip(self._outcomes, report.outcomes, strict=False), 1):
            if (old.kind, old.value, old.error) != (new.kind, new.value, new.error):
                gave, before = new.value or new.kind, old.value or old.kind
                text = f"does not replay: call {number} gave {gave[:100]}, and before that {before[:100]}"
                self.ended = new if new.kind in _FORTUNES else Outcome("protocol_error", message=text)
                fresh = [self.ended] * len(fresh)
                break
        self._outcomes += fresh
        return fresh

    def close(self) -> None:
        """Nothing runs between calls."""
