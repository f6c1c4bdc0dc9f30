"""Shared fixtures: tiny models with fresh weights, and a real jail for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

# On a busy machine an example may take seconds; that is no failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny models are fastest, and bit-identical, on one thread."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[object]:
    from spadelab.sandbox import Sandbox

    with Sandbox() as box:
        yield box


@pytest.fixture
def fresh_model():
    """A small model with random weights and the bundled tokenizer."""
    from spadelab.learning.warmstart import Recipe, build_model

    return build_model(Recipe(hidden=32, layers=2, heads=2))
