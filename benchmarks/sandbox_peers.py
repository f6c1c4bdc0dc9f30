"""The sandbox beside other ways to run a program: `python benchmarks/sandbox_peers.py [--rounds N]`.

All of them run the same program in bursts that alternate within one run, so that other load on the machine
hits every one. New processes run two at a time; the sandbox has four programs in flight, two for each jail,
and a pool is measured with four in flight and with the whole list at once. Absolute Zero's own executor is
measured where `--azr FOLDER...` names a checkout of it and what else it needs on the path (pebble,
timeout-decorator, regex, tqdm).
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.pool
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from spadelab.sandbox import Call, Job, Sandbox
from spadelab.sandbox.backends import find_bwrap, interpreter

SOURCE = "def f(x):\n    return x + 1\n"
BARE = "exec('''def f(x):\n    return x + 1\n'''); print(f(1))"
BWRAP = ("--unshare-all", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--")


def execute(source: str) -> str:
    """What the pools without a wall do with a program, in a process that stays."""
    names: dict[str, object] = {}
    exec(source, names)
    return repr(eval("f(1)", names))


@dataclass(frozen=True)
class Way:
    """A way to run programs: `burst` runs so many, `one` a single one."""

    name: str
    count: int
    burst: Callable[[int], None]
    one: Callable[[], None]

    def measure(self) -> tuple[float, float]:
        """Programs a second in a burst, and the median milliseconds of single ones, with pauses."""
        began = time.perf_counter()
        self.burst(self.count)
        rate = self.count / (time.perf_counter() - began)
        seconds = []
        for _ in range(15):
            time.sleep(0.015)
            began = time.perf_counter()
            self.one()
            seconds.append(time.perf_counter() - began)
        return rate, 1000 * statistics.median(seconds)


def use_commands(name: str, command: list[str], count: int) -> Way:
    """A new process for each program."""

    def start(_: int = 0) -> None:
        assert subprocess.run(command, check=True, capture_output=True).stdout == b"2\n"

    def burst(count: int) -> None:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(start, range(count)))

    return Way(name, count, burst, start)


def use_sandbox(sandbox: Sandbox) -> Way:
    """A fresh jailed process for each program."""
    job = Job(SOURCE, (Call("f", "1"),))

    def burst(count: int) -> None:
        assert all(outcome.value == "2" for (outcome,) in sandbox.map([job] * count))

    return Way("this sandbox", 400, burst, lambda: burst(1))


def use_pool(pool: multiprocessing.pool.Pool) -> list[Way]:
    """Two processes that stay, without a wall: four askers who each wait, and a list at once."""

    def ask(_: int = 0) -> None:
        assert pool.apply(execute, (SOURCE,)) == "2"

    def burst(count: int) -> None:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(ask, range(count)))

    def burst_list(count: int) -> None:
        assert pool.map(execute, [SOURCE] * count, chunksize=1) == ["2"] * count

    return [
        Way("multiprocessing.Pool(2), 4 in flight", 1000, burst, ask),
        Way("multiprocessing.Pool(2), lists", 1000, burst_list, ask),
    ]


def use_azr(folders: list[str]) -> list[Way]:
    """Absolute Zero's executor with two workers: a list of programs in one call, and as its trainer uses it,
    a call for each program. Nothing where no folder is given.
    """
    if not folders:
        return []
    sys.path += folders
    from absolute_zero_reasoner.utils.code_utils.python_executor import PythonExecutor

    executor = PythonExecutor(max_workers=2)
    snippet = SOURCE + "f(1)"

    def burst(count: int) -> None:
        for _ in range(count // 100):  # beyond that it draws a progress bar
            assert executor.batch_apply([snippet] * 100) == [("2", "Done")] * 100

    def one(count: int = 1) -> None:
        for _ in range(count):
            assert executor.apply(snippet) == ("2", "Done")

    burst(100)
    return [
        Way("Absolute Zero's executor, lists", 1000, burst, one),
        Way("Absolute Zero's executor, single", 400, one, one),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--azr", nargs="+", default=[], metavar="FOLDER")
    options = parser.parse_args()
    python = [interpreter(), "-I", "-S", "-c", BARE]
    with Sandbox(options.backend) as sandbox, multiprocessing.get_context("spawn").Pool(2) as pool:
        ways = [
            use_sandbox(sandbox),
            use_commands("bubblewrap and python -S -c", [find_bwrap()[0], *BWRAP, *python], 40),
            use_commands("python -S -c, no wall", python, 60),
            *use_pool(pool),
            *use_azr(options.azr),
        ]
        for way in ways:
            way.measure()
        rounds = [[way.measure() for way in ways] for _ in range(options.rounds)]
        print(f"{sandbox.backend}, {sandbox.workers} jails, load {os.getloadavg()[0]:.1f}")
    print(f"{'':37} {'programs/s':>10} {'the sandbox is so many times as fast':>38} {'ms for one':>11}")
    for index, way in enumerate(ways):
        rates = [figures[index][0] for figures in rounds]
        ratios = [figures[0][0] / figures[index][0] for figures in rounds]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        alone = statistics.median(figures[index][1] for figures in rounds)
        print(f"{way.name:37} {statistics.median(rates):10.0f} {spread:>38} {alone:11.2f}")


if __name__ == "__main__":
    main()
