"""Batched sampling on the learner's own weights.

Savings over `generate` of transformers: each prompt is prefilled once and its cache repeated for the
group, a conversation goes on from the cache of its last turn, keys and values are written into a slab with
some room (no concatenation a step), finished rows leave when the slab is full, attention of single queries
is done by plain matrix products, and one uniform number a row draws its token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from spadelab.models.slab import Past, Recalled, Slab, SlabLayer


@dataclass(slots=True)
class Sampled:
    """One completion: sampled ids, their log-probabilities, why it ended."""

    ids: list[int]
    logprobs: list[float]
    finish: str


class Batch:
    """Rows that are decoded together: their cache, next position, and logits of the next token."""

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: Sequence[Sequence[int]],
        max_new_tokens: int,
        pad_id: int,
        pasts: Sequence[Past],
    ) -> None:
        """Prefill `prompts`, one row each, padded on the left; of each only what its past does not hold.

        All rows end in the same column, so the padding of a row that has less to compute than others lies
        where its past belongs.
        """
        self.model = model
        longest = max(map(len, prompts))
        recalled = [
            Recalled(past, past.agree(prompt), row, longest - len(prompt))
            for row, (past, prompt) in enumerate(zip(pasts, prompts, strict=True))
        ]
        news = [list(prompt[piece.length :]) for piece, prompt in zip(recalled, prompts, strict=True)]
        width = max(map(len, news))
        number = model.config.num_hidden_layers
        self.layers = [SlabLayer(layer, longest - width, recalled) for layer in range(number)]
        self.cache = Cache(layers=[*self.layers])
        padded = [[pad_id] * (width - len(new)) + new for new in news]
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=model.device)[:, None]
        steps = torch.arange(longest + max_new_tokens, device=model.device)
        hidden = steps < longest - lengths
        self.logits = model(
            input_ids=torch.tensor(padded, device=model.device),
            attention_mask=(~hidden[:, :longest]).long(),
            position_ids=(steps[longest - width : longest] - longest + lengths).clamp(min=0),
            cache=self.cache,
            logits_to_keep=1,
        ).logits[:, -1]
        for past in pasts:
            past.clear()
        self.position = lengths
        self.mask = torch.zeros(hidden.shape, dtype=model.dtype, device=model.device)
        self.mask = self.mask.masked_fill(hidden, torch.finfo(model.dtype).min)[:, None, None]

    def select(self, rows: Tensor) -> None:
        """Keep only `rows`, which may repeat, with room for more tokens."""
        self.logits, self.position, self.mask = self.logits[rows], self.position[rows], self.mask[rows]
        for layer in self.layers:
            layer.rebuild(rows)

    def slabs(self) -> list[Slab]:
        """The slab of each layer."""
        return [(layer.slab_keys, layer.slab_values) for layer in self.layers]

    def part(self, rows: Tensor) -> list[Slab]:
        """A copy of `rows` of each layer's slab."""
        return [(keys[rows], values[rows]) for keys, values in self.slabs()]

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
    pasts: Sequence[Past] = (),
) -> list[list[Sampled]]:
    """Sample `group` completions for each of `prompts` (token ids) in one batch.

    Log-probabilities are those of the distribution sampled from, softmax(logits / temperature);
    temperature 0 is greedy and keeps the log-probabilities at temperature 1. A stop id ends a
    completion and belongs to it. `pasts` are one for each prompt, with a group of 1: what they
    hold of it is not computed again, and then they hold the prompt with its completion.
    """
    batch = Batch(model, prompts, max_new_tokens, pad_id, pasts or [Past() for _ in prompts])
    live = torch.arange(len(prompts) * group, device=model.device)
    if group > 1:
        batch.select(live // group)
    left: list[tuple[Tensor, list[Slab]]] = []
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
                keep, leave = (~done).nonzero().squeeze(1), done.nonzero().squeeze(1)
                if pasts:
                    left.append((live[leave], batch.part(leave)))
                live, token, done = live[keep], token[keep], done[keep]
                batch.select(keep)
            batch.advance(token)
    found = torch.isin(tokens, stops).long()
    lengths = torch.where(found.any(dim=1), found.argmax(dim=1) + 1, max_new_tokens).tolist()
    finishes = ["stop" if stopped else "length" for stopped in found.any(dim=1).tolist()]
    columns = zip(tokens.tolist(), logprobs.tolist(), lengths, finishes, strict=True)
    rows = [Sampled(ids[:length], values[:length], finish) for ids, values, length, finish in columns]
    if pasts:
        keep_pasts(pasts, prompts, rows, [*left, (live, batch.slabs())])
    return [rows[start : start + group] for start in range(0, len(rows), group)]


def keep_pasts(
    pasts: Sequence[Past],
    prompts: Sequence[Sequence[int]],
    sampled: Sequence[Sampled],
    parts: Sequence[tuple[Tensor, list[Slab]]],
) -> None:
    """Let `pasts` hold all tokens but the last, which may never have been fed; `parts` are rows and slabs."""
    longest = max(map(len, prompts))
    for rows, slabs in parts:
        for row, i in enumerate(rows.tolist()):
            ids = (*prompts[i], *sampled[i].ids[:-1])
            pasts[i].hold(ids, slabs, row, longest - len(prompts[i]))


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
