"""The sandbox under strain: many hostile programs, jails that die, memory that is short."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from spadelab.sandbox import Call, Job, Limits, Sandbox

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "endurance.py"
HONEST = "def f(x):\n    return x + 1\n"
PATIENT = Limits(wall_seconds=60, cpu_seconds=60)
WORKING = "def f(x):\n    for _ in range(20_000_000):\n        pass\n    return x\n"


@pytest.fixture(scope="module")
def endurance() -> ModuleType:
    spec = importlib.util.spec_from_file_location("endurance", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_two_thousand_programs_and_dying_jails(endurance: ModuleType) -> None:
    with Sandbox(workers=2, canaries=False) as sandbox:
        report = endurance.endure(sandbox, 2000, kill_every=1.0)
    assert report.wrong == []
    assert report.executions == sum(report.seen.values()) == 2000
    assert len(report.seen) == len(endurance.HONEST) + len(endurance.HOSTILE)
    assert report.killed
    before, after = report.before, report.after
    assert after.descriptors <= before.descriptors + 4 and after.processes <= before.processes + 4
    assert after.host_mb <= before.host_mb + 8 and after.jail_mb <= before.jail_mb + 4
    assert after.files == 0


def zygotes() -> list[psutil.Process]:
    """The zygotes of this process, jails of their own included."""
    found = []
    for process in psutil.Process().children(recursive=True):
        parent = process.parent()
        if process.name() != "bwrap" and parent is not None and parent.name() == "bwrap":
            found.append(process)
    return found


@contextmanager
def killing(times: int) -> Iterator[None]:
    """Kill the youngest zygote while it works, so many times, each one once."""
    killed: set[int] = set()
    end = threading.Event()

    def work() -> None:
        while len(killed) < times and not end.wait(0.02):
            for process in zygotes():
                if process.pid not in killed and process.children():
                    time.sleep(0.1)
                    killed.add(process.pid)
                    os.kill(process.pid, signal.SIGKILL)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_a_program_that_takes_two_jails_along_is_to_blame() -> None:
    with Sandbox("bubblewrap", workers=1, canaries=False) as sandbox:
        calls = (Call("f", "1"), Call("f", "2"))
        with killing(2):
            (outcomes,) = sandbox.map([Job(WORKING, calls, PATIENT)])
        assert {(o.kind, o.error) for o in outcomes[-1:]} == {("crash", "jail died")}
        assert len(outcomes) == 2 and sandbox.executions == 1
        with killing(1):
            results = sandbox.map([Job(WORKING, calls, PATIENT)] + [Job(HONEST, (Call("f", "1"),))] * 20)
        assert [[o.value for o in outcomes] for outcomes in results] == [["1", "2"], *[["2"]] * 20]
        assert sandbox.executions == 22


def test_a_session_says_when_its_jail_died() -> None:
    with Sandbox(workers=1, canaries=False) as sandbox, sandbox.open(HONEST) as child:
        assert child.call(Call("f", "1")).value == "2"
        jail = sandbox._pool.first
        os.kill(jail.zygote, signal.SIGKILL)
        while jail.is_alive():
            time.sleep(0.01)
        assert child.call(Call("f", "1")).kind == "jail_died"
        assert child.call(Call("f", "1")).kind == "jail_died"
        with sandbox.open(HONEST) as other:
            assert other.call(Call("f", "1")).value == "2"


def test_a_worn_jail_is_replaced_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spadelab.sandbox.pool.RECYCLE_AFTER", 40)
    with Sandbox(workers=2, canaries=False) as sandbox, sandbox.open(HONEST) as child:
        first = sandbox._pool.jails()
        for _ in range(8):
            assert [o.value for (o,) in sandbox.map([Job(HONEST, (Call("f", "1"),))] * 50)] == ["2"] * 50
            time.sleep(0.1)
        later = sandbox._pool.jails()
        assert len(later) == 2 and not set(first) & set(later)
        assert child.call(Call("f", "1")).value == "2"  # its jail waits for it


GREEDY = """
def f(megabytes):
    block = b'x' * (megabytes << 20)
    return len(block) >> 20
