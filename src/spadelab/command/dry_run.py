"""`run --dry-run`: what would happen, and for how long, without making a file."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch

from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.command.preflight import check_models
from spadelab.command.progress import show_duration
from spadelab.conductor import open_sandbox
from spadelab.config import Settings
from spadelab.evaluation.heldout import build_benchmark, evaluate
from spadelab.loop import Loop
from spadelab.sandbox import Sandbox
from spadelab.store.run import Run

# Tasks of the held-out benchmark that are timed, spread over its kinds and levels.
TIMED_TASKS = 60


def rehearse(settings: Settings, as_json: bool) -> int:
    """Check everything a run needs and show settings, models, jail and the estimated time."""
    folders = check_models(settings)
    warn_unsafe(settings.sandbox.executor_type)
    torch.set_num_threads(settings.model.threads)
    if not as_json:
        show_settings(settings)
    with open_sandbox(settings) as sandbox:
        print("timing two cycles in memory", file=sys.stderr, flush=True)
        found = {
            "models": {role: str(folder) for role, folder in folders.items()},
            "sandbox": sandbox.facts()["backend"],
            "run": str(settings.run_path),
            "exists": Run.exists(settings),
            "estimate": estimate(settings, sandbox),
        }
    if as_json:
        print_json({"settings": settings.model_dump(mode="json"), **found})
    else:
        show(found)
    return 0


def estimate(settings: Settings, sandbox: Sandbox) -> dict[str, float]:
    """Seconds of one cycle, of one held-out measure, and of the whole run, as measured here and now.

    Early cycles are the shortest: programs, and with them answers, grow as the solver learns. A budget
    of minutes or CPU seconds bounds the cycles all the same, whatever one of them takes.
    """
    loop = Loop(settings, sandbox)
    loop.step()  # the first one also warms up allocators and jails
    before = loop.spent, loop.elapsed
    loop.step()
    computing, cycle = loop.spent - before[0], loop.elapsed - before[1]
    benchmark = build_benchmark(settings)
    sample = benchmark.thin(max(1, len(benchmark) // TIMED_TASKS))
    clock = time.monotonic()
    evaluate(loop.players.solver, sample, settings, sandbox, loop.limits)
    measure = (time.monotonic() - clock) / len(sample) * len(benchmark)
    cycles = float(settings.cycles)
    if settings.run.minutes:
        cycles = min(cycles, 60 * settings.run.minutes / cycle)
    if settings.run.cpu_seconds:
        cycles = min(cycles, settings.run.cpu_seconds / computing)
    every = settings.evaluation.every
    measures = 2 + (int(cycles) // every if every else 0)
    total = cycles * cycle + measures * measure
    return {"cycle": cycle, "measure": measure, "cycles": cycles, "measures": measures, "total": total}


def show_settings(settings: Settings) -> None:
    """The resolved settings as a tree; what differs from the default says so."""
    usual = Settings().model_dump(mode="json")
    for section, values in settings.model_dump(mode="json").items():
        print(section)
        for key, value in values.items():
            default = usual[section][key]
            note = "" if value == default else f"    (default: {json.dumps(default)})"
            print(f"  {key} = {json.dumps(value)}{note}")


def show(found: dict[str, Any]) -> None:
    """What was found, in lines."""
    times = found["estimate"]
    for role, folder in found["models"].items():
        print(f"{role} model: {folder}")
    print(f"sandbox: {found['sandbox']}")
    print(f"run folder: {found['run']}" + (" (exists: the run would go on)" if found["exists"] else ""))
    print(
        f"estimated time: {show_duration(times['total'])} for about {times['cycles']:.0f} cycles of "
        f"{times['cycle']:.2f} s and {times['measures']} held-out measures of "
        f"{show_duration(times['measure'])}"
    )
