"""The judge: an opinion on admitted environments, which can only take an admission back.

SPADE's validator accepts on an empty reply, a missing box or an error; this one then says no.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from spadelab.environments.extraction import find_answer, strip_thoughts
from spadelab.models.local import LocalModel
from spadelab.records import Admission, Check, Environment
from spadelab.roles.actions import find_boxed
from spadelab.roles.asking import ask, source_prompt

MAX_REASON_CHARS = 300

_YES = re.compile(r"(?:\\text\{\s*)?yes\.?(?:\s*\})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge said; `reason` is the end of its reasoning, or why its reply counts as a no."""

    accepted: bool
    reason: str


def judge(
    model: LocalModel,
    environments: Sequence[Environment],
    temperature: float,
    max_new_tokens: int,
    generator: torch.Generator,
) -> list[Verdict]:
    """One verdict for each environment, in order; an environment too long for the model gets a no."""
    prompts = [source_prompt("judge", environment) for environment in environments]
    return [read_verdict(reply) for reply in ask(model, prompts, max_new_tokens, temperature, generator)]


def read_verdict(reply: str) -> Verdict:
    r"""Yes only where the last `\boxed{}`, or the last answer block, or both say so and nothing else."""
    visible = strip_thoughts(reply)
    if visible is None:
        return Verdict(False, "a thought of the judge is never closed")
    given = [text.strip() for text in (find_boxed(visible), find_answer(visible)) if text is not None]
    if not given:
        return Verdict(False, "the judge gave no verdict")
    reasoning = " ".join(re.split(r"\\boxed|<answer>", visible)[0].split())
    reason = reasoning[-MAX_REASON_CHARS:] or f"verdict: {given[0][:80]}"
    return Verdict(all(map(_YES.fullmatch, given)), reason)


def veto(admission: Admission, verdicts: Mapping[str, Verdict]) -> Admission:
    """The admission after the judge, whose verdicts go by environment id.

    A no, or no verdict, rejects it with code "judged_unfit"; a yes admits nothing that a gate rejected.
    """
    if admission.environment is None:
        return admission
    verdict = verdicts.get(admission.environment.id, Verdict(False, "the judge was not heard"))
    if verdict.accepted:
        return admission
    check = Check("judge", False, "judged_unfit", verdict.reason)
    return replace(admission, checks=(*admission.checks, check), environment=None)
