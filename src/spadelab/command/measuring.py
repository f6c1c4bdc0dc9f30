"""The verb `eval`: held-out accuracy of one model."""

from __future__ import annotations

from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.command.preflight import check_device, check_model
from spadelab.conductor import open_sandbox
from spadelab.config import Settings
from spadelab.evaluation.heldout import HeldOutResult, build_benchmark, evaluate
from spadelab.evaluation.statistics import Interval, wilson
from spadelab.families.family import play_limits
from spadelab.models.local import LocalModel


def measure(name: str, settings: Settings, as_json: bool) -> int:
    """Measure the model called `name` on the held-out benchmark of the settings."""
    folder = check_model(name)
    check_device(settings.model.device)
    warn_unsafe(settings.sandbox.executor_type)
    torch.set_num_threads(settings.model.threads)
    where = settings.model
    model = LocalModel.load(folder, where.max_seq_len, where.device, where.dtype)
    benchmark = build_benchmark(settings)
    with open_sandbox(settings) as sandbox:
        result = evaluate(model, benchmark, settings, sandbox, play_limits(settings))
    if as_json:
        print_json(describe(name, result))
    else:
        show(name, result)
    return 0


def cells(result: HeldOutResult) -> dict[tuple[str, int | None], tuple[int, Interval]]:
    """Tasks and accuracy with its Wilson interval by (kind, level), and by (kind, None) over all levels."""
    groups: dict[tuple[str, int | None], list[float]] = {}
    for kind, level, correct in zip(result.kinds, result.levels, result.correct, strict=True):
        groups.setdefault((kind, None), []).append(correct)
        groups.setdefault((kind, level), []).append(correct)
    return {key: (len(group), wilson(int(sum(group)), len(group))) for key, group in groups.items()}


def describe(name: str, result: HeldOutResult) -> dict[str, Any]:
    """The measure as JSON."""
    kinds: dict[str, Any] = {}
    for (kind, level), (tasks, interval) in cells(result).items():
        entry = {"tasks": tasks, **_bounds(interval)}
        if level is None:
            kinds[kind] = {**entry, "levels": {}}
        else:
            kinds[kind]["levels"][str(level)] = entry
    total = {"model": name, "tasks": len(result.correct), **_bounds(result.accuracy)}
    return {**total, "faults": result.faults, "kinds": kinds}


def show(name: str, result: HeldOutResult) -> None:
    """The measure as a table: one row a difficulty level, one column a task type."""
    found = cells(result)
    kinds = sorted({kind for kind, _ in found})
    table = Table("difficulty", *kinds, box=None, header_style="dim")
    for level in [None, *sorted({level for _, level in found if level is not None})]:
        row = [_show(found[kind, level][1]) if (kind, level) in found else "" for kind in kinds]
        table.add_row("all" if level is None else str(level), *row, end_section=level is None)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    total = f"{name}: {_show(result.accuracy, 3)} on {len(result.correct)} held-out tasks"
    console.print(f"{total}, 95 % intervals", markup=False)
    if result.faults:
        console.print(f"{result.faults} answers were not judged because the sandbox failed")


def _bounds(interval: Interval) -> dict[str, float]:
    return {"accuracy": interval.estimate, "low": interval.low, "high": interval.high}


def _show(interval: Interval, digits: int = 2) -> str:
    return f"{interval.estimate:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
