"""The trusted process inside the jail: imports, locks itself in, then forks one child per program.

Single-threaded, standard library only, and little of that: each page costs every fork. It reads its
control socket (descriptor 0) and never a byte from a child. Control messages: an operation letter, a
child's number, limits, and the numbers of children that have done their work and are to be killed. "S"
starts a child under the limits for each descriptor that comes along, the child's end of a channel to the
host, numbered from the given number on. "K" kills a child, "W" kills it and reports how it ended.
"""

from __future__ import annotations

import _signal as signal  # the public modules make enumerations of everything: hundreds of pages
import _socket
import copyreg  # noqa: F401 - C code asks for it when an object is taken apart
import gc
import os
import resource
import select
import struct
import sys
import time
from _json import encode_basestring_ascii as _quote

from . import kernel
from .chance import Chance
from .runner import Program, Stage

TYPE_CHECKING = False  # as `typing` has it, which is large
if TYPE_CHECKING:
    from typing import Any

CHANNEL = 3
OUT_OF_MEMORY = 97
NOBODY = 65534
QUIET_MS = 10
MAX_START = 8
MESSAGE = struct.Struct("<cQdI")
_NUMBER = struct.Struct("<Q")
_DESCRIPTOR = struct.Struct("i")
_ROOM_FOR_DESCRIPTORS = _socket.CMSG_LEN(_DESCRIPTOR.size * MAX_START)
REPORT = struct.Struct("<QiBd")


def main(config: dict[str, Any]) -> None:
    """Start the zygote: what `config` holds is said in `backends.configure`."""
    # It would run in every child, at a tenth of its price: `random` would seed itself anew, which `Chance`
    # does, and others would look after threads that never are.
    os.register_at_fork = lambda **_: None
    control = _socket.socket(fileno=0)
    null = os.open("/dev/null", os.O_RDWR)
    chance = Chance()
    if config["bare"]:
        if sys.version_info >= (3, 12):
            import _pylong  # noqa: F401 - C code asks for it with very large integers
        chance.install()
    else:
        from . import preload

        preload.load_modules()
        chance.install()  # before the packages, which make generators for themselves
        preload.load_packages(config["packages"], config["roots"])
    facts: dict[str, Any] = {"python": sys.version.split()[0]}
    child_filter = None
    if config["filters"]:
        outer, inner = config["filters"]
        facts["dropped"] = kernel.drop_root(NOBODY)
        kernel.forbid_new_privileges()
        kernel.forbid_inspection()
        facts["landlock"] = kernel.restrict_files()
        kernel.Filter(outer).install()
        child_filter = kernel.Filter(inner)
    lifeline = kernel.Lifeline()
    if not config["container"]:  # there the parent is a thread of the engine, whose end means nothing
        lifeline.tie()  # a change of user would have undone it
    stage = Stage(frozenset(config["allowed"]))
    sys.argv.clear()
    sys.orig_argv.clear()
    rehearse(stage, 20)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # for the children: they inherit it
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    size = kernel.measure_address_space()
    chance.settle()
    gc.collect()
    gc.freeze()
    kernel.trim_memory()
    control.send(repr(facts).encode())
    os.dup2(null, 2)
    Zygote(control, null, stage, chance, size, lifeline, child_filter).serve()


def rehearse(stage: Stage, times: int) -> None:
    """Run a small program and forget it, so that what comes after finds warm code and writable pages."""
    names = set(stage.module.__dict__)
    out, errors = sys.stdout, sys.stderr
    for _ in range(times):
        program = Program("def f(x, y):\n    return [x, *y]\n", 1000, stage)
        encode_reply(program.load())
        encode_reply(program.call("", "f", "1, [2]", ""))
    sys.stdout, sys.stderr = out, errors
    for name in set(stage.module.__dict__) - names:
        del stage.module.__dict__[name]


