"""The proposer: asks the model for drafts at a requested difficulty, with earlier tasks as examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spadelab.config import Settings
from spadelab.environments.tasks import propose_text
from spadelab.models.local import LocalModel
from spadelab.records import Draft, Environment
from spadelab.roles.composition import compose


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the proposer for one draft."""

    kind: str
    difficulty: int
    references: tuple[Environment, ...] = ()


def proposer_prompt(request: Request, style: str, packages: Sequence[str]) -> str:
    """The prompt for one draft; references are shown as the drafts they were admitted from."""
    return compose(
        style,
        f"propose_{request.kind}",
        {
            "difficulty": str(request.difficulty),
            "references": "\n\n".join(propose_text(reference) for reference in request.references),
            "packages": ", ".join(("the standard library", *packages)),
        },
    )


def propose(
    model: LocalModel, requests: Sequence[Request], settings: Settings, cycle: int, generator: torch.Generator
) -> list[Draft]:
    """One draft for each request, in order."""
    role = settings.proposer
    prompts = [proposer_prompt(r, role.prompts, settings.sandbox.allowed_packages) for r in requests]
    groups = model.generate(prompts, 1, role.max_new_tokens, role.temperature, generator)
    return [
        Draft(f"c{cycle}-d{i}", request.kind, group[0].text, request.difficulty, group[0])
        for i, (request, group) in enumerate(zip(requests, groups, strict=True))
    ]
