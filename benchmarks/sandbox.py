"""Measures the sandbox: `python benchmarks/sandbox.py [--backend NAME|URL] [--image IMAGE] [--rounds N]`.

Every figure that is compared is taken in bursts that alternate within one run, so that other load on
the machine hits both sides; medians over the rounds are printed with their spread.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from spadelab.sandbox import Call, Job, Sandbox, make_sandbox
from spadelab.sandbox.backends import find_bwrap, interpreter

TRIVIAL = "def f(x):\n    return x + 1\n"
COUNTER = (
    "n = 0\ndef step(action):\n    global n\n    n += 1\n    return 'you said ' + action, 0.0, n > 9, False\n"
)


def measure_baseline(count: int = 40) -> float:
    """Programs a second with a new bubblewrap and a new interpreter for each, two at a time."""
    command = [
        find_bwrap()[0],
        "--unshare-all",
        "--new-session",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--",
    ]
    command += [interpreter(), "-I", "-S", "-c", "print(1 + 1)"]

    def start(_: int) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    began = time.perf_counter()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(start, range(count)))
    return count / (time.perf_counter() - began)


def measure_programs(sandbox: Sandbox, count: int = 300) -> float:
    """Programs a second, a fresh jailed process each."""
    began = time.perf_counter()
    results = sandbox.map([Job(TRIVIAL, (Call("f", "1"),))] * count)
    assert all(outcome.value == "2" for (outcome,) in results)
    return count / (time.perf_counter() - began)


def measure_latency(sandbox: Sandbox, count: int = 100) -> float:
    """Median milliseconds of one program in a child forked ahead, on an idle sandbox."""
    seconds: list[float] = []
    for _ in range(count):
        time.sleep(0.01)  # lets the pool fork ahead, as it can between a user's requests
        began = time.perf_counter()
        (outcome,) = sandbox.run(Job(TRIVIAL, (Call("f", "1"),)))
        seconds.append(time.perf_counter() - began)
        assert outcome.value == "2"
    return 1000 * statistics.median(seconds)


def measure_calls(sandbox: Sandbox, count: int = 4000) -> float:
    """Calls a second in one child, in one frame."""
    with sandbox.open(TRIVIAL) as child:
        began = time.perf_counter()
        outcomes = child.call_all([Call("f", "1")] * count)
        seconds = time.perf_counter() - began
        assert all(outcome.value == "2" for outcome in outcomes)
    return count / seconds


def measure_steps(sandbox: Sandbox, children: int = 16, rounds: int = 150) -> float:
    """Environment steps a second over many long-lived children, one step each at a time."""
    opened = [sandbox.open(COUNTER) for _ in range(children)]
    began = time.perf_counter()
    for _ in range(rounds):
        outcomes = sandbox.call_many([(child, Call("step", "'left'")) for child in opened])
        assert all(outcome.kind == "value" for outcome in outcomes)
    seconds = time.perf_counter() - began
    for child in opened:
        child.close()
    return children * rounds / seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--image", help="of docker or podman, as in sandbox.image")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with make_sandbox(options.backend, image=options.image) as sandbox:
        far = sandbox.facts()["backend"] == "remote"  # there a request starts a jail, and a step replays all
        figures: dict[str, Callable[[], float]] = {
            "bwrap python3 -S -c, programs/s": measure_baseline,
            "fresh jailed programs/s": lambda: measure_programs(sandbox),
            "latency of a warm child, ms": lambda: measure_latency(sandbox, 8 if far else 100),
            "calls/s in one child": lambda: measure_calls(sandbox),
            "steps/s, 16 long-lived children": lambda: measure_steps(sandbox, rounds=10 if far else 150),
        }
        rounds = [{name: measure() for name, measure in figures.items()} for _ in range(options.rounds)]
    print(f"backend {sandbox.facts()['backend']}, {options.rounds} rounds, median (lowest to highest)")
    for name in figures:
        values = [figure[name] for figure in rounds]
        print(f"{name:36} {statistics.median(values):9.1f} ({min(values):.1f} to {max(values):.1f})")
    first, second, *_ = figures
    ratios = [figure[second] / figure[first] for figure in rounds]
    print(f"{'ratio':36} {statistics.median(ratios):9.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    main()
