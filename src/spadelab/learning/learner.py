"""The learner: turns rows into one optimiser step. It knows no roles, tasks or rewards."""

from __future__ import annotations

import io
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spadelab.config import TrainingSettings
from spadelab.learning.losses import aggregate, clipped_share, entropy, imitation_loss, kl_loss, policy_loss
from spadelab.models.local import LocalModel
from spadelab.records import Row


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded rows: all tensors [rows, length] but `advantages` and `imitation` [rows]."""

    ids: Tensor
    attention: Tensor
    mask: Tensor
    logprobs: Tensor
    advantages: Tensor
    imitation: Tensor


class Learner:
    """Optimiser and losses around one model's weights."""

    def __init__(self, model: LocalModel, settings: TrainingSettings, temperature: float = 1.0) -> None:
        self.model, self.settings, self.temperature = model, settings, temperature
        self.optimizer = torch.optim.AdamW(
            model.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.reference = deepcopy(model) if settings.kl > 0 else None
        self.trained_tokens = 0

    def step(self, rows: Sequence[Row], stream: random.Random) -> dict[str, float]:
        """Learn from `rows`: `epochs_per_iteration` passes of `minibatches` optimiser steps; the metrics.

        Rows with an advantage make the policy term, rows with an imitation weight the gold term; each
        term is averaged over its own rows. `stream` deals the rows into mini batches. Without rows
        nothing changes.
        """
        policy = [row for row in rows if row.advantage != 0.0]
        gold = [row for row in rows if row.imitation != 0.0]
        metrics: dict[str, float] = {"policy_rows": len(policy), "gold_rows": len(gold)}
        count, steps = self.settings.minibatches, 0
        totals: dict[str, float] = defaultdict(float)
        self.model.model.train()
        for _ in range(self.settings.epochs_per_iteration if rows else 0):
            if count > 1:
                stream.shuffle(policy)
                stream.shuffle(gold)
            for part in range(count):
                steps += self._optimise(policy[part::count], gold[part::count], totals)
        self.model.model.train(False)
        return metrics | {"steps": steps} | {name: value / max(1, steps) for name, value in totals.items()}

    def _optimise(self, policy: Sequence[Row], gold: Sequence[Row], totals: dict[str, float]) -> int:
        """One optimiser step, if there are rows and the gradient is finite; the number of steps taken."""
        if not policy and not gold:
            return 0
        for share, batch in self._batches(policy, self.settings.aggregation == "token_mean"):
            self._policy_term(batch, share, totals)
        for share, batch in self._batches(gold, by_token=True):
            self._gold_term(batch, share, totals)
        norm = torch.nn.utils.clip_grad_norm_(self.model.model.parameters(), self.settings.grad_clip)
        finite = bool(torch.isfinite(norm))
        if finite:
            self.optimizer.step()
            self.model.version += 1
            totals["grad_norm"] += norm.item()
        self.optimizer.zero_grad()
        return int(finite)

    def _policy_term(self, batch: Batch, share: float, totals: dict[str, float]) -> None:
        s = self.settings
        logp, logits = self.model.score(batch.ids, batch.attention, self.temperature)
        how: dict[str, Any] = {"how": s.aggregation, "constant": float(self.model.max_length)}
        old, weight, mask = batch.logprobs, batch.advantages, batch.mask
        loss = policy_loss(logp, old, weight, mask, s.clip_low, s.clip_high, s.dual_clip, **how)
        totals["policy_loss"] += share * loss.item()
        totals["clipped"] += share * clipped_share(logp, old, weight, mask, s.clip_low, s.clip_high).item()
        if self.reference is not None:
            with torch.no_grad():
                reference, _ = self.reference.score(batch.ids, batch.attention, self.temperature)
            divergence = kl_loss(logp, reference, mask, **how)
            totals["kl"] += share * divergence.item()
            loss = loss + s.kl * divergence
        if s.entropy > 0:
            spread = aggregate(torch.nn.functional.pad(entropy(logits), (1, 0)), mask, **how)
            totals["entropy"] += share * spread.item()
            loss = loss - s.entropy * spread
        (share * s.policy_weight * loss).backward()  # type: ignore[no-untyped-call]

    def _gold_term(self, batch: Batch, share: float, totals: dict[str, float]) -> None:
        logp, _ = self.model.score(batch.ids, batch.attention)
        loss = imitation_loss(logp, batch.imitation, batch.mask)
        totals["gold_loss"] += share * loss.item()
        (share * loss).backward()  # type: ignore[no-untyped-call]

    def _batches(self, rows: Sequence[Row], by_token: bool) -> Iterator[tuple[float, Batch]]:
        """Micro batches of similar length with their share of the whole batch's tokens (or sequences)."""
        total = sum(sum(row.mask) if by_token else 1 for row in rows)
        once = self.settings.epochs_per_iteration * self.settings.minibatches == 1
        merged = merge_equal(rows) if once else [(row, 1) for row in rows]
        merged.sort(key=lambda pair: len(pair[0].ids))
        size = self.settings.batch_size
        for start in range(0, len(merged), size):
            members = [row for row, _ in merged[start : start + size]]
            weight = sum(sum(row.mask) if by_token else 1 for row in members)
            self.trained_tokens += sum(len(row.ids) for row in members)
            yield weight / total, self._collate(members)

    def _collate(self, rows: Sequence[Row]) -> Batch:
        length = max(len(row.ids) for row in rows)

        def pad(values: Sequence[float], fill: float) -> list[float]:
            return [*values, *[fill] * (length - len(values))]

        device = self.model.model.device
        return Batch(
            torch.tensor([pad(row.ids, self.model.pad_id) for row in rows], dtype=torch.long, device=device),
            torch.tensor([pad([1] * len(row.ids), 0) for row in rows], dtype=torch.long, device=device),
            torch.tensor([pad(row.mask, 0) for row in rows], dtype=torch.long, device=device),
            torch.tensor([pad(row.logprobs, 0.0) for row in rows], device=device),
            torch.tensor([row.advantage for row in rows], device=device),
            torch.tensor([row.imitation for row in rows], device=device),
        )

    def state(self) -> bytes:
        """The optimiser's state and counters, for a checkpoint."""
        buffer = io.BytesIO()
        counters = {"version": self.model.version, "trained_tokens": self.trained_tokens}
        torch.save({"optimizer": self.optimizer.state_dict(), "counters": counters}, buffer)
        return buffer.getvalue()

    def restore(self, state: bytes) -> None:
        """Continue from `state`; only tensors and plain values are read from it."""
        loaded = torch.load(io.BytesIO(state), weights_only=True, map_location=self.model.model.device)
        self.optimizer.load_state_dict(loaded["optimizer"])
        self.model.version = loaded["counters"]["version"]
        self.trained_tokens = loaded["counters"]["trained_tokens"]


def merge_equal(rows: Sequence[Row]) -> list[tuple[Row, int]]:
    """Rows with the same tokens become one with summed weights, and how many they were.

    Exact for a single on-policy step, where the loss is linear in the advantage.
    """
    merged: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Row, int]] = {}
    for row in rows:
        key = (row.ids, row.mask)
        if key in merged:
            first, count = merged[key]
            summed = replace(
                first,
                advantage=first.advantage + row.advantage,
                imitation=first.imitation + row.imitation,
            )
            merged[key] = (summed, count + 1)
        else:
            merged[key] = (row, 1)
    return list(merged.values())
