"""One run from start to end: measure, learn cycle by cycle, save, measure again, export, report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from spadelab.config import Settings
from spadelab.evaluation.heldout import HeldOutResult, build_benchmark, evaluate
from spadelab.evaluation.judging import judge_difficulty
from spadelab.evaluation.report import write_report
from spadelab.learning.datasets import write_datasets
from spadelab.learning.players import load_policy
from spadelab.loop import Loop
from spadelab.records import Cycle
from spadelab.sandbox import Sandbox, make_sandbox
from spadelab.store.files import write_file
from spadelab.store.run import Run
from spadelab.store.tracking import Tracker

EVALUATION = "evaluation.json"


@dataclass(slots=True)
class Observer:
    """What the command line wants to hear of; every hook may be left as it is."""

    stage: Callable[[str], None] = lambda _: None
    cycle: Callable[[Cycle], None] = lambda _: None
    heldout: Callable[[str, HeldOutResult], None] = lambda _label, _result: None
    stopped: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `finished` is False when it was interrupted and can be resumed."""

    finished: bool
    cycles: int
    report: Path | None


def open_sandbox(settings: Settings) -> Sandbox:
    """The jail that the settings ask for; raises SandboxUnavailable with the reason and the cure."""
    box = settings.sandbox
    return make_sandbox(box.executor_type, box.workers, box.allowed_packages, image=box.image, url=box.url)


def conduct(settings: Settings, observer: Observer) -> Outcome:
    """Start the run, or go on with it where its newest checkpoint stands.

    When `observer.stopped()` turns true, the current cycle is finished, a checkpoint is written and
    the function returns. Raises UserError for anything the user can mend.
    """
    torch.set_num_threads(settings.model.threads)
    with open_sandbox(settings) as sandbox, Run.create(settings, sandbox.facts()) as run:
        return Conductor(settings, run, sandbox, observer).run_all()


class Conductor:
    """The parts of one run and the order in which they are used."""

    def __init__(self, settings: Settings, run: Run, sandbox: Sandbox, observer: Observer) -> None:
        self.settings, self.run, self.sandbox, self.observer = settings, run, sandbox, observer
        self.benchmark = build_benchmark(settings)
        self.loop = Loop(settings, sandbox, self.benchmark.keys)
        self.evaluations: dict[str, list[Any]] = {"heldout": [], "judged": []}

    def run_all(self) -> Outcome:
        """Everything from the first measure to the report; a finished run only gets its report again."""
        self.restore()
        if not self.evaluations["heldout"]:
            self.measure("start")
        if not self.learn():
            self.checkpoint()
            return Outcome(False, self.loop.next_cycle, None)
        last = self.evaluations["heldout"][-1]
        if self.loop.next_cycle and (last["label"], last["cycle"]) != ("end", self.loop.next_cycle):
            self.measure("end")
            self.judge()
            self.checkpoint()
        self.observer.stage("writing models, data files and the report")
        self.loop.players.export(self.run.path / "models")
        write_datasets(self.run)
        return Outcome(True, self.loop.next_cycle, write_report(self.run))

    def restore(self) -> None:
        """Go back to the newest good checkpoint, if there is one."""
        checkpoint = self.run.restore()
        if checkpoint is None:
            return
        self.loop.restore(checkpoint.folder)
        self.evaluations = json.loads((checkpoint.folder / EVALUATION).read_bytes())
        self.observer.stage(f"resuming after cycle {checkpoint.cycle}")
        for warning in checkpoint.warnings:
            self.observer.stage(warning)

    def learn(self) -> bool:
        """The cycles; False when the user interrupted them."""
        every, saves = self.settings.evaluation.every, self.settings.run.checkpoint_every
        tracker = None
        if self.settings.run.tensorboard:
            tracker = Tracker(self.run.path / "tensorboard", self.loop.next_cycle)
        for cycle in self.loop.run(lambda: not self.observer.stopped()):
            known = {a.environment.id for a in cycle.admissions if a.environment}
            others = [e for e in cycle.environments if e.id not in known]
            self.run.record_cycle(
                cycle.number, cycle.metrics, cycle.admissions, cycle.episodes, cycle.timings, others
            )
            if tracker:
                tracker.record(cycle.number, cycle.metrics)
            self.observer.cycle(cycle)
            done = cycle.number + 1
            if every and done % every == 0 and done < self.settings.cycles:
                self.measure(f"cycle {done}")
            if done % saves == 0:
                self.checkpoint()
        if tracker:
            tracker.close()
        if self.observer.stopped():
            return False
        self.loop.flush()
        return True

    def measure(self, label: str) -> None:
        """Held-out accuracy of the current solver."""
        self.observer.stage(f"measuring on {len(self.benchmark)} held-out tasks ({label})")
        result = evaluate(
            self.loop.players.solver, self.benchmark, self.settings, self.sandbox, self.loop.limits
        )
        self.observer.heldout(label, result)
        self.evaluations["heldout"].append(describe(label, self.loop.next_cycle, result))
        self.write_evaluations()

    def judge(self) -> None:
        """How hard the proposals of each stretch of the run are for the model it started from."""
        self.observer.stage("judging the proposals by the frozen start model")
        start = load_policy(self.settings, self.settings.solver_model)
        self.evaluations["judged"] = judge_difficulty(
            self.run, start, self.settings, self.sandbox, self.loop.limits
        )
        self.write_evaluations()

    def checkpoint(self) -> None:
        """Save everything that has state."""
        if not self.loop.next_cycle:
            return
        files = {**self.loop.files(), EVALUATION: json.dumps(self.evaluations).encode()}
        self.run.save_checkpoint(self.loop.next_cycle - 1, files)

    def write_evaluations(self) -> None:
        """Put the measures where the report finds them."""
        write_file(self.run.path / EVALUATION, json.dumps(self.evaluations, indent=1).encode())


def describe(label: str, cycle: int, result: HeldOutResult) -> dict[str, Any]:
    """One held-out measure as JSON."""
    interval = result.accuracy
    return {
        "label": label,
        "cycle": cycle,
        "tasks": len(result.correct),
        "accuracy": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "kinds": result.by_kind(),
        "counts": dict(Counter(result.kinds)),
        "cells": {k: {str(level): v for level, v in rows.items()} for k, rows in result.cells().items()},
        "correct": [int(value) for value in result.correct],
        "faults": result.faults,
    }
