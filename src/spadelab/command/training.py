"""The verbs `run` and `resume`: one run from start to report, with progress and a graceful stop."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from spadelab.command.boundary import INTERRUPTED, print_json, warn_unsafe
from spadelab.command.interruption import Interruption
from spadelab.command.panel import Audience, open_audience
from spadelab.command.preflight import check_models
from spadelab.command.progress import Measure
from spadelab.conductor import EVALUATION, Observer, Outcome, conduct
from spadelab.config import Settings
from spadelab.errors import UserError
from spadelab.store.files import is_full
from spadelab.store.run import Run

STOPPING = "stopping after this cycle; press Ctrl-C again to stop at once"


def train(settings: Settings, as_json: bool, quiet: bool) -> int:
    """Conduct the run, telling of it as one JSON document or with progress (`quiet`: the end only).

    The exit code: 0 finished, 130 stopped by the user.
    """
    check_models(settings)
    warn_unsafe(settings.sandbox.executor_type)
    existed = Run.exists(settings)
    heldout = read_measures(settings.run_path)
    with open_audience(settings, heldout, as_json, quiet) as audience:
        if existed:
            audience.stage(f"{settings.run_path} exists already: going on with it")
        # The panel shows the notice itself.
        with Interruption("" if audience.live else STOPPING) as interruption:
            audience.stopping = lambda: interruption.asked
            outcome = conduct_safely(settings, audience, interruption)
    measures = read_measures(settings.run_path)
    if as_json:
        print_json(summarise(settings, outcome, measures))
    elif outcome.finished:
        print("\n".join(describe_end(settings, outcome, measures)), flush=True)
    if outcome.finished:
        return 0
    kept = f"after {outcome.cycles} cycles, all saved" if outcome.cycles else "before the first cycle"
    print(f"stopped {kept}; go on with: spadelab resume {settings.run_path}", file=sys.stderr)
    return INTERRUPTED


def conduct_safely(settings: Settings, audience: Audience, interruption: Interruption) -> Outcome:
    """`conduct`, with a full disk as an error that the user can mend, wherever it struck."""
    observer = Observer(audience.stage, audience.cycle, audience.heldout, lambda: interruption.asked)
    try:
        return conduct(settings, observer)
    except KeyboardInterrupt:
        advice = f"go on from the newest checkpoint with: spadelab resume {settings.run_path}"
        raise KeyboardInterrupt(advice) from None
    except (OSError, SafetensorError) as error:
        if is_full(error, settings.run_path):
            raise UserError(
                f"{settings.run_path}: no space left; free some, then spadelab resume {settings.run_path}."
            ) from error
        raise


def read_measures(folder: Path) -> list[Measure]:
    """The held-out measures that a run has taken so far, none when it has not begun."""
    path = folder / EVALUATION
    if not path.is_file():
        return []
    rows = json.loads(path.read_bytes())["heldout"]
    return [Measure(r["label"], r["accuracy"], r["low"], r["high"], r["kinds"]) for r in rows]


def summarise(settings: Settings, outcome: Outcome, measures: list[Measure]) -> dict[str, Any]:
    """The end of a run as JSON."""
    return {
        "run": str(settings.run_path),
        "finished": outcome.finished,
        "cycles": outcome.cycles,
        "heldout": [asdict(measure) for measure in measures],
        "report": str(outcome.report) if outcome.report else None,
        "models": [str(path) for path in list_files(settings.run_path, "models/*")],
        "data": [str(path) for path in list_files(settings.run_path, "data/*.jsonl")],
    }


def describe_end(settings: Settings, outcome: Outcome, measures: list[Measure]) -> list[str]:
    """What a finished run has to show: the gain and where things lie."""
    lines = [f"finished after {outcome.cycles} cycles"]
    if len(measures) > 1:
        first, last = measures[0], measures[-1]
        lines.append(f"held-out  {first} -> {last}")
        lines += [f"  {k:<24}{first.kinds[k]:.3f} -> {value:.3f}" for k, value in last.kinds.items()]
    elif measures:
        lines.append(f"held-out  {measures[0]}")
    lines.append(f"report    {outcome.report}")
    lines += [f"model     {path}" for path in list_files(settings.run_path, "models/*")]
    lines += [f"data      {path}" for path in list_files(settings.run_path, "data/*.jsonl")]
    return lines


def list_files(folder: Path, pattern: str) -> list[Path]:
    """What is there, sorted."""
    return sorted(folder.glob(pattern))
