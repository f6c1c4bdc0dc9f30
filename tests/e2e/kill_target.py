"""Runs small runs until each is complete, killing them at random moments.

Usage: kill_target.py DIRECTORY KILLS SEED. Imports happen once; each try is a fork, so that twenty
kills take seconds. Moments are drawn over the whole run; every fifth kill is aimed at a checkpoint.
Prints the number of kills and of runs; `reference` is never killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from spadelab.conductor import Observer, conduct
from spadelab.config import Settings, load_settings

torch.set_num_threads(1)


def small_settings(directory: str) -> Settings:
    overrides = [
        f"run.directory={directory}",
        "run.name=small",
        "run.checkpoint_every=2",
        "run.seed=7",
        "self_play.rounds_per_iteration=6",
        "self_play.tasks_per_round=6",
        "solver.rollouts=4",
        "evaluation.tasks=30",
        "credit.advantage=rae",
    ]
    return load_settings(None, overrides)[0]


def attempt(directory: str) -> int:
    """One try in a child of its own; returns the child's pid."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        conduct(small_settings(directory), Observer())
        os._exit(0)
    return pid


def wait(pid: int, seconds: float, checkpoints: Path | None) -> bool:
    """Wait for the child's end (True), or `seconds`, or the first sign of a checkpoint being written."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"the run failed with status {status}"
            return True
        if checkpoints and any(checkpoints.glob("tmp-*")):
            return False
        time.sleep(0.002)
    return False


def main(directory: str, kills: int, seed: int) -> None:
    stream = random.Random(seed)
    start = time.monotonic()
    assert wait(attempt(f"{directory}/reference"), 600, None)
    whole = time.monotonic() - start
    hit = runs = 0
    while hit < kills:  # a run that got through between kills is complete; the next one starts afresh
        runs += 1
        folder = f"{directory}/run{runs}"
        complete = False
        while not complete:
            pid = attempt(folder)
            aim = Path(folder) / "small" / "checkpoints" if hit % 5 == 4 else None
            moment = whole if aim or hit >= kills else stream.uniform(0.05, 0.5) * whole
            complete = wait(pid, 600 if hit >= kills else moment, aim if hit < kills else None)
            if not complete:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                hit += 1
    print(hit, runs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
