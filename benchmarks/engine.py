"""What the episode engine costs beside the model and the environments, as a share of a cycle.

Usage: python benchmarks/engine.py [CYCLES]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch

from spadelab.conductor import open_sandbox
from spadelab.config import load_settings
from spadelab.loop import Loop


class Clock:
    """Adds up the wall seconds of the calls that it wraps, and the sandbox's seconds within them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wrap(self, function: Any) -> Any:
        """The function, timed."""

        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def main(cycles: int) -> None:
    """Print the share of each cycle."""
    torch.set_num_threads(1)
    settings, _ = load_settings(
        "config/config_interactive.json",
        ["run.minutes=null", f"self_play.rounds_per_iteration={cycles + 1}"],
    )
    with open_sandbox(settings) as sandbox:
        loop = Loop(settings, sandbox)
        sampling, playing = Clock(), Clock()
        solver, family = loop.players.solver, loop.family
        solver.extend = sampling.wrap(solver.extend)  # type: ignore[method-assign]
        waited = 0.0
        play = family.play

        def play_and_note(*arguments: Any) -> Any:
            nonlocal waited
            before, sampled = sandbox.seconds, sampling.seconds
            episodes = play(*arguments)
            waited += sandbox.seconds - before + sampling.seconds - sampled
            return episodes

        family.play = playing.wrap(play_and_note)  # type: ignore[method-assign]
        loop.step()  # warms up
        playing.seconds = waited = 0.0
        for _ in range(cycles):
            before, waited_before, start = playing.seconds, waited, time.perf_counter()
            cycle = loop.step()
            wall = time.perf_counter() - start
            engine = playing.seconds - before - (waited - waited_before)
            print(f"{len(cycle.episodes)} episodes, {wall:.1f} s a cycle: engine {engine / wall:.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
