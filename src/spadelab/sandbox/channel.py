"""The host's end of one child: requests out, checked outcomes in, deadlines kept here."""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence

from .jail import Ending, Jail, JailDied
from .jobs import Call, Limits, Outcome
from .wire import LOAD, Codec, Reply, WireError
from .zygote import OUT_OF_MEMORY

_CHUNK = 1 << 18


class Channel:
    """One child of `jail`, forked under `limits` ahead of its program: see `fork_ahead`.

    A request is begun, pumped until `done`, and then its `outcomes` are there, one a call. After a
    failure that ended the child, every later call gets the same outcome.
    """

    def __init__(self, jail: Jail, limits: Limits, number: int, end: socket.socket) -> None:
        self.jail = jail
        self.limits = limits
        self.number = number
        self._socket = end
        self.outcomes: list[Outcome] = []
        self.done = True
        self.deadline = 0.0
        self.lost = False
        self._codec = Codec(limits)
        self._expected: deque[str] = deque()
        self._loading = False
        self._received = bytearray()
        self._unsent = memoryview(b"")
        self._mark = 0.0
        self._ended: Outcome | None = None
        self._released = False

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """What to poll for."""
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def is_fresh(self) -> bool:
        """Whether the forked child still waits for its program."""
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK)) and False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def open(self, source: str, calls: Sequence[Call] = (), stream: int = 0) -> None:
        """Begin the first request: load the program on a stream of chance, then make the calls."""
        self._begin(calls, source, stream)

    def begin(self, calls: Sequence[Call]) -> None:
        """Begin a further request."""
        self._begin(calls, None)

    def _begin(self, calls: Sequence[Call], source: str | None, stream: int = 0) -> None:
        self.outcomes = []
        self._mark = time.monotonic()
        self.deadline = self._mark + self.limits.wall_seconds
        if source is None and not self._ended and not self.is_fresh():
            self._pump_early()
        # Unguessable names: a program cannot answer a request that was not made yet.
        named = [(secrets.token_hex(8), call) for call in calls]
        self._expected = deque(name for name, _ in named)
        self._loading = source is not None
        if self._loading and not named:
            self._expected.append(LOAD)
        self.done = not self._expected
        if self._ended:
            self._finish(self._ended)
            return
        try:
            self._unsent = memoryview(self._codec.encode(named, source, stream))
        except UnicodeEncodeError:
            self._finish(Outcome("program_error", error="UnicodeEncodeError", message="not valid text"))
            return
        self._send()

    def pump(self) -> None:
        """Send and receive what is possible without blocking."""
        self._send()
        if self.done:
            return
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._finish(self._explain_end())
            return
        self._received += data
        try:
            for reply in self._codec.split(self._received):
                self._accept(reply)
                if self.done:
                    break
            if self.done and self._received and not self._ended:
                raise WireError("more answers than questions")
        except WireError as error:
            self._kill(Outcome("protocol_error", message=str(error)[:500]))

    def expire(self, now: float) -> None:
        """End the child when its deadline has passed."""
        if not self.done and now >= self.deadline:
            seconds = now - self._mark
            message = f"no answer within {self.limits.wall_seconds:g} s"
            self._kill(Outcome("wall_timeout", message=message, seconds=seconds))

    def close(self) -> None:
        """Kill the child, whatever it does, when its jail settles."""
        if not self._released:
            self._released = True
            self.done = True
            self.jail.retire(self.number, self._socket)

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = memoryview(b"")  # the child is gone; reading tells how

    def _accept(self, reply: Reply) -> None:
        # Of a load before a call one hears only when it fails.
        failed = self._loading and reply.id == LOAD and reply.kind != "value"
        if not failed and (not self._expected or reply.id != self._expected[0]):
            raise WireError("an answer to no question")
        now = time.monotonic()
        outcome = self._codec.to_outcome(reply, now - self._mark, loading=reply.id == LOAD)
        if failed:
            self._finish(outcome)
            return
        self._expected.popleft()
        self._loading = False
        self._mark = now
        self.deadline = now + self.limits.wall_seconds
        if reply.id != LOAD:
            self.outcomes.append(outcome)
        self.done = not self._expected

    def _pump_early(self) -> None:
        """Something arrived, or ended, while no question was open."""
        try:
            data = self._socket.recv(1)
        except OSError:
            data = b""
        if data:
            self._kill(Outcome("protocol_error", message="more answers than questions"))
        else:
            self._finish(self._explain_end())

    def _kill(self, outcome: Outcome) -> None:
        self._released = True
        self._socket.close()
        self.jail.kill(self.number)
        self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        """The child is of no more use: every open call gets `outcome`."""
        self._ended = outcome
        self._unsent = memoryview(b"")
        self.outcomes += [outcome] * sum(1 for name in self._expected if name)
        self._expected.clear()
        self.done = True

    def _explain_end(self) -> Outcome:
        self._released = True
        self._socket.close()
        seconds = time.monotonic() - self._mark
        try:
            ending = self.jail.end(self.number)
        except JailDied as error:
            self.lost = True
            return Outcome("jail_died", message=str(error), seconds=seconds)
        outcome = classify(ending, self.limits, seconds)
        # Neither is the program's doing: no memory for a child, or the system wanted its memory back.
        self.lost = ending.status == -1 or _is_unexplained(ending, self.limits)
        return outcome


