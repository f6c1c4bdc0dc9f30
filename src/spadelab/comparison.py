"""The comparison: self-play against its baselines at equal computing time, several seeds, one benchmark."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from spadelab.conductor import open_sandbox
from spadelab.config import Settings
from spadelab.evaluation.heldout import HeldOutResult, benchmark_of, build_benchmark, evaluate
from spadelab.evaluation.statistics import bootstrap
from spadelab.families.family import play_limits
from spadelab.learning.players import load_policy
from spadelab.learning.warmstart import SOLVER_LENGTHS, Recipe, train
from spadelab.learning.worldstart import SOLVER_LENGTH
from spadelab.loop import Loop
from spadelab.models.local import LocalModel
from spadelab.records import Environment
from spadelab.rng import Streams
from spadelab.sandbox import Sandbox

SHARED = ("model.base_model_path={shared}", "proposer.model=same")
# The bundled model that plays both roles.
SHARED_MODELS = {"programs": "tiny-shared", "interactive": "tiny-worlds"}
# What each arm changes in the settings; "start" and "start_shared" are only measured.
ARMS: dict[str, tuple[str, ...]] = {
    "start": (),
    "self_play": (),
    "warm_start": (),
    "fixed": ("self_play.mode=fixed",),
    "uniform": ("self_play.mode=uniform",),
    "library": ("self_play.mode=library",),
    "frozen_proposer": ("proposer.train=false",),
    "gold_off": ("training.gold_weight=0",),
    "imitation": ("training.method=sft",),
    "start_shared": SHARED,
    "shared": SHARED,
}
# Arms that make sense for one family only.
ONLY = {"library": "interactive"}
# The warm start that is continued.
WARM_STARTS = {"programs": "solver", "interactive": "world-solver"}
RESULTS = "results.jsonl"
STRETCH = 0.15  # share of the cycles that counts as early, and as late
JUDGED_TASKS = 300


def arm_overrides(arm: str, settings: Settings) -> list[str]:
    """What the arm changes in these settings."""
    return [text.format(shared=SHARED_MODELS[settings.self_play.family]) for text in ARMS[arm]]


def arms_of(settings: Settings) -> list[str]:
    """The arms that make sense with these settings."""
    family = settings.self_play.family
    return [arm for arm in ARMS if ONLY.get(arm, family) == family]


def run_arm(arm: str, seed: int, settings: Settings, seconds: float) -> dict[str, Any]:
    """Train one arm for `seconds` of computing, measure it, and tell what came out.

    `settings` already hold the arm's overrides, the seed and the budget.
    """
    torch.set_num_threads(settings.model.threads)
    benchmark = build_benchmark(settings)
    with open_sandbox(settings) as sandbox:
        details: dict[str, Any] = {"spent": 0.0}
        if arm == "warm_start":
            solver, details = continue_warm_start(settings, seed, seconds)
        elif arm.startswith("start"):
            solver = load_policy(settings, settings.solver_model)
        else:
            loop = Loop(settings, sandbox, benchmark.keys)
            details = play_arm(loop, settings, sandbox)
            solver = loop.players.solver
        result = evaluate(solver, benchmark, settings, sandbox, play_limits(settings))
    return {"arm": arm, "seed": seed, "seconds": seconds, **summarise(result), **details}


def continue_warm_start(settings: Settings, seed: int, seconds: float) -> tuple[LocalModel, dict[str, Any]]:
    """The solver after more of its warm start: same data, the loop's constant learning rate."""
    solver = load_policy(settings, settings.solver_model)
    recipe = Recipe(
        role=WARM_STARTS[settings.self_play.family],
        steps=10**9,
        seed=1000 + seed,
        learning_rate=settings.training.learning_rate,
    )
    started = time.process_time()
    steps = itertools.takewhile(
        lambda _: time.process_time() - started < seconds,
        train(solver, recipe, lambda _: None, constant_rate=True),
    )
    return solver, {"cycles": sum(1 for _ in steps), "spent": time.process_time() - started}


