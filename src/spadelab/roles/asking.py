"""Questions to a model that are never trained on: one prompt, one reply."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spadelab.models.local import LocalModel
from spadelab.records import Environment
from spadelab.roles.composition import compose
from spadelab.roles.quoting import choose_fence, clean_name, escape


def ask(
    model: LocalModel,
    prompts: Sequence[str],
    max_new_tokens: int,
    temperature: float,
    generator: torch.Generator,
) -> list[str]:
    """The reply to each prompt, in order; "" to one that leaves no room under `model.max_length`."""
    fitting = [p for p in dict.fromkeys(prompts) if len(model.encode_prompt(p)) < model.max_length]
    groups = model.generate(fitting, 1, max_new_tokens, temperature, generator)
    replies = {prompt: group[0].text for prompt, group in zip(fitting, groups, strict=True)}
    return [replies.get(prompt, "") for prompt in prompts]


def source_prompt(name: str, environment: Environment) -> str:
    """The prompt `name` with an environment's source as fenced data."""
    source = escape(environment.source)
    slots = {"source": source, "fence": choose_fence(source), "skill": clean_name(environment.kind)}
    return compose("full_interactive", name, slots)
