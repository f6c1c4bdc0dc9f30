"""A process for the store tests to kill or to starve of disk space.

`store_writer.py checkpoints DIR`, `store_writer.py run DIR CYCLES` or `store_writer.py fill DIR`. The
first two print each cycle after the store has promised that it is on the disk.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from pathlib import Path

from spadelab.store import checkpoints

BIG = 500_000


def make_files(cycle: int) -> dict[str, bytes]:
    """Files whose contents tell their cycle, large enough that a kill falls inside of one."""
    return {"weights": f"{cycle:08d}".encode() * (BIG // 8), "state": str(cycle).encode()}


def write_checkpoints(directory: Path) -> None:
    checkpoints.clean(directory)
    found = checkpoints.latest(directory)
    cycle = found.cycle if found else 0
    print("ready", flush=True)
    while True:
        cycle += 1
        checkpoints.save(directory, cycle, make_files(cycle), keep=2, replicas=2)
        print(cycle, flush=True)


def play_run(directory: str, cycles: int) -> None:
    """A run whose every cycle follows from the state before it, as the true loop's does."""
    from spadelab.config import load_settings
    from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score
    from spadelab.store.run import Run

    settings, _ = load_settings(None, [f"run.directory={directory}", "run.checkpoint_every=3"])
    with Run.create(settings) as run:
        found = run.restore()
        cycle = found.cycle if found else 0
        state = int((found.folder / "state").read_text()) if found else 1
        print("ready", flush=True)
        while cycle < cycles:
            cycle += 1
            state = random.Random(state).randrange(10**9)
            name = f"{state % 40}"
            environment = Environment(
                name, name, "programs", "deduction", f"return {name}", ("1",), (name,), 1
            )
            draft = Draft(f"{cycle}", "deduction", f"draft {state}", 3.0)
            check = Check("syntax", True, seconds=time.perf_counter())
            generation = Generation(f"answer {state}", (1,), (2, 3), (-0.1, -0.2), "stop")
            run.record_cycle(
                cycle,
                {"state": state},
                [Admission(draft, (check,), environment)],
                [Episode(name, "deduction", generation, Score(state % 2, "correct"))] * 20,
                timings={"seconds": time.perf_counter()},
            )
            if cycle % settings.run.checkpoint_every == 0:
                run.save_checkpoint(cycle, {"state": str(state).encode(), "weights": bytes(BIG)})
            print(cycle, flush=True)
    print("done", flush=True)


def fill_disk(directory: str) -> None:
    """On a small disk: a good cycle and checkpoint, then both again without space, then with space."""
    from spadelab.config import load_settings
    from spadelab.errors import UserError
    from spadelab.store.run import Run

    settings, _ = load_settings(None, [f"run.directory={directory}"])
    filler = Path(directory) / "filler"
    with Run.create(settings) as run:
        run.record_cycle(1, {"c": 1}, [], [])
        run.save_checkpoint(1, {"weights": bytes(BIG)})
        before = run.digest()
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        for work in (
            lambda: run.save_checkpoint(2, {"weights": bytes(BIG)}),
            lambda: run.record_cycle(2, {"long": "x" * BIG}, [], []),
            lambda: run.write_data("sft", [{"long": "x" * BIG}]),
        ):
            try:
                work()
            except UserError as error:
                print(error)
        filler.unlink()
    with Run.create(settings) as run:
        found = run.restore()
        print("intact" if found and found.cycle == 1 and run.digest() == before else "lost")
        run.record_cycle(2, {"c": 2}, [], [])
        run.save_checkpoint(2, {"weights": bytes(BIG)})
        print("went on")


if __name__ == "__main__":
    if sys.argv[1] == "checkpoints":
        write_checkpoints(Path(sys.argv[2]))
    elif sys.argv[1] == "fill":
        fill_disk(sys.argv[2])
    else:
        play_run(sys.argv[2], int(sys.argv[3]))