def play_arm(loop: Loop, settings: Settings, sandbox: Sandbox) -> dict[str, Any]:
    """Run the loop to the end of its budget; the frozen start model then judges early and late tasks."""
    proposed: list[list[Environment]] = []
    valid: list[float] = []
    for cycle in loop.run(lambda: True):
        proposed.append([a.environment for a in cycle.admissions if a.environment is not None])
        valid.append(cycle.metrics["valid"])
    width = max(1, int(len(proposed) * STRETCH))
    start = load_policy(settings, settings.solver_model)
    judged = {}
    for name, part in (("early", proposed[:width]), ("late", proposed[-width:])):
        tasks = [environment for cycle_tasks in part for environment in cycle_tasks]
        tasks = Streams(0).python(name).sample(tasks, min(JUDGED_TASKS, len(tasks)))
        if tasks:
            solved = evaluate(start, benchmark_of(tasks), settings, sandbox, loop.limits)
            judged[name] = {
                "start_solves": solved.accuracy.estimate,
                "difficulty": sum(e.difficulty for e in tasks) / len(tasks),
                "tasks": len(tasks),
            }
    targets = {kind: target.value for kind, target in loop.curriculum.targets.items()}
    return {
        "spent": loop.spent,
        "cycles": loop.next_cycle,
        "valid": sum(valid) / max(1, len(valid)),
        "targets": targets,
        "judged": judged,
    }


def summarise(result: HeldOutResult) -> dict[str, Any]:
    """Held-out figures; `below` is the accuracy within the lengths of the warm start."""
    below = [
        correct
        for kind, level, correct in zip(result.kinds, result.levels, result.correct, strict=True)
        if level <= SOLVER_LENGTHS.get(kind, SOLVER_LENGTH)
    ]
    return {
        "accuracy": result.accuracy.estimate,
        "below": sum(below) / len(below),
        "kinds": result.by_kind(),
        "cells": {k: {str(level): v for level, v in rows.items()} for k, rows in result.cells().items()},
        "correct": [int(value) for value in result.correct],
        "strata": [f"{kind} {level}" for kind, level in zip(result.kinds, result.levels, strict=True)],
        "faults": result.faults,
    }


def compare(
    arms: Sequence[str],
    seeds: Sequence[int],
    seconds: float,
    arguments: Sequence[str],
    folder: Path,
    report: Callable[[dict[str, Any]], None],
    parallel: int = 2,
) -> list[dict[str, Any]]:
    """Run every arm with every seed, each in its own process, `parallel` at a time.

    `arguments` are the configuration options that all arms share. Finished runs are kept in
    `folder`/results.jsonl and not repeated. Raises CalledProcessError when an arm fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = list(read_results(folder))
    known = {(entry["arm"], entry["seed"], entry["seconds"]) for entry in done}
    wanted = [
        (arm, seed) for seed in seeds for arm in arms if not (arm.startswith("start") and seed != seeds[0])
    ]

    def run(job: tuple[str, int]) -> dict[str, Any]:
        arm, seed = job
        command = [sys.executable, "-m", "spadelab.command.comparing", arm, "--seed", str(seed)]
        command += ["--cpu-seconds", str(seconds), *arguments]
        entry: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        report(entry)
        return entry

    with ThreadPoolExecutor(parallel) as pool:
        done += pool.map(run, [job for job in wanted if (*job, seconds) not in known])
    return done


def read_results(folder: Path) -> Iterator[dict[str, Any]]:
    """The finished runs of a comparison folder."""
    path = folder / RESULTS
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def tabulate(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row an arm: mean accuracy with its 95 % bootstrap interval, and more means.

    Seeds are resampled, and tasks within the benchmark's cells of kind and level, which are fixed by design.
    """
    rows = []
    for arm in ARMS:
        entries = [entry for entry in results if entry["arm"] == arm]
        if not entries:
            continue
        table = [entry["correct"] for entry in entries]
        interval = bootstrap(table, Streams(0).numpy(f"bootstrap {arm}"), strata=entries[0]["strata"])
        kinds = {k: sum(e["kinds"][k] for e in entries) / len(entries) for k in entries[0]["kinds"]}
        row = {
            "arm": arm,
            "seeds": len(entries),
            "accuracy": interval.estimate,
            "low": interval.low,
            "high": interval.high,
            "below": sum(entry["below"] for entry in entries) / len(entries),
            "kinds": kinds,
            "cycles": sum(entry.get("cycles", 0) for entry in entries) / len(entries),
        }
        judged = [entry["judged"] for entry in entries if {"early", "late"} <= entry.get("judged", {}).keys()]
        for part in ("early", "late") if judged else ():
            row[f"start_solves_{part}"] = sum(j[part]["start_solves"] for j in judged) / len(judged)
            row[f"difficulty_{part}"] = sum(j[part]["difficulty"] for j in judged) / len(judged)
        rows.append(row)
    return rows
