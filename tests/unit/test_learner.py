"""The learner: one step does what the losses say, whatever the micro batches."""

import random
from dataclasses import replace

import pytest
import torch

from spadelab.config import TrainingSettings
from spadelab.learning.learner import Learner, merge_equal
from spadelab.records import Row


def make_rows(model, advantages, imitation=0.0):
    rows = []
    for i, advantage in enumerate(advantages):
        prompt = model.encode_prompt(f"f({i})")
        completion = model.encode_completion("12" * (i + 1))
        ids = prompt + completion
        mask = (0,) * len(prompt) + (1,) * len(completion)
        rows.append(
            Row(ids, mask, (0.0,) * len(ids), advantage, imitation, "solver", "deduction", f"g{i}", 0)
        )
    return rows


def with_logprobs(model, rows):
    scored = []
    for row in rows:
        with torch.no_grad():
            logp, _ = model.score(torch.tensor([row.ids]), torch.ones(1, len(row.ids), dtype=torch.long))
        scored.append(replace(row, logprobs=tuple((logp[0] * torch.tensor(row.mask)).tolist())))
    return scored


def total_logp(model, row):
    with torch.no_grad():
        logp, _ = model.score(torch.tensor([row.ids]), torch.ones(1, len(row.ids), dtype=torch.long))
    return float((logp[0] * torch.tensor(row.mask)).sum())


def weights(model):
    return torch.cat([p.detach().flatten().clone() for p in model.model.parameters()])


def test_good_answers_become_likelier_and_bad_ones_less_likely(fresh_model):
    rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -1.0]))
    before = [total_logp(fresh_model, row) for row in rows]
    learner = Learner(fresh_model, TrainingSettings(learning_rate=1e-3, minibatches=1))
    learner.step(rows, random.Random(0))
    after = [total_logp(fresh_model, row) for row in rows]
    assert after[0] - before[0] > after[1] - before[1]
    assert fresh_model.version == 1


def test_gold_rows_are_imitated(fresh_model):
    rows = make_rows(fresh_model, [0.0, 0.0], imitation=1.0)
    before = sum(total_logp(fresh_model, row) for row in rows)
    metrics = Learner(fresh_model, TrainingSettings(learning_rate=1e-3, minibatches=1)).step(
        rows, random.Random(0)
    )
    assert sum(total_logp(fresh_model, row) for row in rows) > before
    assert metrics["gold_rows"] == 2 and metrics["policy_rows"] == 0


@pytest.mark.parametrize(
    "how", ["token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum", "constant"]
)
def test_micro_batches_do_not_change_the_step(fresh_model, how):
    start = {k: v.clone() for k, v in fresh_model.model.state_dict().items()}
    results = []
    for size in (1, 2, 8):
        fresh_model.model.load_state_dict(start)
        rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -0.5, 0.25, -1.0, 0.7]))
        settings = TrainingSettings(learning_rate=1e-3, batch_size=size, aggregation=how, minibatches=1)
        gold = make_rows(fresh_model, [0.0] * 3, imitation=0.5)
        Learner(fresh_model, settings).step(rows + gold, random.Random(0))
        results.append(weights(fresh_model))
    assert torch.allclose(results[0], results[1], atol=2e-5)
    assert torch.allclose(results[0], results[2], atol=2e-5)


def test_merging_equal_rows_does_not_change_the_step(fresh_model):
    start = {k: v.clone() for k, v in fresh_model.model.state_dict().items()}
    rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -0.5]))
    repeated = [rows[0], rows[0], rows[1], replace(rows[0], advantage=-0.25)]
    merged = merge_equal(repeated)
    assert [(row.advantage, count) for row, count in merged] == [(1.75, 3), (-0.5, 1)]
    grads = []
    for epochs, rate in ((1, 5e-4), (2, 0.0)):
        settings = TrainingSettings(minibatches=1, epochs_per_iteration=epochs, learning_rate=rate)
        fresh_model.model.load_state_dict(start)
        grads.append(Learner(fresh_model, settings).step(repeated, random.Random(0))["grad_norm"])
    assert grads[0] == pytest.approx(grads[1], rel=1e-4)


def test_no_rows_no_step(fresh_model):
    before = weights(fresh_model)
    Learner(fresh_model, TrainingSettings()).step([], random.Random(0))
    assert torch.equal(before, weights(fresh_model)) and fresh_model.version == 0


def test_restored_learner_takes_the_same_next_step(fresh_model):
    rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -1.0]))
    learner = Learner(fresh_model, TrainingSettings(learning_rate=1e-3, minibatches=1))
    learner.step(rows, random.Random(0))
    state = learner.state()
    middle = {k: v.clone() for k, v in fresh_model.model.state_dict().items()}
    learner.step(rows, random.Random(0))
    expected = weights(fresh_model)
    fresh_model.model.load_state_dict(middle)
    other = Learner(fresh_model, TrainingSettings(learning_rate=1e-3, minibatches=1))
    other.restore(state)
    other.step(rows, random.Random(0))
    assert torch.equal(expected, weights(fresh_model))


def test_divergence_from_the_start_model_is_held_down(fresh_model):
    start = {k: v.clone() for k, v in fresh_model.model.state_dict().items()}
    moved = []
    for kl in (0.0, 10.0):
        fresh_model.model.load_state_dict(start)
        learner = Learner(fresh_model, TrainingSettings(learning_rate=1e-3, kl=kl, minibatches=1))
        rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -1.0]))
        for _ in range(8):
            metrics = learner.step(rows, random.Random(0))
        moved.append(abs(total_logp(fresh_model, rows[0]) - sum(rows[0].logprobs)))
        assert (metrics.get("kl", 0.0) > 0) == (kl > 0)
    assert moved[1] < moved[0]


def test_mini_batches_take_as_many_steps(fresh_model):
    rows = with_logprobs(fresh_model, make_rows(fresh_model, [1.0, -0.5, 0.25, -1.0]))
    settings = TrainingSettings(minibatches=2, epochs_per_iteration=3)
    metrics = Learner(fresh_model, settings).step(rows, random.Random(0))
    assert metrics["steps"] == 6 == fresh_model.version
