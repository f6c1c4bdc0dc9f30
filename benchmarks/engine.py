"""The episode engine: what it costs beside model and environments, and what the cache over the turns saves.

Usage: python benchmarks/engine.py [CYCLES]

First the engine's share of each cycle; then, with as many rounds, the CPU of playing the held-out worlds
from the cache of the last turn over that of computing each conversation afresh at every turn.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import torch

from spadelab.conductor import open_sandbox
from spadelab.config import load_settings
from spadelab.evaluation.heldout_worlds import draw_heldout, load_heldout
from spadelab.loop import Loop
from spadelab.models.local import LocalModel, resolve_model
from spadelab.play.interactive import Instance, play_instances
from spadelab.rng import Streams
from spadelab.sandbox import Limits


class Forgetful(LocalModel):
    """A model that computes each conversation afresh at every turn."""

    def extend(self, *arguments: Any) -> Any:
        """As `LocalModel.extend`, without the pasts."""
        return super().extend(*arguments[:5])


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


def compare_turns(rounds: int) -> None:
    """Print how many times as much CPU play takes without the cache; the two sides alternate."""
    settings, _ = load_settings("config/config_interactive.json")
    worlds = [Instance(e, seed) for e in (*load_heldout(), *draw_heldout()) for seed in range(2)]
    folder = resolve_model("tiny-worlds-solver")
    models = [kind.load(folder, settings.model.max_seq_len) for kind in (Forgetful, LocalModel)]
    ratios = []
    with open_sandbox(settings) as sandbox:
        for _ in range(rounds):
            seconds, played = [], []
            for model in models:
                start, generator = time.process_time(), Streams(0).torch("turns")
                played.append(play_instances(model, worlds, settings.solver, sandbox, Limits(), generator))
                seconds.append(time.process_time() - start)
            assert [e.generation.ids for e in played[0]] == [e.generation.ids for e in played[1]]
            ratios.append(seconds[0] / seconds[1])
    spread = f"[{min(ratios):.2f}, {max(ratios):.2f}]"
    print(f"{len(worlds)} episodes, cache over the turns: {statistics.median(ratios):.2f} x {spread}")


def measure_engine(cycles: int) -> None:
    """Print the share of each cycle."""
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
    torch.set_num_threads(1)
    for measure in (measure_engine, compare_turns):
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
