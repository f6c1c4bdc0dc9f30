"""The cache of a batch: one slab a layer for all its rows, and what is kept of a row between two calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, count
from operator import ne
from typing import Any

import torch
from torch import Tensor
from transformers import PretrainedConfig
from transformers.cache_utils import CacheLayerMixin

Slab = tuple[Tensor, Tensor]
"""Keys and values of one layer, [rows, heads, columns, dim]."""
# Room of a slab, as a share of its filled length and at least so many positions. A rebuild copies the
# cache, which costs about as much as one step; in exchange finished rows leave, and the filled part stays
# nearly contiguous, without which attention over single queries takes up to three times as long.
ROOM_SHARE, LEAST_ROOM = 8, 4
# The layers whose keys and values belong to a token and those before it alone, whatever comes after, and
# the rotations that turn all positions anew once the row is long.
CAUSAL_LAYERS, RESTLESS_ROTATIONS = {"full_attention", "sliding_attention"}, {"dynamic", "longrope"}


def with_room(length: int) -> int:
    """Columns of a slab of which `length` are filled."""
    return length + max(LEAST_ROOM, length // ROOM_SHARE)


def is_lasting(config: PretrainedConfig) -> bool:
    """Whether what is cached of a prefix holds for every continuation of it, as the learner computes it."""
    layers = set(getattr(config, "layer_types", None) or ())
    rotation = getattr(config, "rope_parameters", None) or {}
    by_layer = [entry for entry in rotation.values() if isinstance(entry, dict)]
    kinds = {entry.get("rope_type") for entry in [rotation, *by_layer]}
    return layers <= CAUSAL_LAYERS and not kinds & RESTLESS_ROTATIONS


@dataclass(slots=True)
class Past:
    """What the cache holds of one conversation: its tokens `ids`, in a row of each layer's slab.

    Token i is in column `start` + i. Worthless once the weights have changed.
    """

    ids: tuple[int, ...] = ()
    slabs: Sequence[Slab] = ()
    row: int = 0
    start: int = 0

    def agree(self, prompt: Sequence[int]) -> int:
        """How many leading tokens of `prompt` need not be computed; the last one always must."""
        most = min(len(self.ids), len(prompt) - 1)
        return min(most, next(compress(count(), map(ne, self.ids, prompt)), most))

    def hold(self, ids: tuple[int, ...], slabs: Sequence[Slab], row: int, start: int) -> None:
        """Hold this instead of what was held."""
        self.ids, self.slabs, self.row, self.start = ids, slabs, row, start

    def clear(self) -> None:
        """Hold nothing, so that the memory is free."""
        self.hold((), (), 0, 0)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The first `length` tokens of a past, and where they go: columns of a row of the new slab."""

    past: Past
    length: int
    row: int
    start: int

    def copy_to(self, slab: Tensor, layer: int, which: int) -> None:
        """Copy the keys (`which` 0) or values (1) of one layer into `slab`."""
        first = self.past.start
        held = self.past.slabs[layer][which][self.past.row, :, first : first + self.length]
        slab[self.row, :, self.start : self.start + self.length] = held


class SlabLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, [rows, heads, capacity, dim], filled from the left."""

    is_sliding = False

    def __init__(self, number: int, length: int, recalled: Sequence[Recalled]) -> None:
        """`length` columns are filled before the first update: padding and what is `recalled`."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.number, self.length = number, length
        self.recalled = [piece for piece in recalled if piece.length]

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Lay out the states of the prefill, then what is recalled: that takes the place of padding."""
        slabs = []
        for which, states in enumerate((key_states, value_states)):
            rows, heads, width, dim = states.shape
            end = self.length + width
            slab = states.new_zeros(rows, heads, with_room(end), dim)
            slab[:, :, self.length : end] = states
            for piece in self.recalled:
                piece.copy_to(slab, self.number, which)
            slabs.append(slab)
        self.slab_keys, self.slab_values = slabs
        self.recalled = []
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Slab:
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
        for name in ("slab_keys", "slab_values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), old.shape[1], with_room(self.length), old.shape[3])
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
