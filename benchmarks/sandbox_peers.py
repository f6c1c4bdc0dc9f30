"""The sandbox beside other ways to run a program: `python benchmarks/sandbox_peers.py [--rounds N]`.

All of them run the same program, two at a time, in bursts that alternate within one run, so that other
load on the machine hits every one. The pool of Absolute Zero's executor needs pebble; it is not a
requirement of this project: `--pebble FOLDER` names the site-packages that hold it.
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


def measure_commands(command: list[str], count: int) -> float:
    """Processes a second, a new one for each program."""

    def start(_: int) -> None:
        assert subprocess.run(command, check=True, capture_output=True).stdout == b"2\n"

    began = time.perf_counter()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(start, range(count)))
    return count / (time.perf_counter() - began)


def measure_sandbox(sandbox: Sandbox, count: int) -> float:
    """Programs a second, a fresh jailed process each."""
    began = time.perf_counter()
    results = sandbox.map([Job(SOURCE, (Call("f", "1"),))] * count)
    assert all(outcome.value == "2" for (outcome,) in results)
    return count / (time.perf_counter() - began)


def measure_pool(pool: multiprocessing.pool.Pool, count: int) -> float:
    """Programs a second in two processes that stay, without a wall."""
    began = time.perf_counter()
    assert pool.map(execute, [SOURCE] * count, chunksize=1) == ["2"] * count
    return count / (time.perf_counter() - began)


def measure_pebble(folder: str) -> Callable[[], float] | None:
    """As Absolute Zero runs programs: pebble's pool with a time-out; None where there is no pebble."""
    sys.path.append(folder)
    try:
        from pebble import ProcessPool
    except ImportError:
        return None
    pool = ProcessPool(max_workers=2)

    def measure(count: int = 1000) -> float:
        began = time.perf_counter()
        futures = [pool.schedule(execute, args=[SOURCE], timeout=10) for _ in range(count)]
        assert [future.result() for future in futures] == ["2"] * count
        return count / (time.perf_counter() - began)

    return measure


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pebble", default="", metavar="FOLDER")
    options = parser.parse_args()
    python = [interpreter(), "-I", "-S", "-c", BARE]
    with Sandbox(options.backend) as sandbox, multiprocessing.get_context("spawn").Pool(2) as pool:
        ways: dict[str, Callable[[], float] | None] = {
            "this sandbox": lambda: measure_sandbox(sandbox, 400),
            "bubblewrap and python -S -c": lambda: measure_commands([find_bwrap()[0], *BWRAP, *python], 40),
            "python -S -c, no wall": lambda: measure_commands(python, 60),
            "multiprocessing.Pool(2), no wall": lambda: measure_pool(pool, 1000),
            "pebble.ProcessPool(2), no wall": measure_pebble(options.pebble),
        }
        for name in [name for name, way in ways.items() if way is None]:
            print(f"{name}: not installed, left out (see --help)")
        measures = {name: way for name, way in ways.items() if way is not None}
        for way in measures.values():
            way()
        rounds = [{name: way() for name, way in measures.items()} for _ in range(options.rounds)]
        print(f"{sandbox.backend}, {sandbox.workers} jails, load {os.getloadavg()[0]:.1f}")
    print(f"{'':34} {'programs/s':>10}   this sandbox is so many times as fast")
    for name in measures:
        rates = [figures[name] for figures in rounds]
        ratios = [figures["this sandbox"] / figures[name] for figures in rounds]
        spread = f"{statistics.median(ratios):8.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name:34} {statistics.median(rates):10.1f} {spread}")


if __name__ == "__main__":
    main()
