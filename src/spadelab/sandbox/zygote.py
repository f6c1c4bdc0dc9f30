"""The trusted process inside the jail: imports, locks itself in, then forks one child per program.

Single-threaded, standard library only. It reads its control socket (descriptor 0) and never a byte
from a child. Control messages: an operation letter, a child's number, limits, and the numbers of children
that have done their work and are to be killed. "S" starts a child under the limits for each descriptor
that comes along, the child's end of a channel to the host, numbered from the given number on. "K" kills
a child, "W" kills it and reports how it ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

from . import kernel
from .runner import Program, Stage

if TYPE_CHECKING:
    from .chance import Chance

CHANNEL = 3
OUT_OF_MEMORY = 97
NOBODY = 65534
QUIET_MS = 10
MAX_START = 8
# What a light zygote has: little beyond what the zygote needs itself. Every page and mapping costs each fork.
LIGHT_MODULES = """
    abc array bisect collections collections.abc contextlib copy datetime enum functools heapq itertools
    json keyword math numbers operator random re string struct types typing
"""
_HEAVY_MODULES = """base64 calendar cmath dataclasses decimal fractions graphlib hashlib pprint statistics
    textwrap unicodedata"""
STANDARD_MODULES = LIGHT_MODULES + _HEAVY_MODULES
# Text without any of these needs no heavy module: the last two are how C code asks for one.
HEAVY_WORDS = (*_HEAVY_MODULES.split(), "strptime", "\\N{")
_NOT_NEEDED = """
    benchmarks conftest distutils f2py plotting interactive testing typing setup __main__ code_generators
    codegen parsing physics stats galgebra external printing _pyinstaller sandbox this random_matrix
"""
_decode = json.JSONDecoder().raw_decode
_quote = json.encoder.encode_basestring_ascii
MESSAGE = struct.Struct("<cQdI")
_NUMBER = struct.Struct("<Q")
REPORT = struct.Struct("<QiBd")


def main(config: dict[str, Any]) -> None:
    """Start the zygote. `config`: modules, filters (hex), confine (False only for "unsafe")."""
    # It would run in every child, at a tenth of its price: `random` would seed itself anew, which `Chance`
    # does, and others would look after threads that never are.
    os.register_at_fork = lambda **_: None
    from .chance import Chance  # which imports `random`

    control = socket.socket(fileno=0)
    null = os.open("/dev/null", os.O_RDWR)
    sys.modules["_hashlib"] = None  # type: ignore[assignment]  # OpenSSL is large, slow to fork
    modules = LIGHT_MODULES if config.get("light") else STANDARD_MODULES + " _strptime"
    for name in (*modules.split(), "__future__"):
        importlib.import_module(name)
    chance = Chance()
    chance.install()
    sys.meta_path.append(PackageFinder(config["roots"]))
    for name in config["packages"]:
        import_whole(name)
    facts: dict[str, Any] = {"python": sys.version.split()[0]}
    child_filter = None
    if config["confine"]:
        facts["dropped"] = kernel.drop_root(NOBODY)
        kernel.forbid_new_privileges()
        kernel.forbid_inspection()
        facts["landlock"] = kernel.restrict_files()
        kernel.Filter(bytes.fromhex(config["zygote_filter"])).install()
        child_filter = kernel.Filter(bytes.fromhex(config["child_filter"]))
    lifeline = kernel.Lifeline()
    if not config.get("container"):  # there the parent is a thread of the engine, whose end means nothing
        lifeline.tie()  # a change of user would have undone it
    allowed = frozenset(name.partition(".")[0] for name in (*STANDARD_MODULES.split(), *config["packages"]))
    stage = Stage(allowed | {"__future__"})
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
    control.send(json.dumps(facts).encode())
    os.dup2(null, 2)
    Zygote(control, null, stage, chance, size, lifeline, child_filter).serve()


class PackageFinder:
    """Finds the allowed packages and what they require, and nothing that lies beside them."""

    def __init__(self, roots: dict[str, str]) -> None:
        self.roots = roots

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """The protocol of sys.meta_path."""
        folder = self.roots.get(name)
        return PathFinder.find_spec(name, [folder]) if path is None and folder else None


def import_whole(package: str) -> None:
    """Import a package with its submodules: children cannot open files, so nothing loads later."""
    import pkgutil  # large, and wanted here only

    try:
        module = importlib.import_module(package)
    except ImportError as error:
        reason = " ".join(str(error).split())
        sys.exit(f"sandbox.allowed_packages: {package} cannot be imported in the jail ({reason[:300]})")
    skipped = frozenset(_NOT_NEEDED.split())
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), package + ".", lambda name: None):
        parts = found.name.split(".")
        if any(part in skipped or part.startswith(("test", "_pytest")) for part in parts):
            continue
        with contextlib.suppress(Exception):  # a part that does not load here is a part less
            importlib.import_module(found.name)


def rehearse(stage: Stage, times: int) -> None:
    """Run a small program and forget it, so that what comes after finds warm code and writable pages."""
    names = set(stage.module.__dict__)
    out, errors = sys.stdout, sys.stderr
    text = '{"id": "", "function": "f", "arguments": "1, [2]", "trace": false}'
    for _ in range(times):
        program = Program("def f(x, y):\n    return [x, *y]\n", 1000, stage)
        encode_reply(program.load())
        encode_reply(program.call(_decode(text, 0)[0]))
    sys.stdout, sys.stderr = out, errors
    for name in set(stage.module.__dict__) - names:
        del stage.module.__dict__[name]


class Zygote:
    """The fork server."""

    def __init__(
        self,
        control: socket.socket,
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
            message, descriptors, _, _ = socket.recv_fds(self.control, 4096, MAX_START)
            if not message:
                os._exit(0)
            operation, number, cpu_seconds, memory_mb = MESSAGE.unpack_from(message)
            for (retired,) in _NUMBER.iter_unpack(message[MESSAGE.size :]):
                self._kill(retired)
            if operation == b"S":
                for offset, descriptor in enumerate(descriptors):
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
            _serve_program(_read_frame(), self.stage, self.chance)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def _serve_program(request: dict[str, Any], stage: Stage, chance: Chance) -> None:
    if request["stream"]:  # stream 0 began in the zygote
        chance.begin(request["stream"])
    program = Program(request["source"], request["output_bytes"], stage)
    reply = program.load()
    _write_frame(reply)
    while reply["kind"] == "value":
        for call in request["calls"]:
            _write_frame(program.call(call))
        request = _read_frame()


def _set_limits(cpu_seconds: float, memory: int) -> None:
    seconds = int(max(1, -(-cpu_seconds // 1)))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _read_frame() -> dict[str, Any]:
    length = int.from_bytes(_read(4), "little")
    return _decode(_read(length).decode(), 0)[0]  # type: ignore[no-any-return]


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
    """A reply as JSON, by hand: the general encoder touches many more pages."""
    fields = [f'"{name}":{_quote(text)}' for name, text in reply.items() if name != "trace"]
    if reply.get("trace"):
        entries = ",".join(f"[{_quote(line)},{_quote(values)}]" for line, values in reply["trace"])
        fields.append(f'"trace":[{entries}]')
    return ("{" + ",".join(fields) + "}").encode()
