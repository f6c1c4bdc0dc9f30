"""Named, serialisable random streams: the only source of randomness in the project.

Each stream is derived from (seed, library, name) alone, so adding a stream or changing the order
in which streams are first used never changes the numbers that another stream gives.
"""

from __future__ import annotations

import base64
import hashlib
import random
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


class Streams:
    """Random streams of one run, created on first use and kept.

    The same object is returned for a name each time, and `restore` changes it in place, so a
    component may hold on to its stream. Not thread-safe: give every thread its own name.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._python: dict[str, random.Random] = {}
        self._numpy: dict[str, np.random.Generator] = {}
        self._torch: dict[str, torch.Generator] = {}

    def python(self, name: str) -> random.Random:
        """The `random.Random` called `name`."""
        if name not in self._python:
            self._python[name] = random.Random(self._derive("python", name))
        return self._python[name]

    def numpy(self, name: str) -> np.random.Generator:
        """The numpy generator (PCG64) called `name`."""
        if name not in self._numpy:
            self._numpy[name] = np.random.Generator(np.random.PCG64(self._derive("numpy", name)))
        return self._numpy[name]

    def torch(self, name: str) -> torch.Generator:
        """The torch generator called `name`, on the CPU. Imports torch on first use only."""
        if name not in self._torch:
            import torch

            generator = torch.Generator()
            generator.manual_seed(self._derive("torch", name))
            self._torch[name] = generator
        return self._torch[name]

    def state(self) -> dict[str, Any]:
        """Everything `restore` needs, as JSON (no integer above 64 bits, no bytes)."""
        return {
            "seed": self.seed,
            "python": {name: _pack_python(stream) for name, stream in self._python.items()},
            "numpy": {name: _pack_numpy(stream) for name, stream in self._numpy.items()},
            "torch": {name: _pack_torch(stream) for name, stream in self._torch.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put every stream where it was when `state` was taken.

        Streams that did not exist then start again from the seed, as they would have.
        Raises ValueError when the state belongs to another seed.
        """
        if state["seed"] != self.seed:
            raise ValueError(f"the random state belongs to seed {state['seed']}, this run has {self.seed}")
        for name in {*self._python, *state["python"]}:
            packed = state["python"].get(name) or _pack_python(Streams(self.seed).python(name))
            _unpack_python(self.python(name), packed)
        for name in {*self._numpy, *state["numpy"]}:
            packed = state["numpy"].get(name) or _pack_numpy(Streams(self.seed).numpy(name))
            _unpack_numpy(self.numpy(name), packed)
        for name in {*self._torch, *state["torch"]}:
            packed = state["torch"].get(name) or _pack_torch(Streams(self.seed).torch(name))
            _unpack_torch(self.torch(name), packed)

    def _derive(self, library: str, name: str) -> int:
        """A 63-bit seed (torch takes no more) from the hash of seed, library and name."""
        digest = hashlib.sha256(f"{self.seed}\0{library}\0{name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1


def _pack_python(stream: random.Random) -> list[Any]:
    version, words, gauss = stream.getstate()
    return [version, list(words), gauss]


def _unpack_python(stream: random.Random, packed: list[Any]) -> None:
    version, words, gauss = packed
    stream.setstate((version, tuple(words), gauss))


def _pack_numpy(stream: np.random.Generator) -> dict[str, Any]:
    state = stream.bit_generator.state
    # The two PCG64 words have 128 bits, more than msgpack and many JSON readers take.
    words = {key: str(value) for key, value in state["state"].items()}
    return {"state": words, "has_uint32": int(state["has_uint32"]), "uinteger": int(state["uinteger"])}


def _unpack_numpy(stream: np.random.Generator, packed: dict[str, Any]) -> None:
    words = {key: int(value) for key, value in packed["state"].items()}
    stream.bit_generator.state = {"bit_generator": "PCG64", **packed, "state": words}


def _pack_torch(stream: torch.Generator) -> str:
    return base64.b64encode(stream.get_state().numpy().tobytes()).decode()


def _unpack_torch(stream: torch.Generator, packed: str) -> None:
    import torch

    stream.set_state(torch.frombuffer(bytearray(base64.b64decode(packed)), dtype=torch.uint8))
