"""The jails of a sandbox, by flavour, each with children forked ahead."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from .backends import Flavour
from .channel import Channel, fork_ahead
from .jail import Jail, JailDied
from .jobs import Limits, SandboxUnavailable
from .launches import start_jail

RECYCLE_AFTER = 5000
WARM = 8


@dataclass(eq=False, slots=True)
class Seat:
    """A jail with its idle children, the number of busy ones, and the jail that will replace it.

    `wanted`: the limits of the last program. `leaving`: it takes no more programs and is closed with its
    last one.
    """

    jail: Jail
    idle: list[Channel] = field(default_factory=list)
    busy: int = 0
    wanted: Limits | None = None
    successor: Future[Jail] | None = None
    leaving: bool = False


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
        self.first = self._start(Flavour(0, bare=True))[0].jail

    def take(self, flavour: Flavour, limits: Limits) -> tuple[Seat, Channel]:
        """A child ready for a program, from the least busy jail; give it back with `release`."""
        with self._lock:
            for _ in range(3):
                seats = self._seats.get(flavour) or self._start(flavour)
                seat = min(seats, key=lambda seat: seat.busy)
                if not seat.jail.is_alive():
                    successor = seat.successor or self._submit(flavour)
                    seat = self._replace(flavour, seat, successor.result())
                elif seat.jail.forks > RECYCLE_AFTER:
                    seat = self._renew(flavour, seat)
                with contextlib.suppress(JailDied):
                    channel = _pop_fresh(seat, limits) or fork_ahead(seat.jail, limits)[0]
                    seat.busy += 1
                    return seat, channel
        raise SandboxUnavailable("jails die as soon as they are started; is the machine out of memory?")

    def take_alone(self, flavour: Flavour, limits: Limits) -> tuple[Seat, Channel]:
        """A child in a jail of its own, so that no other program is there to end it."""
        seat = Seat(self._submit(flavour).result(), busy=1, leaving=True)
        try:
            return seat, fork_ahead(seat.jail, limits)[0]
        except JailDied as error:
            seat.jail.close()
            raise SandboxUnavailable(f"a fresh jail died: {error}") from None

    def warm(self, seat: Seat, limits: Limits) -> None:
        """Fork children ahead when the same limits are wanted again.

        Called after a request was sent, so that the request does not wait for it. Several at once: what
        the zygote has to touch between two forks it must copy.
        """
        with self._lock, contextlib.suppress(JailDied, SandboxUnavailable):
            again, seat.wanted = seat.wanted == limits, limits
            if not again or any(channel.limits == limits for channel in seat.idle):
                return
            if not seat.leaving and seat.jail.is_alive():
                seat.idle += fork_ahead(seat.jail, limits, WARM)
                while len(seat.idle) > 2 * WARM:
                    seat.idle.pop(0).close()

    def release(self, seat: Seat, channel: Channel, at_once: bool = True) -> None:
        """The child has done its work: kill it, `at_once` or when its jail is next spoken to."""
        channel.close()
        with self._lock:
            seat.busy -= 1
            if seat.leaving and not seat.busy:
                _close(seat)
        if at_once or not seat.busy:
            seat.jail.settle()

    def count(self, flavour: Flavour) -> int:
        """How many jails serve the flavour; those with packages are large, so one each."""
        return 1 if flavour.packages else self._workers

    def jails(self) -> list[Jail]:
        """Every running jail."""
        with self._lock:
            return [seat.jail for seats in self._seats.values() for seat in seats]

    def count_spare(self) -> int:
        """Children that wait for a program, or for their end: what they hold is no leak."""
        with self._lock:
            seats = [seat for seats in self._seats.values() for seat in seats]
            return sum(len(seat.idle) + seat.jail.retired for seat in seats)

    def close(self) -> None:
        """End every jail and what runs in it."""
        with self._lock:
            seats = [seat for seats in self._seats.values() for seat in seats]
            self._seats.clear()
        for seat in seats:
            if seat.successor:
                with contextlib.suppress(SandboxUnavailable):
                    seat.successor.result().close()
            _close(seat)
        self._launcher.shutdown()

    def _start(self, flavour: Flavour) -> list[Seat]:
        with self._lock:
            if flavour not in self._seats:
                waiting = [self._submit(flavour) for _ in range(self.count(flavour))]
                self._seats[flavour] = [Seat(future.result()) for future in waiting]
            return self._seats[flavour]

    def _submit(self, flavour: Flavour) -> Future[Jail]:
        return self._launcher.submit(start_jail, self._choice, flavour, self._image)

    def _renew(self, flavour: Flavour, seat: Seat) -> Seat:
        """A worn jail works on until its successor is there, or for ever when none can be started."""
        if seat.successor is None:
            seat.successor = self._submit(flavour)
        if not seat.successor.done() or seat.successor.exception():
            return seat
        return self._replace(flavour, seat, seat.successor.result())

    def _replace(self, flavour: Flavour, seat: Seat, jail: Jail) -> Seat:
        fresh = Seat(jail)
        seats = self._seats[flavour]
        seats[seats.index(seat)] = fresh
        seat.leaving = True
        if not seat.busy or not seat.jail.is_alive():
            _close(seat)
        return fresh


def _pop_fresh(seat: Seat, limits: Limits) -> Channel | None:
    for channel in [channel for channel in seat.idle if channel.limits == limits]:
        seat.idle.remove(channel)
        if channel.is_fresh():
            return channel
        channel.close()
    return None


def _close(seat: Seat) -> None:
    for channel in seat.idle:
        channel.close()
    seat.idle.clear()
    seat.jail.close()
