"""The verb `compare`: self-play and its baselines at equal computing time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from spadelab.command.boundary import hush_libraries, warn_unsafe
from spadelab.comparison import ARMS, arm_overrides, arms_of, compare, run_arm, tabulate
from spadelab.config import load_settings
from spadelab.errors import UserError


def compare_arms(
    arms: list[str], seeds: int, seconds: float, config: Path | None, overrides: list[str], folder: Path
) -> int:
    """Run what is missing of the comparison, print its table, write it to `folder`/table.json."""
    settings, _ = load_settings(config, overrides)  # refuse bad settings before the first arm starts
    warn_unsafe(settings.sandbox.executor_type)
    wanted = arms or arms_of(settings)
    check_arms(wanted)
    console = Console(stderr=True)

    def report(entry: dict[str, Any]) -> None:
        console.print(f"{entry['arm']} seed {entry['seed']}: accuracy {entry['accuracy']:.3f}")

    options = [*(["--config", str(config)] if config else []), *(f"--set={o}" for o in overrides)]
    rows = tabulate(compare(wanted, range(seeds), seconds, options, folder, report))
    (folder / "table.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    Console().print(draw_table(rows))
    return 0


def train_arm(
    arm: str,
    seed: Annotated[int, typer.Option()],
    cpu_seconds: Annotated[float, typer.Option()],
    config: Annotated[Path | None, typer.Option()] = None,
    overrides: Annotated[list[str] | None, typer.Option("--set")] = None,
) -> None:
    """One arm with one seed; prints its result as JSON. Runs as a process of its own."""
    hush_libraries()
    budget = [f"run.seed={seed}", f"run.cpu_seconds={cpu_seconds}", "self_play.rounds_per_iteration=1000000"]
    base, _ = load_settings(config, overrides or [])
    chosen = [*(overrides or []), "run.minutes=null", *arm_overrides(arm, base), *budget]
    settings, _ = load_settings(config, chosen)
    print(json.dumps(run_arm(arm, seed, settings, cpu_seconds)))


def check_arms(arms: list[str]) -> None:
    """Raise UserError for an arm that does not exist."""
    for arm in arms:
        if arm not in ARMS:
            raise UserError(f"there is no arm {arm}; the arms are {', '.join(ARMS)}.")


def draw_table(rows: list[dict[str, Any]]) -> Table:
    """The comparison as a table, one row an arm."""
    names = list(rows[0]["kinds"]) if rows else []
    table = Table("arm", "seeds", "accuracy [95 %]", "below", *names, "cycles")
    for row in rows:
        kinds = [f"{row['kinds'][kind]:.3f}" for kind in names]
        accuracy = f"{row['accuracy']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        table.add_row(
            row["arm"], str(row["seeds"]), accuracy, f"{row['below']:.3f}", *kinds, f"{row['cycles']:.0f}"
        )
    return table


if __name__ == "__main__":
    typer.run(train_arm)
