"""Published additions to the rewards: filters, length and repetition penalties, intrinsic terms.

Single-turn rules of Absolute Zero, DAPO, R-Zero and GenEnv. No setting reaches them: the papers that
tried the intrinsic ones found no gain downstream. They are kept for the published test vectors
(rewards_and_advantages.json), and for whoever wants to compare with them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

InductionMode = Literal["binary", "if_one_correct", "accuracy"]
Combination = Literal["sum", "multiply", "sum_multiply", "multiply_sum"]


def induction_split(pairs: int) -> tuple[int, int]:
    """(visible, hidden) numbers of input/output pairs: the first half rounded down, the rest."""
    return pairs // 2, pairs - pairs // 2


def induction_accuracy(hits: Sequence[bool], mode: InductionMode = "binary") -> float:
    """Accuracy of an induced program over the hidden pairs: all right, any right, or the share.

    Raises ValueError without a hidden pair: nothing would have been tested.
    """
    if not hits:
        raise ValueError("induction needs at least one hidden pair")
    if mode == "binary":
        return float(all(hits))
    return float(any(hits)) if mode == "if_one_correct" else sum(hits) / len(hits)


def overlong(length: int, limit: int, margin: int) -> float:
    """DAPO's soft penalty: 0 up to limit - margin tokens, then linear to -1 at the limit."""
    return min(0.0, max(-1.0, (limit - margin - length) / margin))


def is_mixed(wins: int, n: int) -> bool:
    """DAPO's dynamic sampling: keep a group iff 0 < wins < n, the others carry no gradient."""
    return 0 < wins < n


def is_within(p: float, low: float, high: float) -> bool:
    """Keep low <= p <= high (R-Zero: 0.25 to 0.75, its code 0.3 to 0.8; GenEnv: 0.4 to 0.6)."""
    return low - 1e-9 <= p <= high + 1e-9


def r_zero(p: float, share: float, weight: float = 1.0) -> float:
    """R-Zero's composite: max(0, 1 - 2 |p - 1/2| - weight share), share of the batch in its cluster."""
    return max(0.0, 1.0 - 2.0 * abs(p - 0.5) - weight * share)


def r_zero_repo(p: float | None, share: float) -> float:
    """R-Zero's code: min(p, 1 - p) - share without a floor; p None for an invalid question: -1 - share."""
    return (-1.0 if p is None else min(p, 1.0 - p)) - share


def majority(answers: Sequence[str]) -> tuple[str, float]:
    """The most frequent non-empty answer and its share of all answers, the empty ones counted.

    Ties go to the first. ("", 0) when nothing was answered.
    """
    counts = Counter(answer for answer in answers if answer)
    if not counts:
        return "", 0.0
    answer, count = counts.most_common(1)[0]
    return answer, count / len(answers)


def halstead(effort: float, cyclomatic: float, volume: float) -> float:
    """0.5 min(E/10^4, 1) + 0.3 min(CC/10, 1) + 0.2 min(V/500, 1), three decimals."""
    parts = 0.5 * min(effort / 1e4, 1) + 0.3 * min(cyclomatic / 10, 1) + 0.2 * min(volume / 500, 1)
    return round(parts, 3)


def complexity(cognitive: float) -> float:
    """Cognitive complexity / 15, not capped here."""
    return cognitive / 15.0


def surprise(counts: Mapping[str, Mapping[str, int]], kind: str, answer: str) -> float:
    """How rare an answer is among those seen, 1 - count / total; `counts[type][answer]`."""
    total = sum(sum(answers.values()) for answers in counts.values())
    return 1.0 - counts.get(kind, {}).get(answer, 0) / total if total else 1.0


def surprise_by_type(counts: Mapping[str, Mapping[str, int]], kind: str, answer: str) -> float:
    """((1 - P(type)) + (1 - P(answer | type))) / 2."""
    total = sum(sum(answers.values()) for answers in counts.values())
    same = counts.get(kind, {})
    within = sum(same.values())
    p_type = within / total if total else 0.0
    p_answer = same.get(answer, 0) / within if within else 0.0
    return ((1.0 - p_type) + (1.0 - p_answer)) / 2.0


def combine(
    reward: float,
    raw: Sequence[float],
    coefficients: Sequence[float],
    cap: float = 0.5,
    how: Combination = "sum",
) -> float:
    """Absolute Zero's intrinsic terms c_i = min(coefficient_i raw_i, cap), joined with the reward.

    r + sum c ("sum"), r prod c ("multiply"), r + prod c ("sum_multiply"), r sum c ("multiply_sum").
    Raises ValueError when `raw` and `coefficients` differ in length.
    """
    terms = [min(c * value, cap) for c, value in zip(coefficients, raw, strict=True)]
    joined = math.fsum(terms) if how in ("sum", "multiply_sum") else math.prod(terms)
    return reward + joined if how in ("sum", "sum_multiply") else reward * joined


def bleu(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Sentence BLEU-4 with one reference; a missing n-gram order counts 0.1 (smoothing method 1).

    0 without a common word.
    """
    if not set(reference) & set(hypothesis):
        return 0.0
    logs = []
    for order in range(1, 5):
        written = Counter(_grams(hypothesis, order))
        matches = (written & Counter(_grams(reference, order))).total()
        logs.append(math.log((matches or 0.1) / max(1, written.total())))
    brevity = min(1.0, math.exp(1.0 - len(reference) / len(hypothesis)))
    return brevity * math.exp(math.fsum(logs) / 4)


def cluster(distances: Sequence[Sequence[float]], threshold: float = 0.5) -> list[int]:
    """Labels of an agglomerative clustering: the closest pair, by mean distance, joins below `threshold`.

    `distances` is a full symmetric matrix. Labels number the clusters by first member. O(n^3).
    """
    groups = [[i] for i in range(len(distances))]
    while len(groups) > 1:
        gap, a, b = min(
            (_mean_distance(distances, groups[a], groups[b]), a, b)
            for a in range(len(groups))
            for b in range(a + 1, len(groups))
        )
        if gap >= threshold:
            break
        groups[a] += groups.pop(b)
    labels = [0] * len(distances)
    for label, members in enumerate(sorted(groups, key=min)):
        for i in members:
            labels[i] = label
    return labels


def repetition_shares(sentences: Sequence[str], threshold: float = 0.5) -> list[float]:
    """R-Zero's repetition penalty: the share of the batch in each sentence's BLEU cluster.

    Distance 1 - BLEU of words split at spaces, the later sentence as reference (as its code).
    """
    words = [sentence.split() for sentence in sentences]
    n = len(words)
    distances = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            distances[i][j] = distances[j][i] = 1.0 - bleu(words[j], words[i])
    labels = cluster(distances, threshold)
    sizes = Counter(labels)
    return [sizes[label] / n for label in labels]


def _grams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + order]) for i in range(len(words) - order + 1)]


def _mean_distance(distances: Sequence[Sequence[float]], left: Sequence[int], right: Sequence[int]) -> float:
    return math.fsum(distances[i][j] for i in left for j in right) / (len(left) * len(right))
