"""From scored work to rows, the type that every trainer takes.

Rows that would not move the weights (no advantage, no imitation, no completion) are left out.
Merging equal sequences is the learner's business, not done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spadelab.records import Admission, Episode, Generation, Row

PROPOSER = "proposer"
SOLVER = "solver"


def drop_faults(episodes: Iterable[Episode]) -> list[Episode]:
    """The episodes that say something about the solver.

    Take the advantages of these: a fault must not enter a group's mean either.
    """
    return [episode for episode in episodes if not episode.score.fault]


def solver_rows(episodes: Sequence[Episode], advantages: Sequence[float], version: int) -> list[Row]:
    """One row an episode, grouped by its environment.

    `advantages[i]` belongs to `episodes[i]`. Raises ValueError when the lengths differ or an
    episode is a fault.
    """
    rows = []
    for episode, advantage in zip(episodes, advantages, strict=True):
        if episode.score.fault:
            raise ValueError(f"an episode of {episode.environment} is a fault, drop it before credit")
        generation, task, group = episode.generation, episode.kind, episode.environment
        rows += _sampled_row(generation, advantage, SOLVER, task, group, version)
    return rows


def proposer_rows(admissions: Sequence[Admission], advantages: Sequence[float], version: int) -> list[Row]:
    """One row a draft, grouped by task kind. Drafts that no model sampled (seeds) give none.

    `advantages[i]` belongs to `admissions[i]`. Raises ValueError when the lengths differ.
    """
    rows = []
    for admission, advantage in zip(admissions, advantages, strict=True):
        draft = admission.draft
        if draft.generation is not None:
            rows += _sampled_row(draft.generation, advantage, PROPOSER, draft.kind, draft.kind, version)
    return rows


def gold_row(
    prompt_ids: Sequence[int],
    completion_ids: Sequence[int],
    weight: float,
    role: str,
    task: str,
    group: str,
    version: int,
) -> Row:
    """A row that imitates a completion which execution proved right; no policy gradient.

    It was not sampled, so its behaviour log-probabilities are 0. Raises ValueError without a
    completion.
    """
    if not completion_ids:
        raise ValueError("a gold row needs a completion")
    return Row(
        ids=(*prompt_ids, *completion_ids),
        mask=(0,) * len(prompt_ids) + (1,) * len(completion_ids),
        logprobs=(0.0,) * (len(prompt_ids) + len(completion_ids)),
        advantage=0.0,
        imitation=weight,
        role=role,
        task=task,
        group=group,
        version=version,
        tags=("gold",),
    )


def _sampled_row(
    generation: Generation, advantage: float, role: str, task: str, group: str, version: int
) -> list[Row]:
    """The row of a sampled completion, or none when it would not move the weights."""
    if advantage == 0.0 or not generation.ids:
        return []
    if len(generation.ids) != len(generation.logprobs):
        raise ValueError(f"{len(generation.ids)} tokens but {len(generation.logprobs)} log-probabilities")
    prompt = len(generation.prompt_ids)
    return [
        Row(
            ids=generation.prompt_ids + generation.ids,
            mask=(0,) * prompt + (1,) * len(generation.ids),
            logprobs=(0.0,) * prompt + generation.logprobs,
            advantage=advantage,
            imitation=0.0,
            role=role,
            task=task,
            group=group,
            version=version,
        )
    ]
