"""The jails of a sandbox, by flavour, each with children forked ahead."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .backends import Flavour
from .channel import Channel
from .jail import Jail, JailDied
from .jobs import Limits, SandboxUnavailable
from .launches import start_jail

RECYCLE_AFTER = 5000
WARM = 2


@dataclass(eq=False, slots=True)
class Seat:
    """A jail with its idle children and the number of busy ones."""

    jail: Jail
    idle: list[Channel] = field(default_factory=list)
    busy: int = 0


class Pool:
    """Starts jails when a flavour is first wanted and replaces dead or worn ones.

    Raises SandboxUnavailable when none can be started. Safe to use from several threads.
    """

    def __init__(self, backend: str, workers: int, image: str | None = None) -> None:
        self._choice = backend
        self._image = image
        self._workers = workers
        self._seats: dict[Flavour, list[Seat]] = {}
        self._lock = threading.RLock()
        # Jails die with the thread that started them, so that thread must live as long as they do.
        self._launcher = ThreadPoolExecutor(workers, "jail")
        self.first = self._start(Flavour(0))[0].jail

    def take(self, flavour: Flavour, limits: Limits) -> tuple[Seat, Channel]:
        """A child ready for a program, from the least busy jail; give it back with `release`."""
        with self._lock:
            for _ in range(3):
                seats = self._seats.get(flavour) or self._start(flavour)
                seat = min(seats, key=lambda seat: seat.busy)
                if not seat.jail.is_alive() or (seat.jail.forks > RECYCLE_AFTER and not seat.busy):
                    seat = self._replace(flavour, seat)
                with contextlib.suppress(JailDied):
                    channel = _pop_fresh(seat, limits) or Channel(seat.jail, limits)
                    seat.busy += 1
                    return seat, channel
        raise SandboxUnavailable("jails die as soon as they are started; is the machine out of memory?")

    def warm(self, seat: Seat, limits: Limits) -> None:
        """Fork children ahead, under the limits that were wanted last.

        Called after a request was sent, so that the request does not wait for it.
        """
        with self._lock, contextlib.suppress(JailDied):
            while seat.jail.is_alive() and len(seat.idle) < WARM:
                seat.idle.append(Channel(seat.jail, limits))

    def release(self, seat: Seat, channel: Channel) -> None:
        """The child has done its work: kill it."""
        channel.close()
        with self._lock:
            seat.busy -= 1

    def count(self, flavour: Flavour) -> int:
        """How many jails serve the flavour; those with packages are large, so one each."""
        return 1 if flavour.packages else self._workers

    def jails(self) -> list[Jail]:
        """Every running jail."""
        with self._lock:
            return [seat.jail for seats in self._seats.values() for seat in seats]

    def close(self) -> None:
        """End every jail and what runs in it."""
        with self._lock:
            for seats in self._seats.values():
                for seat in seats:
                    _close(seat)
            self._seats.clear()
        self._launcher.shutdown()

    def _start(self, flavour: Flavour) -> list[Seat]:
        with self._lock:
            if flavour not in self._seats:
                waiting = [self._launcher.submit(self._launch, flavour) for _ in range(self.count(flavour))]
                self._seats[flavour] = [Seat(future.result()) for future in waiting]
            return self._seats[flavour]

    def _replace(self, flavour: Flavour, seat: Seat) -> Seat:
        fresh = Seat(self._launcher.submit(self._launch, flavour).result())
        seats = self._seats[flavour]
        seats[seats.index(seat)] = fresh
        _close(seat)
        return fresh

    def _launch(self, flavour: Flavour) -> Jail:
        return start_jail(self._choice, flavour, self._image)


def _pop_fresh(seat: Seat, limits: Limits) -> Channel | None:
    while seat.idle:
        channel = seat.idle.pop(0)
        if channel.limits == limits and channel.is_fresh():
            return channel
        channel.close()
    return None


def _close(seat: Seat) -> None:
    for channel in seat.idle:
        channel.close()
    seat.jail.close()
