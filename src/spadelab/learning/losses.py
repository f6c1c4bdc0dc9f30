"""Losses: pure functions of tensors.

Shapes: B sequences, T positions. `logp`, `old_logp`, `mask` and token losses are [B, T];
`advantages` and `weights` are [B] (one a sequence) or [B, T]. `mask` is 1 on trained tokens;
whatever stands outside it, infinities included, reaches neither the loss nor the gradient.
All losses are to be minimised; log-probabilities are in nats.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Aggregation = Literal["token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum", "constant"]
KlEstimator = Literal["k1", "k2", "k3"]

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to +-20 before exp, so that a broken ratio cannot become infinite."""

MAX_KL = 10.0


def aggregate(
    token_losses: Tensor, mask: Tensor, how: Aggregation = "token_mean", constant: float | None = None
) -> Tensor:
    """One scalar from [B, T] token losses; 0 when the mask is empty.

    "token_mean" over all trained tokens (DAPO); "sequence_mean_token_mean" over tokens, then over
    sequences (GRPO); "sequence_mean_token_sum" sums a sequence's tokens; "constant" divides that
    sum by `constant`, a length that does not depend on the sample (Dr. GRPO). Sequences without a
    trained token do not count. Raises ValueError when `constant` is missing.
    """
    kept = _select(token_losses, mask)
    tokens = (mask != 0).sum(dim=-1)
    sums = kept.sum(dim=-1)
    sequences = (tokens > 0).sum().clamp(min=1)
    if how == "token_mean":
        return sums.sum() / tokens.sum().clamp(min=1)
    if how == "sequence_mean_token_mean":
        return (sums / tokens.clamp(min=1)).sum() / sequences
    if how == "sequence_mean_token_sum":
        return sums.sum() / sequences
    if constant is None or constant <= 0:
        raise ValueError(f'aggregation "constant" needs a positive constant, got {constant}')
    return sums.sum() / (constant * sequences)


def policy_tokens(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = None,
) -> Tensor:
    """Clipped policy-gradient loss of each token, [B, T], 0 outside the mask.

    max(-r A, -clip(r, 1 - clip_low, 1 + clip_high) A) with r = exp(logp - old_logp) (PPO, with
    DAPO's separate bounds); where A < 0 at most -dual_clip A (dual clip, c > 1).
    Raises ValueError for bounds that make no sense.
    """
    if not 0 <= clip_low <= 1 or clip_high < 0 or (dual_clip is not None and dual_clip <= 1):
        raise ValueError(f"clip bounds out of range: low {clip_low}, high {clip_high}, dual {dual_clip}")
    weight = _per_token(advantages, logp)
    ratio = _ratio(logp, old_logp, mask)
    losses = torch.maximum(-ratio * weight, -ratio.clamp(1.0 - clip_low, 1.0 + clip_high) * weight)
    if dual_clip is not None:
        losses = torch.where(weight < 0, torch.minimum(losses, -dual_clip * weight), losses)
    return _select(losses, mask)


def policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = None,
    how: Aggregation = "token_mean",
    constant: float | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """`policy_tokens`, times importance `weights` where given, aggregated to a scalar."""
    losses = policy_tokens(logp, old_logp, advantages, mask, clip_low, clip_high, dual_clip)
    if weights is not None:
        losses = losses * _per_token(weights, losses)
    return aggregate(losses, mask, how, constant)


def clipped_share(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
) -> Tensor:
    """Share of the trained tokens whose gradient the clip cut off (a diagnostic, no gradient)."""
    with torch.no_grad():
        weight = _per_token(advantages, logp)
        ratio = _ratio(logp, old_logp, mask)
        cut = ((weight > 0) & (ratio > 1.0 + clip_high)) | ((weight < 0) & (ratio < 1.0 - clip_low))
        return aggregate(cut.to(logp.dtype), mask)


def reinforce_loss(
    logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    how: Aggregation = "token_mean",
    constant: float | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """REINFORCE: -A logp, times importance `weights` where given, aggregated to a scalar."""
    losses = -_per_token(advantages, logp) * _select(logp, mask)
    if weights is not None:
        losses = losses * _per_token(weights, losses)
    return aggregate(losses, mask, how, constant)


def imitation_loss(
    logp: Tensor,
    weights: Tensor,
    mask: Tensor,
    how: Aggregation = "token_mean",
    constant: float | None = None,
) -> Tensor:
    """The gold term: -weight logp of completions that execution proved right, aggregated."""
    return reinforce_loss(logp, weights, mask, how, constant)


def kl_k1(logp: Tensor, reference: Tensor) -> Tensor:
    """logp - reference, a token: unbiased estimate of KL(policy | reference), may be negative."""
    return -_log_ratio(logp, reference)


def kl_k2(logp: Tensor, reference: Tensor) -> Tensor:
    """(reference - logp)^2 / 2, a token: biased, never negative, low variance."""
    return _log_ratio(logp, reference).square() / 2.0


def kl_k3(logp: Tensor, reference: Tensor) -> Tensor:
    """e^d - d - 1 with d = reference - logp, a token, clamped to 10: unbiased up to the clamp."""
    difference = _log_ratio(logp, reference)
    return (difference.exp() - difference - 1.0).clamp(-MAX_KL, MAX_KL)


def kl_loss(
    logp: Tensor,
    reference: Tensor,
    mask: Tensor,
    kind: KlEstimator = "k3",
    how: Aggregation = "token_mean",
    constant: float | None = None,
) -> Tensor:
    """The estimate `kind` of KL(policy | reference), aggregated to a scalar.

    Raises ValueError for an unknown estimator.
    """
    estimators = {"k1": kl_k1, "k2": kl_k2, "k3": kl_k3}
    if kind not in estimators:
        raise ValueError(f"unknown KL estimator {kind!r}, known: {', '.join(estimators)}")
    tokens = estimators[kind](_select(logp, mask), _select(reference, mask))
    return aggregate(tokens, mask, how, constant)


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of each position's distribution: [..., V] to [...]; logits of -inf are allowed."""
    logp = torch.log_softmax(logits, dim=-1)
    impossible = torch.isneginf(logp)
    return -(logp.exp() * logp.masked_fill(impossible, 0.0)).sum(dim=-1)


def truncated_importance_weights(logp_learner_old: Tensor, logp_sampler: Tensor, cap: float = 2.0) -> Tensor:
    """min(exp(learner - sampler), cap) a token, without gradient.

    Corrects for a sampler whose numbers differ from the learner's at the same weights. `cap` bounds
    the variance. Raises ValueError unless cap > 0.
    """
    if cap <= 0:
        raise ValueError(f"the cap must be positive, got {cap}")
    difference = (logp_learner_old - logp_sampler).detach()
    return difference.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp().clamp(max=cap)


def _select(values: Tensor, mask: Tensor) -> Tensor:
    """`values` where trained, 0 elsewhere. Not a product: 0 times infinity is NaN."""
    return values.masked_fill(mask == 0, 0.0)


def _ratio(logp: Tensor, old_logp: Tensor, mask: Tensor) -> Tensor:
    """exp(logp - old_logp) where trained, 1 elsewhere."""
    return _log_ratio(_select(old_logp, mask), _select(logp, mask)).exp()


def _log_ratio(logp: Tensor, reference: Tensor) -> Tensor:
    """reference - logp, clamped."""
    return (reference - logp).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def _per_token(values: Tensor, like: Tensor) -> Tensor:
    """[B] to [B, 1]; [B, T] as it is."""
    return values.unsqueeze(-1) if values.dim() == like.dim() - 1 else values
