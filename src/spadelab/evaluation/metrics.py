"""The reproducible numbers of a cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from spadelab.credit.regret import Arms, raw_regret
from spadelab.credit.rewards import obeys
from spadelab.records import Admission, Environment, Episode


def describe_cycle(
    admissions: Sequence[Admission],
    environments: Sequence[Environment],
    episodes: Sequence[Episode],
    solved: Mapping[str, tuple[int, int]],
    arms: Mapping[str, Arms],
    rewards: Sequence[float],
    copies: Sequence[float],
    tolerance: float,
) -> dict[str, Any]:
    """Shares and means over a cycle's drafts, played environments and episodes.

    `solved` has (wins, attempts) by environment id, `arms` the returns of both arms, `rewards` the
    proposer's, one a draft that was paid, `copies` the share of near copies of each environment paid for.
    """
    plain = [episode for episode in episodes if episode.arm == "plain"]
    admitted = [a for a in admissions if a.environment is not None]
    obeyed = [
        a for a in admitted if a.environment and obeys(a.draft.asked, a.environment.difficulty, tolerance)
    ]
    rates = {e.id: solved[e.id][0] / solved[e.id][1] for e in environments if solved.get(e.id, (0, 0))[1]}
    return {
        "drafts": len(admissions),
        "valid": len(admitted) / max(1, len(admissions)),
        "obeyed": len(obeyed) / max(1, len(admitted)),
        "rejections": dict(Counter(a.rejection for a in admissions if a.environment is None)),
        "solve_rate": by_kind(environments, rates),
        "solve_histogram": histogram(list(rates.values())),
        "difficulty": by_kind(environments, {e.id: float(e.difficulty) for e in environments}),
        "proposer_reward": sum(rewards) / max(1, len(rewards)),
        "faults": sum(episode.score.fault for episode in episodes),
        "outcomes": dict(Counter(episode.score.outcome for episode in plain)),
        "truncated": sum(episode.generation.finish == "length" for episode in plain),
        "tokens": sum(len(episode.generation.ids) for episode in episodes),
        **({"copies": sum(copies) / len(copies)} if copies else {}),
        **describe_regret(arms),
    }


def describe_regret(arms: Mapping[str, Arms]) -> dict[str, float]:
    """Raw regret over all pairs of a cycle and its standard error; nothing where no hint was given."""
    pairs = [(p, h) for a in arms.values() if a.hinted for p, h in zip(a.plain, a.hinted, strict=True)]
    if len(pairs) < 2:
        return {}
    mean, error = raw_regret([plain for plain, _ in pairs], [hinted for _, hinted in pairs])
    return {"regret": mean, "regret_error": error, "regret_pairs": float(len(pairs))}


def by_kind(environments: Sequence[Environment], values: Mapping[str, float]) -> dict[str, float]:
    """Mean of `values` (by environment id) over the environments of each kind."""
    kinds = sorted({e.kind for e in environments if e.id in values})
    groups = {k: [values[e.id] for e in environments if e.kind == k and e.id in values] for k in kinds}
    return {kind: sum(group) / len(group) for kind, group in groups.items()}


def histogram(rates: Sequence[float], bins: int = 10) -> list[int]:
    """Counts of solve rates: exactly 0, `bins` equal parts of the open interval, exactly 1."""
    counts = [0] * (bins + 2)
    for rate in rates:
        counts[0 if rate == 0 else bins + 1 if rate == 1 else 1 + int(rate * bins)] += 1
    return counts