class Zygote:
    """The fork server."""

    def __init__(
        self,
        control: _socket.socket,
        null: int,
        stage: Stage,
        chance: Chance,
        size: int,
        lifeline: kernel.Lifeline,
        child_filter: kernel.Filter | None,
    ) -> None:
        self.control = control
        self.null = null
        self.child_filter = child_filter
        self.stage = stage
        self.chance = chance
        self.lifeline = lifeline
        self.size = size
        self.pid = os.getpid()
        self.children: dict[int, int] = {}
        self.dying: list[int] = []
        self.arrival = select.poll()
        self.arrival.register(CHANNEL, select.POLLIN)

    def serve(self) -> None:
        """Answer control messages until the host closes the socket."""
        while True:
            message, ancillary, _, _ = self.control.recvmsg(
                4096, _socket.CMSG_LEN(_DESCRIPTOR.size * MAX_START)
            )
            if not message:
                os._exit(0)
            operation, number, cpu_seconds, memory_mb = MESSAGE.unpack_from(message)
            for (retired,) in _NUMBER.iter_unpack(message[MESSAGE.size :]):
                self._kill(retired)
            if operation == b"S":
                sent = b"".join(data for _, _, data in ancillary)
                for offset, (descriptor,) in enumerate(_DESCRIPTOR.iter_unpack(sent)):
                    self._fork(number + offset, descriptor, cpu_seconds, memory_mb)
            elif operation == b"K":
                self._kill(number)
            elif operation == b"W":
                self.control.send(REPORT.pack(number, *self._wait(number)))
            self.dying = [pid for pid in self.dying if os.waitpid(pid, os.WNOHANG)[0] == 0]

    def _fork(self, number: int, channel: int, cpu_seconds: float, memory_mb: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            os.close(channel)  # the host sees the end of the channel and asks
            return
        if pid == 0:
            try:
                self._become_child(channel, cpu_seconds, memory_mb)
            finally:
                os._exit(70)
        os.close(channel)
        self.children[number] = pid

    def _kill(self, number: int) -> None:
        pid = self.children.pop(number, 0)
        if pid:
            os.kill(pid, signal.SIGKILL)
            self.dying.append(pid)

    def _wait(self, number: int) -> tuple[int, bool, float]:
        """(wait status or -1 for a child that never was, whether we killed it, CPU seconds)."""
        pid = self.children.pop(number, 0)
        if not pid:
            return -1, False, 0.0
        for _ in range(20):  # a child closes its channel a moment before it can be waited for
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                return status, False, usage.ru_utime + usage.ru_stime
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        return status, True, usage.ru_utime + usage.ru_stime

    def _become_child(self, channel: int, cpu_seconds: float, memory_mb: int) -> None:
        self.lifeline.tie()
        if os.getppid() != self.pid:
            os._exit(0)
        for descriptor in (0, 1, 2):
            os.dup2(self.null, descriptor)
        os.dup2(channel, CHANNEL)  # last: the null device may itself be number 3
        os.closerange(CHANNEL + 1, 65536)
        _set_limits(cpu_seconds, self.size + (memory_mb << 20))
        if self.child_filter:
            self.child_filter.install()
        # In a quiet moment the pages that a program needs are paid for before it comes. In a run of many
        # programs one comes sooner, and a rehearsal would only be more work.
        if not self.arrival.poll(QUIET_MS):
            rehearse(self.stage, 1)
        try:
            _serve_program(self.stage, self.chance)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def _serve_program(stage: Stage, chance: Chance) -> None:
    source, stream, output_bytes, *calls = _read_request()
    if int(stream):  # stream 0 began in the zygote
        chance.begin(int(stream))
    program = Program(source, int(output_bytes), stage)
    reply = program.load()
    if reply["kind"] != "value" or not calls:  # else the first call's answer says that it went well
        _write_frame(reply)
    while reply["kind"] == "value":
        for start in range(0, len(calls), 4):
            _write_frame(program.call(*calls[start : start + 4]))
        calls = _read_request()


def _set_limits(cpu_seconds: float, memory: int) -> None:
    seconds = int(max(1, -(-cpu_seconds // 1)))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _read_request() -> list[str]:
    frame = _read(int.from_bytes(_read(4), "little"))
    texts: list[str] = []
    start = 0
    while start < len(frame):
        end = start + 4 + int.from_bytes(frame[start : start + 4], "little")
        texts.append(frame[start + 4 : end].decode())
        start = end
    return texts


def _read(length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part = os.read(CHANNEL, min(length, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _write_frame(reply: dict[str, Any]) -> None:
    payload = encode_reply(reply)
    view = memoryview(len(payload).to_bytes(4, "little") + payload)
    while view:
        view = view[os.write(CHANNEL, view) :]


def encode_reply(reply: dict[str, Any]) -> bytes:
    """A reply as JSON, by hand: `json` is large."""
    fields = [f'"{name}":{_quote(text)}' for name, text in reply.items() if name != "trace"]
    if reply.get("trace"):
        entries = ",".join(f"[{_quote(line)},{_quote(values)}]" for line, values in reply["trace"])
        fields.append(f'"trace":[{entries}]')
    return ("{" + ",".join(fields) + "}").encode()