def fork_ahead(jail: Jail, limits: Limits, count: int = 1) -> list[Channel]:
    """Channels of fresh children. Raises JailDied."""
    return [Channel(jail, limits, number, end) for number, end in jail.spawn(limits, count)]


def classify(ending: Ending, limits: Limits, seconds: float) -> Outcome:
    """The outcome of a child that ended before it answered."""
    status = ending.status
    if status == -1:
        message = "the jail could not fork a child; is the machine out of memory?"
        return Outcome("unavailable", message=message, seconds=seconds)
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        if code == OUT_OF_MEMORY:
            return Outcome("memory", message="the program ran out of memory", seconds=seconds)
        return Outcome("crash", error=f"exit code {code}", message="left before answering", seconds=seconds)
    number = os.WTERMSIG(status)
    if _is_unexplained(ending, limits):
        message = "killed by the system: the machine ran out of memory"
        return Outcome("memory", message=message, seconds=seconds)
    if number == signal.SIGXCPU or (number == signal.SIGKILL and not ending.killed):
        message = f"more than {limits.cpu_seconds:g} s of CPU time"
        return Outcome("cpu_timeout", message=message, seconds=seconds)
    if ending.killed:
        return Outcome("protocol_error", message="closed its channel", seconds=seconds)
    return Outcome("crash", error=signal.Signals(number).name, message="died", seconds=seconds)


def _is_unexplained(ending: Ending, limits: Limits) -> bool:
    """A SIGKILL that was neither ours nor that of the CPU limit; a program cannot send one."""
    killed = os.WIFSIGNALED(ending.status) and os.WTERMSIG(ending.status) == signal.SIGKILL
    return killed and not ending.killed and ending.cpu_seconds < limits.cpu_seconds


class Switchboard:
    """Waits for many channels at once."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._open: dict[int, Channel] = {}
        self._check_at = 0.0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, channel: Channel) -> None:
        """Watch a channel whose request has begun and is not done."""
        self._open[channel.fileno()] = channel
        self._poll.register(channel.fileno(), channel.events)
        self._check_at = min(self._check_at, channel.deadline)

    def wait(self) -> list[Channel]:
        """Block until requests are done; returns their channels, no longer watched."""
        finished: list[Channel] = []
        while self._open and not finished:
            timeout = max(0.0, self._check_at - time.monotonic())
            for descriptor, _ in self._poll.poll(timeout * 1000 + 1):
                channel = self._open[descriptor]
                channel.pump()
                if channel.done:
                    self._remove(descriptor, finished)
                elif not channel.events & select.POLLOUT:
                    self._poll.modify(descriptor, channel.events)
            self._expire(finished)
        return finished

    def _expire(self, finished: list[Channel]) -> None:
        now = time.monotonic()
        if now < self._check_at:
            return
        for descriptor, channel in list(self._open.items()):
            channel.expire(now)
            if channel.done:
                self._remove(descriptor, finished)
        # Deadlines only move later, so this stays a lower bound until it is reached.
        self._check_at = min((c.deadline for c in self._open.values()), default=now)

    def _remove(self, descriptor: int, finished: list[Channel]) -> None:
        self._poll.unregister(descriptor)
        finished.append(self._open.pop(descriptor))

    def close(self) -> None:
        """Kill what is still running."""
        for channel in self._open.values():
            channel.close()
        self._open.clear()
