"""The hinter: writes a hint where an environment has none of its own. It is never trained."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spadelab.environments.extraction import find_answer
from spadelab.environments.interactive.hints import judge_hint
from spadelab.models.local import LocalModel
from spadelab.records import Environment
from spadelab.roles.asking import ask, source_prompt


def write_hints(
    model: LocalModel,
    environments: Sequence[Environment],
    temperature: float,
    max_new_tokens: int,
    generator: torch.Generator,
) -> list[str]:
    """One hint for each environment, all of its instances alike; "" means that there is no hinted arm.

    SPADE §1.5: the model sees the source, the temperature is low (0.3 there). Unlike there, an empty or
    illegal hint is never used.
    """
    prompts = [source_prompt("hint", environment) for environment in environments]
    replies = ask(model, prompts, max_new_tokens, temperature, generator)
    return [read_hint(reply, environment) for reply, environment in zip(replies, environments, strict=True)]


def read_hint(reply: str, environment: Environment) -> str:
    """The hint in a reply, "" when there is none or when it gives away what some instance hides."""
    hint = (find_answer(reply) or "").strip()
    plays = environment.demonstrations
    solutions = [[turn.action for turn in play.turns] for play in plays]
    observations = [text for play in plays for text in (play.opening, *(t.observation for t in play.turns))]
    return "" if judge_hint(hint, solutions, observations) else hint
