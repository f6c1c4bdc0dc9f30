"""Batched sampling on the learner's own weights.

Three savings over `generate` of transformers: each prompt is prefilled once and its cache repeated
for the group, keys and values are written into one preallocated slab (no concatenation a step), and
finished rows leave the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

# A batch is compacted when at least this share of its rows has finished: copying the cache costs about
# as much as a few decoding steps.
COMPACT_SHARE = 0.2


class SlabLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, [rows, heads, capacity, dim], filled from the left."""

    is_sliding = False

    def __init__(self, capacity: int, group: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.capacity, self.group, self.length = capacity, group, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate the slab with `group` rows for each prefilled prompt."""
        rows, heads, _, width = key_states.shape
        shape = (rows * self.group, heads, self.capacity)
        self.slab_keys = key_states.new_empty(*shape, width)
        self.slab_values = value_states.new_empty(*shape, value_states.shape[-1])
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append new positions; the first call is the prefill and answers with its own states."""
        end = self.length + key_states.shape[-2]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.slab_keys[:, :, :end] = key_states.repeat_interleave(self.group, dim=0)
            self.slab_values[:, :, :end] = value_states.repeat_interleave(self.group, dim=0)
            self.length = end
            return key_states, value_states
        self.slab_keys[:, :, self.length : end] = key_states
        self.slab_values[:, :, self.length : end] = value_states
        self.length = end
        return self.slab_keys[:, :, :end], self.slab_values[:, :, :end]

    def select(self, rows: Tensor) -> None:
        """Keep only `rows`; the filled part is copied, the rest allocated anew."""
        for name in ("slab_keys", "slab_values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), *old.shape[1:])
            new[:, :, : self.length] = old[rows, :, : self.length]
            setattr(self, name, new)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a query of `query_length` sees."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Number of filled positions."""
        return self.length

    def get_max_length(self) -> int:
        """Number of positions the slab can hold."""
        return self.capacity


@dataclass(slots=True)
class Sampled:
    """One completion under construction: sampled ids, their log-probabilities, why it ended."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = "length"


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
    longest = max(len(prompt) for prompt in prompts)
    capacity = longest + max_new_tokens
    layers: list[Any] = [SlabLayer(capacity, group) for _ in range(model.config.num_hidden_layers)]
    cache = Cache(layers=layers)
    ids = torch.tensor([[pad_id] * (longest - len(p)) + list(p) for p in prompts], device=model.device)
    padding = torch.tensor([longest - len(p) for p in prompts], device=model.device)
    seen = (torch.arange(capacity, device=model.device) >= padding[:, None]).long()
    position = (torch.arange(longest, device=model.device) - padding[:, None]).clamp(min=0)
    output = model(
        input_ids=ids, attention_mask=seen[:, :longest], position_ids=position, cache=cache, logits_to_keep=1
    )
    logits = output.logits[:, -1].repeat_interleave(group, dim=0)
    results = [Sampled() for _ in range(len(prompts) * group)]
    live = torch.arange(len(results), device=model.device)
    seen, position = seen.repeat_interleave(group, dim=0), (longest - padding).repeat_interleave(group)
    visible = seen[:, None, None, :].bool() if bool(padding.any()) else None
    for step in range(max_new_tokens):
        token, logprob = draw(logits, temperature, generator)
        done = torch.zeros(len(live), dtype=torch.bool)
        for i, (row, t, lp) in enumerate(zip(live.tolist(), token.tolist(), logprob.tolist(), strict=True)):
            result = results[row]
            if result.finish != "stop":
                result.ids.append(t)
                result.logprobs.append(lp)
                result.finish = "stop" if t in stop_ids else "length"
            done[i] = result.finish == "stop"
        if bool(done.all()) or step == max_new_tokens - 1:
            break
        if float(done.float().mean()) >= COMPACT_SHARE:
            keep = (~done).nonzero().squeeze(1).to(model.device)
            live, token, position = live[keep], token[keep], position[keep]
            visible = visible[keep] if visible is not None else None
            for layer in layers:
                layer.select(keep)
        end = longest + step + 1
        mask = visible[..., :end] if visible is not None else None
        logits = model(
            input_ids=token[:, None], attention_mask=mask, position_ids=position[:, None], cache=cache
        ).logits[:, -1]
        position = position + 1
    return [results[i * group : (i + 1) * group] for i in range(len(prompts))]


def draw(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw one token a row from `logits` [rows, vocabulary]; returns ids and log-probabilities [rows]."""
    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0:
        token = logprobs.argmax(dim=-1)
    else:
        token = torch.multinomial(logprobs.exp(), 1, generator=generator).squeeze(1)
    return token, logprobs.gather(1, token[:, None]).squeeze(1)
