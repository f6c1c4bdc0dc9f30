"""The models in the package: size, format, and what they can do before any self-play."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from spadelab.config import load_settings
from spadelab.config_sections import BUNDLED_MODELS
from spadelab.environments.programs import GateSettings, admit
from spadelab.environments.seeds import identity_environments
from spadelab.evaluation.heldout import LEVELS, benchmark_of, build_heldout, evaluate, heldout_keys
from spadelab.families.family import program_limits
from spadelab.learning.warmstart import PROPOSER_LENGTHS, SOLVER_LENGTHS, Recipe, build_model, train
from spadelab.models.local import LocalModel, resolve_model
from spadelab.models.tiny.tasks import draw_environment
from spadelab.rng import Streams
from spadelab.roles.proposer import Request, propose

SETTINGS, _ = load_settings(None)


@pytest.mark.parametrize("name", BUNDLED_MODELS)
def test_ordinary_format_and_size(name):
    folder = resolve_model(name)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert isinstance(model, LlamaForCausalLM)
    assert 0.5e6 <= model.num_parameters() <= 5e6
    assert tokenizer.chat_template and tokenizer.decode(tokenizer("变量 x = 12").input_ids) == "变量 x = 12"
    log = [json.loads(line) for line in (folder / "warmstart.jsonl").read_text().splitlines()]
    assert log[-1]["step"] >= 2500 and log[-1]["loss"] < log[0]["loss"]
    assert json.loads((folder / "scores.json").read_text())


def test_all_weights_together_are_small():
    size = sum(f.stat().st_size for name in BUNDLED_MODELS for f in resolve_model(name).iterdir())
    assert size <= 20e6


@pytest.mark.parametrize("shown", ["identity", "task"])
def test_proposer_writes_valid_tasks_of_the_requested_difficulty(sandbox, shown):
    stream, requests = Streams(3).python("requests"), []
    seeds = {seed.kind: seed for seed in identity_environments()}
    for kind, longest in PROPOSER_LENGTHS.items():
        for _ in range(24):
            example = seeds[kind] if shown == "identity" else draw_environment(kind, 4, stream)
            requests.append(Request(kind, stream.randint(1, longest), (example,)))
    model = LocalModel.load(resolve_model("tiny-proposer"), 512)
    drafts = propose(model, requests, SETTINGS, 0, Streams(3).torch("drafts"))
    admissions = admit(drafts, sandbox, GateSettings(), ())
    written = [a.environment.difficulty for a in admissions if a.environment]
    obeyed = [a for a in admissions if a.environment and abs(a.environment.difficulty - a.draft.asked) <= 1]
    assert len(written) >= 0.85 * len(requests), [a.rejection for a in admissions]
    assert len(obeyed) >= 0.85 * len(written)


def test_solver_is_decent_but_far_from_perfect(sandbox):
    model = LocalModel.load(resolve_model("tiny"), 512)
    tasks = build_heldout(SETTINGS.evaluation.seed, 240)
    result = evaluate(model, benchmark_of(tasks), SETTINGS, sandbox, program_limits(SETTINGS))
    cells = result.cells()
    assert result.faults == 0
    for kind, longest in SOLVER_LENGTHS.items():
        first = [cells[kind][level] for level in range(1, longest + 1)]
        assert sum(first) / len(first) >= (0.85 if kind != "induction" else 0.35), kind
        assert cells[kind][max(LEVELS[kind])] <= 0.4, kind


def test_benchmark_is_fixed_balanced_and_withheld():
    tasks = build_heldout(12345, 1200)
    assert tasks == build_heldout(12345, 1200) != build_heldout(12346, 1200)
    assert len({task.id for task in tasks}) == 1200
    for kind, levels in LEVELS.items():
        counts = [sum(t.kind == kind and t.difficulty == level for t in tasks) for level in levels]
        assert max(counts) - min(counts) <= 1 and sum(counts) == 400
    keys = heldout_keys(tasks)
    stream = Streams(5).python("warm start")
    for kind, longest in SOLVER_LENGTHS.items():
        for _ in range(200):
            environment = draw_environment(kind, stream.randint(2, max(2, longest)), stream)
            assert heldout_keys([environment]).isdisjoint(keys)


def test_every_benchmark_answer_is_what_the_jail_computes(sandbox):
    from spadelab.environments.programs import gold, verify

    tasks = build_heldout(12345, 120)
    scores = verify([(task, gold(task)) for task in tasks], sandbox, program_limits(SETTINGS))
    assert [score.outcome for score in scores] == ["correct"] * len(tasks)


def test_warm_start_is_deterministic():
    weights = []
    for _ in range(2):
        recipe = Recipe(role="solver", steps=3, hidden=32, layers=1, heads=2, batch=4)
        model = build_model(recipe)
        assert list(train(model, recipe, lambda _: None)) == [1, 2, 3]
        weights.append(torch.cat([p.detach().flatten() for p in model.model.parameters()]))
    assert torch.equal(*weights)
