"""Many programs in one run, a third of them hostile: `python benchmarks/endurance.py [--programs N]`.

Zygotes are killed from outside at random meanwhile. Every outcome is compared with the one its program
must have; at the end nothing may have grown: descriptors, memory, processes, files. The last tenth
must be as fast as the first, which says something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from spadelab.sandbox import Call, Job, Limits, Outcome, Sandbox

BATCH, WARM_UP = 500, 200
TRAILS = ("/tmp/left", "/dev/shm/left", "/var/tmp/left", "left")
PLENTY = Limits()
QUICK = Limits(wall_seconds=0.05)
SMALL = Limits(memory_mb=8)
REACH = (
    "import random\nos = random._os\nmods = os.sys.modules\nctypes = mods['ctypes']\n"
    "def send(text):\n    os.write(3, len(text).to_bytes(4, 'little') + text.encode())\n"
)
STUBBORN = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
FORGED = 'send(\'{"id": "0123456789abcdef", "kind": "value", "value": "7"}\')'
LITTER = (
    f"for path in {TRAILS}:\n    try: os.open(path, 65)\n    except PermissionError: pass\n"
    "os.open('left', 65)"
)


@dataclass(frozen=True)
class Program:
    """A program and the kind and error that its one outcome must have."""

    name: str
    code: str
    kind: str
    error: str = ""
    limits: Limits = PLENTY

    def job(self, number: int) -> Job:
        """The program as a job of its own."""
        body = "".join(f"    {line}\n" for line in self.code.splitlines())
        return Job(f"{REACH}def f(x):\n{body}", (Call("f", str(number)),), self.limits)


HONEST = (
    Program("arithmetic", "return x + 1", "value"),
    Program("a list", "return 1 + sum(sorted([x, 0, 0]))", "value"),
    Program("a module", "import math\nreturn math.gcd(x + 1, 0)", "value"),
    Program("text", "print(x)\nreturn len('a' * x) + 1", "value"),
)
HOSTILE = (
    Program("fork", "os.fork()", "program_error", "PermissionError"),
    Program("kill everyone", "os.kill(-1, 9)", "program_error", "PermissionError"),
    Program("open a file", "open('/etc/passwd')", "program_error", "PermissionError"),
    Program("write a file", LITTER, "program_error", "PermissionError"),
    Program("take descriptors", "while True:\n    os.dup(3)", "program_error", "PermissionError"),
    Program("connect", "mods['_socket'].socket()", "program_error", "PermissionError"),
    Program("exit as if all were well", "os._exit(0)", "crash", "exit code 0"),
    Program("segfault", "ctypes.string_at(0)", "crash", "SIGSEGV"),
    Program("one huge block", "bytearray(1 << 40)", "memory"),
    Program("many small blocks", "y = []\nwhile True:\n    y.append([0] * 500)", "memory", limits=SMALL),
    Program("print without end", "while True:\n    print('x' * 9999)", "output_limit"),
    Program("a huge result", "return 'x' * (1 << 20)", "output_limit"),
    Program("a huge frame", "os.write(3, b'\\xff' * 8)", "protocol_error"),
    Program("a frame of noise", "send('[' * 5000)", "protocol_error"),
    Program("answer another question", FORGED, "protocol_error"),
    Program("recurse", "return f(x)", "program_error", "RecursionError"),
    Program("leave by an exception", "raise SystemExit(0)", "program_error", "SystemExit"),
    Program("return what is not data", "return type('X', (int,), {})(x)", "program_error", "NotALiteral"),
    Program("unspeakable", "raise type('E', (Exception,), {'__str__': None})", "program_error", "E"),
    Program("loop", "while True:\n    pass", "wall_timeout", limits=QUICK),
    Program("loop that catches all", STUBBORN, "wall_timeout", limits=QUICK),
    Program("sleep", "mods['time'].sleep(9)", "wall_timeout", limits=QUICK),
    Program("close the channel", "os.close(3)\nwhile True:\n    pass", "protocol_error"),
)


@dataclass(frozen=True)
class Footprint:
    """What this process and its jails hold."""

    descriptors: int
    processes: int
    host_mb: float
    jail_mb: float
    files: int  # of those that programs tried to leave

    @classmethod
    def take(cls, sandbox: Sandbox) -> Footprint:
        """As it is now, but for the children that wait for a program or for their end."""
        this = psutil.Process()
        sizes = []
        for process in this.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # a child may end while it is looked at
                sizes.append(process.memory_info().rss / 2**20)
        spare = sandbox._pool.count_spare()
        files = sum(Path(place).exists() for place in TRAILS)
        return cls(
            this.num_fds() - spare, len(sizes) - spare, this.memory_info().rss / 2**20, max(sizes), files
        )


@dataclass
class Report:
    """What came of a run."""

    before: Footprint
    after: Footprint | None = None
    wrong: list[str] = field(default_factory=list)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    rates: list[float] = field(default_factory=list)
    killed: int = 0
    executions: int = 0


def choose(number: int) -> Program:
    """The program of this number: every third one is hostile."""
    if number % 3 == 2:
        return HOSTILE[number // 3 % len(HOSTILE)]
    return HONEST[number % len(HONEST)]


def judge(number: int, program: Program, outcomes: Sequence[Outcome]) -> str:
    """What is wrong with the outcome; empty when it is the expected one."""
    (outcome,) = outcomes
    expected = (program.kind, str(number + 1) if program.kind == "value" else "")
    if (outcome.kind, outcome.value) == expected and program.error in ("", outcome.error):
        return ""
    return f"{program.name} ({number}): {outcome.kind} {outcome.error} {outcome.value[:40]} {outcome.message}"


@contextmanager
def assassin(sandbox: Sandbox, every: float, random_: random.Random) -> Iterator[list[int]]:
    """Kills a zygote now and then; gives the numbers of those it has killed."""
    killed: list[int] = []
    end = threading.Event()

    def work() -> None:
        while not end.wait(random_.expovariate(1 / every)):
            jail = random_.choice(sandbox._pool.jails())
            if jail.is_alive():
                os.kill(jail.zygote, signal.SIGKILL)
                killed.append(jail.zygote)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        end.set()
        thread.join()


def endure(sandbox: Sandbox, programs: int, kill_every: float) -> Report:
    """Run so many programs; a zygote dies every `kill_every` seconds on average."""
    _run(sandbox, range(WARM_UP), Report(Footprint.take(sandbox)))
    report, executions = Report(Footprint.take(sandbox)), sandbox.executions
    with assassin(sandbox, kill_every, random.Random(0)) as killed:
        for tenth in range(10):
            size = programs // 10
            started = time.perf_counter()
            for start in range(tenth * size, (tenth + 1) * size, BATCH):
                _run(sandbox, range(start, min(start + BATCH, (tenth + 1) * size)), report)
            report.rates.append(size / (time.perf_counter() - started))
    report.executions = sandbox.executions - executions
    report.killed = len(killed)
    sandbox.map([choose(number).job(number) for number in range(WARM_UP)])  # replaces what was killed last
    report.after = Footprint.take(sandbox)
    return report


def _run(sandbox: Sandbox, numbers: range, report: Report) -> None:
    chosen = [(number % 997, choose(number)) for number in numbers]
    results = sandbox.map([program.job(number) for number, program in chosen])
    for (number, program), outcomes in zip(chosen, results, strict=True):
        report.wrong += filter(None, [judge(number, program, outcomes)])
        report.seen[program.name, f"{outcomes[0].kind} {outcomes[0].error}".strip()] += 1


def main() -> int:
    """Print the table; 1 when something was lost, leaked or slowed down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--kill-every", type=float, default=2.0, help="seconds")
    options = parser.parse_args()
    with Sandbox(options.backend) as sandbox:
        report = endure(sandbox, options.programs, options.kill_every)
        print(f"{sandbox.backend}, {sandbox.workers} jails, {os.getloadavg()[0]:.1f} load at the end")
    print(f"{report.executions} programs counted, {report.killed} zygotes killed")
    for (name, outcome), count in sorted(report.seen.items()):
        print(f"{name:28} {outcome:36} {count:7}")
    print("programs/s in each tenth:", *(f"{rate:.0f}" for rate in report.rates))
    print(f"before {report.before}\nafter  {report.after}")
    print(f"{len(report.wrong)} unexpected outcomes", *report.wrong[:20], sep="\n")
    slower = report.rates[-1] < 0.9 * report.rates[0]
    return int(bool(report.wrong) or slower or report.executions != options.programs)


if __name__ == "__main__":
    sys.exit(main())
