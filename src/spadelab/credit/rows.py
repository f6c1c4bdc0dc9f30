"""From scored work to rows, the type that every trainer takes.

Rows that would not move the weights (no advantage, no imitation, no completion) are left out.
Merging equal sequences is the learner's business, not done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spadelab.records import Draft, Episode, Generation, Row

PROPOSER = "proposer"
SOLVER = "solver"


def drop_faults(episodes: Iterable[Episode]) -> list[Episode]:
    """The episodes that say something about the solver.

    Take the advantages of these: a fault must not enter a group's mean either.
    """
    return [episode for episode in episodes if not episode.score.fault]


def solver_rows(episodes: Sequence[Episode], advantages: Sequence[float], version: int) -> list[Row]:
    """The rows of each episode, grouped by its environment: one for each of its training sequences.

    `advantages[i]` belongs to `episodes[i]`. Raises ValueError when the lengths differ or an
    episode is a fault.
    """
    rows = []
    for episode, advantage in zip(episodes, advantages, strict=True):
        if episode.score.fault:
            raise ValueError(f"an episode of {episode.environment} is a fault, drop it before credit")
        task, group = episode.kind, episode.environment
        for generation in (episode.generation, *episode.continuations):
            rows += _sampled_row(generation, advantage, SOLVER, task, group, version)
    return rows


def proposer_rows(drafts: Sequence[tuple[Draft, int]], advantages: Sequence[float]) -> list[Row]:
    """One row a (draft, policy version), grouped by kind. Drafts that no model sampled (seeds) give none.

    `advantages[i]` belongs to `drafts[i]`. Raises ValueError when the lengths differ.
    """
    rows = []
    for (draft, version), advantage in zip(drafts, advantages, strict=True):
        if draft.generation is not None:
            rows += _sampled_row(draft.generation, advantage, PROPOSER, draft.kind, draft.kind, version)
    return rows


def gold_row(generation: Generation, weight: float, role: str, task: str, group: str, version: int) -> Row:
    """A row that imitates play which execution proved right; no policy gradient.

    It was not sampled, so its behaviour log-probabilities are 0. Raises ValueError without a
    completion.
    """
    if not generation.ids:
        raise ValueError("a gold row needs a completion")
    ids, mask, _ = _sequence(generation)
    return Row(ids, mask, (0.0,) * len(ids), 0.0, weight, role, task, group, version, ("gold",))


def _sampled_row(
    generation: Generation, advantage: float, role: str, task: str, group: str, version: int
) -> list[Row]:
    """The row of a sampled sequence, or none when it would not move the weights."""
    if advantage == 0.0 or not generation.ids:
        return []
    if len(generation.ids) != len(generation.logprobs):
        raise ValueError(f"{len(generation.ids)} tokens but {len(generation.logprobs)} log-probabilities")
    return [Row(*_sequence(generation), advantage, 0.0, role, task, group, version)]


def _sequence(generation: Generation) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
    """Ids, mask and log-probabilities with the prompt: what the model did not draw is not trained on."""
    prompt = len(generation.prompt_ids)
    return (
        generation.prompt_ids + generation.ids,
        (0,) * prompt + (generation.sampled or (1,) * len(generation.ids)),
        (0.0,) * prompt + generation.logprobs,
    )
