"""The verb `warmstart`: the supervised start of a bundled model, from nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from spadelab.command.arguments import make_folder
from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.command.measuring import describe
from spadelab.command.scoring_worlds import score_worlds, share
from spadelab.command.ticker import Ticker
from spadelab.conductor import open_sandbox
from spadelab.config import Settings
from spadelab.environments.programs import GateSettings, admit
from spadelab.errors import UserError
from spadelab.evaluation.heldout import build_benchmark, evaluate
from spadelab.families.family import play_limits, program_limits
from spadelab.learning.warmstart import (
    PROPOSER_LENGTHS,
    REFERENCE_LENGTHS,
    Recipe,
    build_model,
    save_with_log,
    train,
)
from spadelab.models.local import LocalModel
from spadelab.models.tiny.tasks import draw_environment
from spadelab.rng import Streams
from spadelab.roles.proposer import Request, propose
from spadelab.sandbox import Limits, Sandbox

SCORES = "scores.json"
# Drafts at each difficulty of each task type when the proposer is scored.
DRAFTS = 16


def warm_start(recipe: Recipe, folder: Path, settings: Settings, as_json: bool, quiet: bool) -> int:
    """Train, save and score a model. An interrupt before the end of training leaves nothing behind."""
    make_folder(folder)
    if any(folder.iterdir()):
        raise UserError(f"{folder}: the folder is not empty; choose an empty or new one for --out.")
    warn_unsafe(settings.sandbox.executor_type)
    torch.set_num_threads(settings.model.threads)
    model, log = build_model(recipe), list[dict[str, Any]]()
    with Ticker("steps", recipe.steps, quiet) as ticker:

        def report(entry: dict[str, Any]) -> None:
            log.append(entry)
            ticker.show(entry["step"], f"loss {entry['loss']:.4f}  {entry['cpu_seconds']} CPU s")

        for _ in train(model, recipe, report):
            pass
    save_with_log(model, folder, log)
    with open_sandbox(settings) as sandbox:
        scores = score(model, recipe.role, settings, sandbox)
    (folder / SCORES).write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json({"model": str(folder), **scores})
    else:
        print(f"{folder}\n{show_scores(scores)}", flush=True)
    return 0


def score(model: LocalModel, role: str, settings: Settings, sandbox: Sandbox) -> dict[str, Any]:
    """Held-out accuracy where the role solves, shares of valid and obedient drafts where it proposes."""
    scores, limits = dict[str, Any](), program_limits(settings)
    if role.startswith("world-"):
        return score_worlds(model, role, settings, sandbox, limits)
    if role != "proposer":
        benchmark = build_benchmark(settings)
        scores["solver"] = describe(
            role, evaluate(model, benchmark, settings, sandbox, play_limits(settings))
        )
    if role != "solver":
        scores["proposer"] = score_proposer(model, settings, sandbox, limits)
    return scores


def score_proposer(
    model: LocalModel, settings: Settings, sandbox: Sandbox, limits: Limits
) -> dict[str, dict[str, float]]:
    """By task type over all difficulties of the warm start, and over all types as "all".

    See `share`.
    """
    streams = Streams(settings.evaluation.seed)
    draws = streams.python("proposer examples")
    requests = [
        Request(kind, length, (draw_environment(kind, draws.randint(1, REFERENCE_LENGTHS[kind]), draws),))
        for kind, longest in PROPOSER_LENGTHS.items()
        for length in range(1, longest + 1)
        for _ in range(DRAFTS)
    ]
    drafts = propose(model, requests, settings, 0, streams.torch("proposer drafts"))
    admissions = admit(drafts, sandbox, GateSettings(limits=limits), frozenset())
    table = {"all": share(admissions, settings.credit.obey_tolerance)}
    for kind in PROPOSER_LENGTHS:
        own = [admission for admission in admissions if admission.draft.kind == kind]
        table[kind] = share(own, settings.credit.obey_tolerance)
    return table


def show_scores(scores: dict[str, Any]) -> str:
    """The scores in lines."""
    lines = []
    if "solver" in scores:
        kinds = "  ".join(f"{kind} {row['accuracy']:.3f}" for kind, row in scores["solver"]["kinds"].items())
        lines.append(f"held-out accuracy {scores['solver']['accuracy']:.3f}  {kinds}")
    for kind, rates in scores.get("grammar", {}).items():
        lines.append(f"won ({kind})  " + "  ".join(f"{length}: {rate:.2f}" for length, rate in rates.items()))
    for kind, row in scores.get("proposer", {}).items():
        lines.append(f"drafts ({kind})  valid {row['valid']:.1%}  obeyed {row['obeyed']:.1%}")
    return "\n".join(lines)