"""


@contextmanager
def weighing() -> Iterator[list[float]]:
    """The mebibytes that the children of all jails held together, again and again."""
    seen: list[float] = []
    end = threading.Event()

    def work() -> None:
        while not end.wait(0.02):
            total = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    total += max(0, process.memory_info().rss - (32 << 20))
                except psutil.NoSuchProcess:
                    continue
            seen.append(total / 2**20)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield seen
    finally:
        end.set()
        thread.join()


def test_programs_wait_for_memory() -> None:
    limits = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=250)
    job = Job(GREEDY, (Call("f", "200"),), limits)
    with Sandbox(workers=8, canaries=False, memory_mb=600) as sandbox:
        with weighing() as seen:
            results = sandbox.map([job] * 16)
        assert [o.value for (o,) in results] == ["200"] * 16
        assert 150 < max(seen) < 650  # two at a time, and one that is just going
        answers: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda: answers.append([o.value for (o,) in sandbox.map([job] * 2)]))
            for _ in range(3)
        ]
        with weighing() as seen:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert answers == [["200"] * 2] * 3 and max(seen) < 650


def test_sessions_count_with_what_they_hold() -> None:
    with Sandbox(workers=2, canaries=False, memory_mb=600) as sandbox:
        limits = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=250)
        opened = [child for child, _ in sandbox.open_many([Job(GREEDY, (), limits)] * 24)]
        with weighing() as seen:
            outcomes = sandbox.call_many([(child, Call("f", "120")) for child in opened[:6]])
        assert [o.value for o in outcomes] == ["120"] * 6 and max(seen) < 400
        assert {o.value for o in sandbox.call_many([(child, Call("f", "0")) for child in opened])} == {"0"}
        for child in opened:
            child.close()


def test_a_program_larger_than_the_budget_runs_alone() -> None:
    with Sandbox(workers=2, canaries=False, memory_mb=100) as sandbox:
        results = sandbox.map([Job(HONEST, (Call("f", "1"),))] * 5)
        assert [o.value for (o,) in results] == ["2"] * 5
        assert sandbox.facts()["memory_mb"] == 100


PRESSED = """
import os, sys
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from spadelab.sandbox import Call, Job, Limits, Sandbox
from spadelab.sandbox.capacity import read_memory
def job(limit, wanted):
    source = "def f(n):\\n    return len(b'x' * (n << 20)) >> 20\\n"
    return Job(source, (Call("f", str(wanted)),), Limits(60, 60, limit))
with Sandbox(workers=4, canaries=False) as sandbox:
    print(read_memory().total, sandbox.facts()["memory_mb"])
    print([o.value for (o,) in sandbox.map([job(150, 120)] * 4)])
    print([o.kind + o.value for (o,) in sandbox.map([job(2000, 900), *[job(100, 1)] * 4, job(2000, 900)])])
    print([o.value for (o,) in sandbox.map([job(150, 120)] * 2)])
"""


@contextmanager
def confined(megabytes: int) -> Iterator[Path]:
    """A control group with a bound on memory."""
    for base, limit in ((Path("/sys/fs/cgroup/memory"), "limit_in_bytes"), (Path("/sys/fs/cgroup"), "max")):
        folder = base / f"spadelab-test-{os.getpid()}"
        try:
            folder.mkdir()
            (folder / f"memory.{limit}").write_text(str(megabytes << 20))
        except OSError:
            if folder.is_dir():
                folder.rmdir()
            continue
        try:
            yield folder
        finally:
            for _ in range(100):  # what was killed leaves a moment later
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)
        return
    pytest.skip("this user may not make control groups with a bound on memory")


def test_when_the_system_takes_memory_back_the_run_goes_on() -> None:
    with confined(500) as folder:
        result = subprocess.run(
            [sys.executable, "-c", PRESSED, str(folder)],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "500 250",
        str(["120"] * 4),
        str(["memory", *["value1"] * 4, "memory"]),
        str(["120"] * 2),
    ]
