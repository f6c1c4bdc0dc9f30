"""Where a cycle's time goes and whether memory grows: `python benchmarks/cycles.py [--cycles N] [--set ...]`.

Runs the loop with a real run store in a temporary folder and prints the share of wall time spent outside
model, learner and sandbox, and the resident memory at each tenth of the run: a leak grows to the end,
what fills up levels off. The last figure is what is left when the C library has given back its free pages.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import tempfile
import time

import psutil
import torch

from spadelab.conductor import open_sandbox
from spadelab.config import load_settings
from spadelab.loop import Loop
from spadelab.store.run import Run


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--config")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    options = parser.parse_args()
    torch.set_num_threads(1)
    process, inside, sizes = psutil.Process(), 0.0, list[float]()
    with tempfile.TemporaryDirectory() as folder:
        overrides = [*options.overrides, f"run.directory={folder}", "run.minutes=null"]
        overrides.append(f"self_play.rounds_per_iteration={options.cycles}")
        settings, _ = load_settings(options.config, overrides)
        with open_sandbox(settings) as sandbox, Run.create(settings, sandbox.facts()) as run:
            loop = Loop(settings, sandbox)
            start = time.perf_counter()
            for cycle in loop.run(lambda: True):
                played = [e for e in cycle.environments if e.born < cycle.number]
                run.record_cycle(
                    cycle.number, cycle.metrics, cycle.admissions, cycle.episodes, cycle.timings, played
                )
                if (cycle.number + 1) % settings.run.checkpoint_every == 0:
                    run.save_checkpoint(cycle.number, loop.files())
                inside += sum(cycle.timings[name] for name in ("model", "learner", "sandbox"))
                if (cycle.number + 1) % max(1, options.cycles // 10) == 0:
                    sizes.append(process.memory_info().rss / 2**20)
            wall = time.perf_counter() - start
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            trimmed = process.memory_info().rss / 2**20
    print(f"cycles {options.cycles}  seconds a cycle {wall / options.cycles:.2f}")
    print(f"outside model, learner and sandbox {1 - inside / wall:.1%} (checkpoints and records included)")
    print(f"resident memory {sizes[0]:.0f} -> {sizes[-1]:.0f} MiB ({sizes[-1] / sizes[0] - 1:+.1%})")
    print(f"at each tenth {' '.join(f'{size:.0f}' for size in sizes)}, trimmed at the end {trimmed:.0f}")


if __name__ == "__main__":
    main()
