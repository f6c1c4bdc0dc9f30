"""The bundled models of interactive self-play: what they write and win before any self-play."""

from __future__ import annotations

import pytest
import torch

from spadelab.command.scoring_worlds import score_playing, score_writing
from spadelab.config import load_settings
from spadelab.families.family import program_limits
from spadelab.learning.warmstart import Recipe, build_model, train
from spadelab.models.local import LocalModel, resolve_model

SETTINGS, _ = load_settings(None, ["self_play.family=interactive"])


@pytest.mark.parametrize("name", ["tiny-worlds", "tiny-worlds-proposer"])
def test_drafts_are_admitted_at_the_difficulty_asked(sandbox, name):
    model = LocalModel.load(resolve_model(name), 512)
    rates = score_writing(model, SETTINGS, sandbox, program_limits(SETTINGS), drafts=1)
    assert rates["all"]["valid"] >= 0.85 and rates["all"]["obeyed"] >= 0.85, rates


def test_wins_fall_with_the_length_of_the_solution(sandbox):
    model = LocalModel.load(resolve_model("tiny-worlds-solver"), 512)
    rates = score_playing(model, SETTINGS, sandbox, program_limits(SETTINGS), worlds=1)
    short = [rate for row in rates.values() for length, rate in row.items() if int(length) <= 3]
    long = [rate for row in rates.values() for length, rate in row.items() if int(length) >= 9]
    assert sum(short) / len(short) >= 0.4 and sum(long) / len(long) <= 0.2, rates


def test_warm_start_is_deterministic():
    weights = []
    for _ in range(2):
        recipe = Recipe("world-shared", steps=3, hidden=32, layers=1, heads=2, batch=4)
        model = build_model(recipe)
        assert list(train(model, recipe, lambda _: None)) == [1, 2, 3]
        weights.append(torch.cat([p.detach().flatten() for p in model.model.parameters()]))
    assert torch.equal(*weights)
