"""Batched sampling on the learner's own weights.

Savings over `generate` of transformers: each prompt is prefilled once and its cache repeated for the
group, keys and values are written into a slab with some room (no concatenation a step), finished rows
leave when the slab is full, attention of single queries is done by plain matrix products, and one uniform
number a row draws its token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

# Room of a rebuilt slab, as a share of its filled length and at least so many positions. A rebuild copies
# the cache, which costs about as much as one step; in exchange finished rows leave, and the filled part
# stays nearly contiguous, without which attention over single queries takes up to three times as long.
ROOM_SHARE, LEAST_ROOM = 8, 4


class SlabLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, [rows, heads, capacity, dim], filled from the left."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.length = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Take the states of the prefill, without room for more."""
        self.slab_keys, self.slab_values = key_states, value_states
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append new positions and answer with all of them; the first call is the prefill."""
        end = self.length + key_states.shape[-2]
        if self.is_initialized:
            self.slab_keys[:, :, self.length : end] = key_states
            self.slab_values[:, :, self.length : end] = value_states
        else:
            self.lazy_initialization(key_states, value_states)
        self.length = end
        return self.slab_keys[:, :, :end], self.slab_values[:, :, :end]

    def rebuild(self, rows: Tensor) -> None:
        """Keep only `rows`, which may repeat, with room for more positions."""
        capacity = self.length + max(LEAST_ROOM, self.length // ROOM_SHARE)
        for name in ("slab_keys", "slab_values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), old.shape[1], capacity, old.shape[3])
            torch.index_select(old[:, :, : self.length], 0, rows, out=new[:, :, : self.length])
            setattr(self, name, new)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a query of `query_length` sees."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Number of filled positions."""
        return self.length

    def get_max_length(self) -> int:
        """Number of positions the slab can hold without being rebuilt."""
        return int(self.slab_keys.shape[2])


@dataclass(slots=True)
class Sampled:
    """One completion: sampled ids, their log-probabilities, why it ended."""

    ids: list[int]
    logprobs: list[float]
    finish: str


class Batch:
    """Rows that are decoded together: their cache, next position, and logits of the next token."""

    def __init__(
        self, model: PreTrainedModel, prompts: Sequence[Sequence[int]], max_new_tokens: int, pad_id: int
    ) -> None:
        """Prefill `prompts`, one row each, padded on the left."""
        self.model = model
        self.layers: list[Any] = [SlabLayer() for _ in range(model.config.num_hidden_layers)]
        self.cache = Cache(layers=self.layers)
        longest = max(len(prompt) for prompt in prompts)
        padded = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=model.device)[:, None]
        steps = torch.arange(longest + max_new_tokens, device=model.device)
        hidden = steps < longest - lengths
        self.logits = model(
            input_ids=torch.tensor(padded, device=model.device),
            attention_mask=(~hidden[:, :longest]).long(),
            position_ids=(steps[:longest] - longest + lengths).clamp(min=0),
            cache=self.cache,
            logits_to_keep=1,
        ).logits[:, -1]
        self.position = lengths
        self.mask = torch.zeros(hidden.shape, dtype=model.dtype, device=model.device)
        self.mask = self.mask.masked_fill(hidden, torch.finfo(model.dtype).min)[:, None, None]

    def select(self, rows: Tensor) -> None:
        """Keep only `rows`, which may repeat, with room for more tokens."""
        self.logits, self.position, self.mask = self.logits[rows], self.position[rows], self.mask[rows]
        for layer in self.layers:
            layer.rebuild(rows)

    def is_full(self) -> bool:
        """Whether the cache must be rebuilt before the next token."""
        return bool(self.layers[0].length == self.layers[0].get_max_length())

    def advance(self, token: Tensor) -> None:
        """Append `token` [rows] and compute the logits after it."""
        self.logits = self.model(
            input_ids=token[:, None],
            attention_mask=self.mask[..., : self.layers[0].length + 1],
            position_ids=self.position,
            cache=self.cache,
        ).logits[:, -1]
        self.position = self.position + 1


@torch.inference_mode()
def sample(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    group: int,
    max_new_tokens: int,
    temperature: float,
    stop_ids: frozenset[int],
    pad_id: int,
    generator: torch.Generator,
) -> list[list[Sampled]]:
    """Sample `group` completions for each of `prompts` (token ids) in one batch.

    Log-probabilities are those of the distribution sampled from, softmax(logits / temperature);
    temperature 0 is greedy and keeps the log-probabilities at temperature 1. A stop id ends a
    completion and belongs to it.
    """
    batch = Batch(model, prompts, max_new_tokens, pad_id)
    live = torch.arange(len(prompts) * group, device=model.device)
    batch.select(live // group)
    tokens = torch.full((len(live), max_new_tokens), pad_id, device=model.device)
    logprobs = torch.zeros(tokens.shape, device=model.device)
    stops = torch.tensor(sorted(stop_ids), dtype=torch.long, device=model.device)
    done = torch.zeros(len(live), dtype=torch.bool, device=model.device)
    with eager_attention(model):
        for step in range(max_new_tokens):
            token, logprob = draw(batch.logits, temperature, generator)
            tokens[live, step], logprobs[live, step] = token, logprob
            done |= torch.isin(token, stops)
            if step == max_new_tokens - 1 or bool(done.all()):
                break
            if batch.is_full():
                keep = (~done).nonzero().squeeze(1)
                live, token, done = live[keep], token[keep], done[keep]
                batch.select(keep)
            batch.advance(token)
    found = torch.isin(tokens, stops).long()
    lengths = torch.where(found.any(dim=1), found.argmax(dim=1) + 1, max_new_tokens).tolist()
    finishes = ["stop" if stopped else "length" for stopped in found.any(dim=1).tolist()]
    columns = zip(tokens.tolist(), logprobs.tolist(), lengths, finishes, strict=True)
    rows = [Sampled(ids[:length], values[:length], finish) for ids, values, length, finish in columns]
    return [rows[start : start + group] for start in range(0, len(rows), group)]


def draw(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw one token a row from `logits` [rows, vocabulary]; returns ids and log-probabilities [rows].

    The inverse of the cumulative distribution at one uniform number a row, in double precision: the
    probabilities of a large vocabulary are smaller than a single-precision sum can resolve.
    """
    scaled = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0:
        token = scaled.argmax(dim=-1)
    else:
        bounds = scaled.exp().cumsum(dim=-1, dtype=torch.float64)
        uniform = torch.rand(len(bounds), 1, dtype=torch.float64, generator=generator, device=bounds.device)
        token = torch.searchsorted(bounds, uniform * bounds[:, -1:], right=True).squeeze(1)
    return token, scaled.gather(1, token[:, None]).squeeze(1)


@contextmanager
def eager_attention(model: PreTrainedModel) -> Iterator[None]:
    """Attention by plain matrix products: faster than the fused kernel where each row has one query."""
    usual = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
