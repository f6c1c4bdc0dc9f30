"""Losses against the published numbers, their gradients and their defining properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spadelab.learning import losses

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[1] / "vectors" / "rewards_and_advantages.json").read_text()
    )
}
INF = float("inf")
STEADY = settings(deadline=None, derandomize=True)


def row(values: list[float]) -> Tensor:
    return torch.tensor([values], dtype=torch.float64)


def clipped(ratios: list[float], advantage: float, **bounds: Any) -> list[float]:
    logp = row(ratios).log()
    weight = torch.tensor([advantage], dtype=torch.float64)
    ones = torch.ones_like(logp)
    tokens = losses.policy_tokens(logp, torch.zeros_like(logp), weight, ones, **bounds)
    return list(tokens[0].tolist())


@pytest.mark.parametrize(
    ("name", "advantage", "bounds"),
    [
        ("CLIP-01", 1.0, {"clip_low": 0.2, "clip_high": 0.2}),
        ("CLIP-02", 1.0, {"clip_low": 0.2, "clip_high": 0.28}),
        ("CLIP-03", -1.0, {"clip_low": 0.2, "clip_high": 0.28}),
        ("CLIP-04", -1.0, {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0}),
    ],
)
def test_clip(name: str, advantage: float, bounds: dict[str, Any]) -> None:
    ratios = CASES[name]["input"]["ratio"]
    assert clipped(ratios, advantage, **bounds) == pytest.approx(CASES[name]["output"], abs=2e-6)


def test_clip_cuts_the_gradient_where_published() -> None:
    case = CASES["CLIP-05"]
    logp = row(case["input"]["ratio"]).log().requires_grad_()
    mask, old = torch.ones_like(logp), torch.zeros_like(logp)
    weight = torch.ones(1, dtype=torch.float64)
    losses.policy_tokens(logp, old, weight, mask).sum().backward()
    assert logp.grad is not None
    assert [int(g != 0) for g in logp.grad[0]] == case["output"]
    share = losses.clipped_share(logp, old, weight, mask)
    assert share.item() == pytest.approx(1 / 3)


def test_aggregation() -> None:
    expected = CASES["AGG-01"]["output"]
    table = torch.tensor([[1.0, 1.0, 99.0, 99.0], [3.0, 3.0, 3.0, 3.0]])
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])
    got = {
        "token_mean": losses.aggregate(table, mask, "token_mean"),
        "seq_mean_token_mean": losses.aggregate(table, mask, "sequence_mean_token_mean"),
        "seq_mean_token_sum": losses.aggregate(table, mask, "sequence_mean_token_sum"),
        "drgrpo_C8": losses.aggregate(table, mask, "constant", 8),
    }
    assert {key: value.item() for key, value in got.items()} == pytest.approx(expected, abs=2e-6)
    with pytest.raises(ValueError, match="constant"):
        losses.aggregate(table, mask, "constant")


@pytest.mark.parametrize(
    "how", ["token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum", "constant"]
)
def test_empty_sequences_do_not_count(how: losses.Aggregation) -> None:
    table = torch.tensor([[2.0, 4.0], [INF, float("nan")]])
    mask = torch.tensor([[1, 1], [0, 0]])
    alone = losses.aggregate(table[:1], mask[:1], how, 8)
    assert losses.aggregate(table, mask, how, 8).item() == alone.item() > 0
    assert losses.aggregate(table, torch.zeros_like(mask), how, 8).item() == 0.0


@pytest.mark.parametrize("name", ["KL-01", "KL-02"])
def test_kl_estimators(name: str) -> None:
    logp, reference = row([CASES[name]["input"]["logp"]]), row([CASES[name]["input"]["ref"]])
    got = {
        "k1": losses.kl_k1(logp, reference).item(),
        "k2": losses.kl_k2(logp, reference).item(),
        "k3": losses.kl_k3(logp, reference).item(),
    }
    assert got == pytest.approx(CASES[name]["output"], abs=2e-6)
    mask = torch.ones_like(logp)
    for kind in ("k1", "k2", "k3"):
        assert losses.kl_loss(logp, reference, mask, kind).item() == got[kind]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k4"):
        losses.kl_loss(logp, reference, mask, "k4")  # type: ignore[arg-type]


def test_k1_and_k3_estimate_the_divergence() -> None:
    """Exact expectation over a categorical policy, no sampling."""
    policy = torch.log_softmax(torch.tensor([0.3, -0.2, 1.0]).double(), -1)
    reference = torch.log_softmax(torch.tensor([-0.5, 0.4, 0.6]).double(), -1)
    exact = (policy.exp() * (policy - reference)).sum().item()
    for estimator in (losses.kl_k1, losses.kl_k3):
        mean = (policy.exp() * estimator(policy, reference)).sum().item()
        assert mean == pytest.approx(exact, abs=1e-9)


def test_k3_stays_finite() -> None:
    assert losses.kl_k3(row([-100.0]), row([-1.0])).item() == losses.MAX_KL
    assert losses.kl_k3(row([-1.0]), row([-100.0])).item() == losses.MAX_KL


RATIOS = st.lists(st.floats(0.3, 4), min_size=1, max_size=8)


@STEADY
@given(RATIOS, st.floats(-2, 2))
def test_clip_properties(ratios: list[float], advantage: float) -> None:
    assert clipped([1.0], advantage, dual_clip=3.0) == pytest.approx([-advantage])
    plain, dual = clipped(ratios, advantage), clipped(ratios, advantage, dual_clip=3.0)
    narrow = clipped(ratios, advantage, clip_high=0.2)
    for ratio, one, two, three in zip(ratios, plain, dual, narrow, strict=True):
        assert one >= -ratio * advantage - 1e-9, "the clip is pessimistic"
        if advantage >= 0 or ratio <= 3:
            assert two == one
        if not (advantage > 0 and ratio > 1.2):
            assert three == one


@STEADY
@given(RATIOS, st.floats(-2, 2))
def test_on_policy_gradient_is_reinforce(values: list[float], advantage: float) -> None:
    logp = (-row(values)).requires_grad_()
    mask, weight = torch.ones_like(logp), torch.tensor([advantage], dtype=torch.float64)
    (one,) = torch.autograd.grad(losses.policy_loss(logp, logp.detach(), weight, mask), logp)
    (two,) = torch.autograd.grad(losses.reinforce_loss(logp, weight, mask), logp)
    assert torch.allclose(one, two, atol=1e-12)
    assert torch.allclose(two, torch.full_like(two, -advantage / len(values)), atol=1e-12)


def test_garbage_outside_the_mask_reaches_nothing() -> None:
    logp = torch.tensor([[-1.0, -INF, -5.0]], requires_grad=True)
    old = torch.tensor([[-1.2, -3.0, INF]])
    mask = torch.tensor([[1, 0, 0]])
    weight = torch.tensor([0.5])
    total = (
        losses.policy_loss(logp, old, weight, mask)
        + losses.reinforce_loss(logp, weight, mask)
        + losses.imitation_loss(logp, weight, mask)
        + losses.kl_loss(logp, old, mask)
    )
    total.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(total)
    assert logp.grad is not None
    assert logp.grad[0, 0] != 0
    assert logp.grad[0, 1:].tolist() == [0.0, 0.0]


def test_a_broken_ratio_stays_finite() -> None:
    logp, old = row([0.0]).requires_grad_(), row([-2000.0])
    loss = losses.policy_loss(logp, old, torch.tensor([-1.0], dtype=torch.float64), torch.ones_like(old))
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert logp.grad is not None
    assert torch.isfinite(logp.grad).all()


def test_token_advantages_and_importance_weights() -> None:
    logp, mask = row([-1.0, -2.0]), torch.ones(1, 2)
    by_token = losses.reinforce_loss(logp, row([1.0, 0.5]), mask, "sequence_mean_token_sum")
    assert by_token.item() == pytest.approx(1.0 + 1.0)
    weights = row([0.5, 2.0])
    one = torch.ones(1, dtype=torch.float64)
    assert losses.reinforce_loss(logp, one, mask, "sequence_mean_token_sum", weights=weights).item() == 4.5
    got = losses.policy_loss(logp, logp, one, mask, how="sequence_mean_token_sum", weights=weights)
    assert got.item() == -2.5


def test_imitation_is_weighted_log_likelihood() -> None:
    logp = torch.tensor([[-1.0, -2.0], [-4.0, -9.0]])
    mask = torch.tensor([[1, 1], [1, 0]])
    loss = losses.imitation_loss(logp, torch.tensor([1.0, 0.5]), mask)
    assert loss.item() == pytest.approx((1 + 2 + 0.5 * 4) / 3)


def test_entropy() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [5.0, -INF, -INF, -INF], [0.0, 0.0, -INF, -INF]])
    logits.requires_grad_()
    values = losses.entropy(logits)
    expected = torch.tensor([4.0, 1.0, 2.0]).log()
    assert torch.allclose(values, expected, atol=1e-6)
    values.sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_truncated_importance_weights() -> None:
    learner = torch.tensor([[-1.0, -1.0, 0.0, -900.0]], requires_grad=True)
    sampler = torch.tensor([[-1.0, -1.5, -900.0, 0.0]])
    weights = losses.truncated_importance_weights(learner, sampler, cap=2.0)
    assert weights[0].tolist() == pytest.approx([1.0, 1.6487213, 2.0, 0.0], abs=1e-6)
    assert not weights.requires_grad
    with pytest.raises(ValueError):
        losses.truncated_importance_weights(learner, sampler, cap=0.0)


@pytest.mark.parametrize("bounds", [{"clip_low": -0.1}, {"clip_high": -1.0}, {"dual_clip": 1.0}])
def test_senseless_bounds_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        clipped([1.0], 1.0, **bounds)
