"""Chance and the clock of a program, drawn from one numbered stream. Runs inside the jail.

What a program could take from outside (unseeded `random` and NumPy, os.urandom, uuid, the time) is the
same whenever it runs on the same stream, on any machine and any day: a run can be repeated, and a program
cannot wait for a date. Two streams differ in all of it, which shows what depends on chance. This serves
repeatability; it is no wall.
"""

from __future__ import annotations

import _random
import ctypes
import gc
import os
import sys
import time

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TICK = 1_000_000  # nanoseconds from one look at the clock to the next
_EPOCH = 1_767_225_600  # 2026-01-01
_YEARS = 1 << 28  # seconds in which a stream chooses its first moment, to the microsecond
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_TODAY = (("localtime", 0), ("gmtime", 0), ("ctime", 0), ("asctime", 0), ("strftime", 1))


class Chance:
    """One source for everything.

    `install` when the standard modules are there, `settle` when the packages are, `begin` once in each child.
    """

    def __init__(self) -> None:
        self._source = _random.Random(0)
        self._now = 0
        self._settled = False
        # What packages made for themselves while they were imported.
        self._generators: list[_random.Random] = []

    def begin(self, stream: int) -> None:
        """Follow a stream from its start."""
        self._source.seed(stream)
        self._now = (_EPOCH * 10**6 + self._source.getrandbits(48) % (_YEARS * 10**6)) * 1000
        if "random" in sys.modules:
            sys.modules["random"].seed()
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed(self._source.getrandbits(32))
        for generator in self._generators:
            generator.seed()

    def install(self) -> None:
        """Put this source in the place of the system's, where Python code looks for it."""
        base: Any = _random.Random  # seeds itself from the system when it is called
        seed = base.seed

        def draw(size: int) -> bytes:
            return self._source.getrandbits(size * 8).to_bytes(size, "little")

        def seed_from_here(generator: _random.Random, a: Any = None) -> None:
            if a is None:
                a = self._source.getrandbits(64)
                if not self._settled:
                    self._generators.append(generator)
            seed(generator, a)

        os.urandom = draw
        if "random" in sys.modules:
            sys.modules["random"]._urandom = draw  # type: ignore[attr-defined]
        os.getrandom = lambda size, flags=0: draw(size)
        base.seed = base.__init__ = seed_from_here
        self._install_clock()

    def settle(self) -> None:
        """No package will be imported any more: empty the environment, and begin stream 0."""
        self._settled = True
        for name in {*os.environ} - {"TZ"}:
            del os.environ[name]
        for package in ("numpy._core", "numpy.core"):  # "now" is a word of its C code
            path = getattr(sys.modules.get(package + "._multiarray_umath"), "__file__", "")
            if path.endswith(".so"):
                self._clock_of_c = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.POINTER(ctypes.c_long))(self._tell)
                kernel.redirect(path, "time", self._clock_of_c)
        self.begin(0)

    def _install_clock(self) -> None:
        os.environ["TZ"] = "UTC0"
        time.tzset()
        for name in _CLOCKS:
            setattr(time, name, lambda: self._look() / 10**9)
            setattr(time, name + "_ns", self._look)
        os.times = lambda: os.times_result((0.0, 0.0, 0.0, 0.0, self._look() / 10**9))
        time.clock_gettime = lambda clock: self._look() / 10**9
        time.clock_gettime_ns = lambda clock: self._look()
        for name, given in _TODAY:
            setattr(time, name, self._fill(getattr(time, name), given, name == "asctime"))
        datetime = sys.modules.get("datetime")
        if datetime is None:
            return
        moment, day = datetime.datetime, datetime.date
        _replace(moment, "now", lambda kind, tz=None: kind.fromtimestamp(time.time(), tz))
        _replace(moment, "utcnow", lambda kind: kind.fromtimestamp(time.time()))
        _replace(day, "today", lambda kind: kind.fromtimestamp(time.time()))

    def _tell(self, place: Any) -> int:
        """As the function `time` of C."""
        seconds = self._look() // 10**9
        if place:
            place[0] = seconds
        return seconds

    def _look(self) -> int:
        self._now += _TICK
        return self._now

    def _fill(self, function: Callable[..., Any], given: int, broken_down: bool) -> Callable[..., Any]:
        """The function, with the moment that it takes by itself filled in from here."""

        def call(*arguments: Any) -> Any:
            if len(arguments) == given or arguments[-1] is None:
                moment = time.time()
                arguments = (*arguments[:given], time.gmtime(moment) if broken_down or given else moment)
            return function(*arguments)

        return call


def _replace(kind: type, name: str, function: Callable[..., Any]) -> None:
    # A type made in C takes no new attributes, its dictionary does; then the type must forget what it knew.
    gc.get_referents(kind.__dict__)[0][name] = classmethod(function)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
