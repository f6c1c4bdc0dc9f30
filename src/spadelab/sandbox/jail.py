"""One running jail: the process, its control socket, and the children that it forks."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .backends import Launch
from .door import await_visitor, open_door
from .jobs import Limits, SandboxUnavailable
from .literals import parse_literal
from .zygote import MESSAGE, REPORT

_CREDENTIALS = struct.Struct("3i")
_ANSWER_SECONDS = 10.0
_START_SECONDS = 120.0
_RETIRED = 8


class JailDied(RuntimeError):
    """The zygote is gone or does not answer; the jail must be replaced."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended: wait status (-1: it never started), whether the zygote had to kill it."""

    status: int
    killed: bool
    cpu_seconds: float


class Jail:
    """A zygote under one backend. Raises SandboxUnavailable when it does not come up.

    `zygote` is its process number and `facts["uid"]` its user, both as the host's kernel sees them.
    """

    def __init__(self, launch: Launch) -> None:
        self.backend = launch.backend
        self.forks = 0
        self.dead = False
        self.zygote = 0
        self._next = 1
        self._retired: list[tuple[int, socket.socket]] = []
        self._lock = threading.Lock()
        self._launch = launch
        try:
            self._connect(launch)
        except OSError as error:
            raise SandboxUnavailable(f"{launch.backend}: {error}") from None
        try:
            self.facts = self._await_ready()
        except BaseException:
            self.close()
            raise

    def _connect(self, launch: Launch) -> None:
        if launch.door is None:
            self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with inside:
                try:
                    self._process = _start(launch, inside.fileno())
                except OSError:
                    self._control.close()
                    raise
            return
        with open_door(launch.door) as listener:
            self._process = _start(launch, subprocess.DEVNULL)
            try:
                self._control = await_visitor(listener, self._process, _START_SECONDS)
            except TimeoutError:
                self._stop()
                raise OSError(f"no answer in {_START_SECONDS:.0f} s") from None

    def _await_ready(self) -> dict[str, Any]:
        errors = self._process.stderr
        assert errors is not None
        self._control.settimeout(_START_SECONDS)
        # The kernel adds who wrote the message, in the host's own numbers.
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            message, ancillary, _, _ = self._control.recvmsg(65536, socket.CMSG_SPACE(_CREDENTIALS.size))
        except TimeoutError:
            raise SandboxUnavailable(f"{self.backend}: no answer in {_START_SECONDS:.0f} s") from None
        with errors:
            if not message:
                text = errors.read(65536).decode("utf-8", "replace")
                lines = [line for line in text.splitlines() if line.strip() and "--help" not in line]
                reason = (lines or ["no reason given"])[-1].removeprefix(f"{self.backend}: ")
                raise SandboxUnavailable(f"{self.backend}: {reason}")
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        self._control.settimeout(_ANSWER_SECONDS)
        self.zygote, user, _ = _CREDENTIALS.unpack(ancillary[0][2])
        _offer(self.zygote)
        if user == 0 and self.backend != "unsafe":
            raise SandboxUnavailable(f"{self.backend}: the jail still runs as root")
        facts: Any = parse_literal(message.decode())
        return {**facts, "uid": user}

    def spawn(self, limits: Limits, count: int = 1) -> list[tuple[int, socket.socket]]:
        """Fork children under `limits`; their numbers and the host's ends of their channels.

        Raises JailDied, and SandboxUnavailable when this process has no descriptors left. At most 8 at once,
        since a zygote may have few.
        """
        try:
            pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(count)]
        except OSError as error:
            raise SandboxUnavailable(f"no channel for another program: {error}; see ulimit -n") from None
        with self._lock:
            first = self._next
            self._next += count
            message = self._compose(b"S", first, limits.cpu_seconds, limits.memory_mb)
            try:
                socket.send_fds(self._control, [message], [theirs.fileno() for _, theirs in pairs])
            except OSError as error:
                self.dead = True
                for ours, _ in pairs:
                    ours.close()
                raise JailDied(str(error)) from None
            finally:
                for _, theirs in pairs:
                    theirs.close()
                self._forget()
            self.forks += count
        for ours, _ in pairs:
            ours.setblocking(False)
        return [(first + index, ours) for index, (ours, _) in enumerate(pairs)]

    def retire(self, number: int, channel: socket.socket) -> None:
        """Kill a child that has done its work, at the latest with the next `settle`.

        Its channel is closed only then: the child would wake up to see the end of it.
        """
        if self.dead:
            channel.close()
            return
        with self._lock:
            self._retired.append((number, channel))
        if len(self._retired) >= _RETIRED:
            self.settle()

    @property
    def retired(self) -> int:
        """Children that are to be killed with the next message."""
        return len(self._retired)

    def settle(self) -> None:
        """Kill the retired children."""
        with self._lock:
            if self._retired:
                with contextlib.suppress(OSError):
                    self._control.send(self._compose(b"K", 0))
                self._forget()

    def kill(self, number: int) -> None:
        """Kill a child without waiting for it."""
        with self._lock, contextlib.suppress(OSError):
            self._control.send(MESSAGE.pack(b"K", number, 0.0, 0))

    def _compose(self, operation: bytes, number: int, cpu_seconds: float = 0.0, memory_mb: int = 0) -> bytes:
        """A control message that also names the retired children."""
        numbers = [number for number, _ in self._retired]
        head = MESSAGE.pack(operation, number, cpu_seconds, memory_mb)
        return head + struct.pack(f"<{len(numbers)}Q", *numbers)

    def _forget(self) -> None:
        for _, channel in self._retired:
            channel.close()
        self._retired.clear()

    def end(self, number: int) -> Ending:
        """Kill a child if it still runs, and learn how it ended. Raises JailDied."""
        with self._lock:
            try:
                self._control.send(MESSAGE.pack(b"W", number, 0.0, 0))
                while True:  # an interrupted earlier question may have left its answer behind
                    message = self._control.recv(REPORT.size)
                    if len(message) != REPORT.size:
                        raise ConnectionError("the zygote is gone")
                    answered, status, killed, seconds = REPORT.unpack(message)
                    if answered == number:
                        # One that was on its way out, but slowly, keeps the end that it had chosen.
                        killed = killed and os.WTERMSIG(status) == signal.SIGKILL
                        return Ending(status, bool(killed), seconds)
            except OSError as error:
                self.dead = True
                raise JailDied(str(error)) from None

    def is_alive(self) -> bool:
        """Whether the zygote is there, without asking it."""
        if self.dead or self._process.poll() is not None:
            self.dead = True
        return not self.dead

    def close(self) -> None:
        """End the zygote and every child; returns when they are gone."""
        self.dead = True
        self._forget()
        self._control.close()  # the zygote leaves when its socket ends, and takes its children along
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._stop()
        if self._process.stderr:
            self._process.stderr.close()

    def _stop(self) -> None:
        if self._launch.stop:
            subprocess.run(self._launch.stop, capture_output=True, env=self._launch.environment, check=False)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # a container's user may be another
            os.kill(self.zygote or self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()


def _start(launch: Launch, control: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        launch.command,
        stdin=control,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=launch.environment,
        cwd="/",
        start_new_session=True,
    )
    _offer(process.pid)
    return process


def _offer(pid: int) -> None:
    """When the machine runs out of memory, the system shall end a program and never the host.

    What the process starts inherits this, and the largest is taken first. Where the system does not allow
    it, its own choice remains.
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
