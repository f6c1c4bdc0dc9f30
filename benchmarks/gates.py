"""What the gates of interactive environments cost: CPU a draft of the library, short drafts a second.

Usage: python benchmarks/gates.py [ROUNDS]
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from contextlib import suppress

import psutil

from spadelab.environments.interactive.gates import GateSettings, admit, judge_source
from spadelab.environments.library import library_source, list_library
from spadelab.models.tiny.worlds import KINDS, draw_world
from spadelab.records import Draft
from spadelab.sandbox import Sandbox

SHORT_DRAFTS = 96


def cpu_seconds() -> float:
    """CPU time of this process and of the jails, their ended children included."""
    me, total = psutil.Process(), 0.0
    for process in [me, *me.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # ended since: its parent counts it the next time
            total += sum(process.cpu_times()[:4])
    return total


def measure_library(sandbox: Sandbox) -> tuple[list[float], list[int]]:
    """CPU seconds of each library environment, judged alone; its lines."""
    costs, lines = [], []
    for name in list_library():
        source = library_source(name)
        start = cpu_seconds()
        admission = judge_source(source, sandbox, GateSettings())
        assert admission.environment, (name, admission.rejection)
        costs.append(cpu_seconds() - start)
        lines.append(source.count("\n"))
    return costs, lines


def measure_short(sandbox: Sandbox, seed: int) -> float:
    """Drafts a second of a batch of short environments."""
    stream = random.Random(seed)
    kinds = list(KINDS)
    drafts = []
    for i in range(SHORT_DRAFTS):
        kind = KINDS[kinds[i % len(kinds)]]
        world = draw_world(kinds[i % len(kinds)], stream.randint(kind.shortest, kind.longest), stream)
        drafts.append(Draft(str(i), world.skill, f"```python\n{world.source}\n```", world.difficulty))
    start = time.perf_counter()
    admissions = admit(drafts, sandbox, GateSettings(), frozenset())
    seconds = time.perf_counter() - start
    print(
        f"  {sum(a.environment is not None for a in admissions)} of {len(drafts)} admitted", file=sys.stderr
    )
    return len(drafts) / seconds


def main(rounds: int) -> None:
    """Print medians over the rounds and their spread."""
    with Sandbox() as sandbox:
        measure_short(sandbox, 99)  # warms jails and caches
        for _ in range(rounds):
            costs, lines = measure_library(sandbox)
            milliseconds = sorted(1000 * cost for cost in costs)
            print(
                f"library, {statistics.median(lines):.0f} lines: {statistics.median(milliseconds):.0f} ms of"
                f" CPU a draft (median), {milliseconds[0]:.0f} to {milliseconds[-1]:.0f}"
            )
        rates = [measure_short(sandbox, seed) for seed in range(rounds)]
        print(f"short: median {statistics.median(rates):.1f} drafts/s, {min(rates):.1f} to {max(rates):.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
