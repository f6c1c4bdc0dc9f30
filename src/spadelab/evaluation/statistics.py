"""Estimates with honest intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

import numpy as np


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its two-sided confidence interval."""

    estimate: float
    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Whether the two intervals share a point."""
        return self.low <= other.high and other.low <= self.high


def pass_at_k(n: int, wins: int, k: int) -> float:
    """Unbiased probability that one of k samples wins: 1 - C(n - c, k) / C(n, k).

    Chen et al., arXiv 2107.03374, from `wins` = c of n samples. Raises ValueError unless
    0 <= wins <= n and 1 <= k <= n.
    """
    if not 0 <= wins <= n or not 1 <= k <= n:
        raise ValueError(f"pass@k needs 0 <= wins <= n and 1 <= k <= n, got n={n}, wins={wins}, k={k}")
    return 1.0 - math.comb(n - wins, k) / math.comb(n, k)


def pass_at_k_plugin(n: int, wins: int, k: int) -> float:
    """The biased 1 - (1 - c / n)^k, never above `pass_at_k`; here to show the difference."""
    return 1.0 - (1.0 - wins / n) ** k


def wilson(wins: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion; sound at 0 and n wins. (0, 1) for n = 0.

    Raises ValueError unless 0 <= wins <= n and 0 < confidence < 1.
    """
    if not 0 <= wins <= n:
        raise ValueError(f"a proportion needs 0 <= wins <= n, got wins={wins}, n={n}")
    z = NormalDist().inv_cdf(0.5 + _valid(confidence) / 2)
    if n == 0:
        return Interval(math.nan, 0.0, 1.0)
    p = wins / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the ends the formula gives exactly 0 and 1, the arithmetic only nearly.
    low = 0.0 if wins == 0 else centre - half
    return Interval(p, low, 1.0 if wins == n else centre + half)


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean, for few independent values such as one a seed.

    Of paired differences it is the interval of the paired comparison. Raises ValueError for
    fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval needs at least two values, got {n}")
    mean = fmean(values)
    half = t_quantile(0.5 + _valid(confidence) / 2, n - 1) * stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def bootstrap(
    table: Sequence[Sequence[float]],
    stream: np.random.Generator,
    confidence: float = 0.95,
    draws: int = 2000,
    strata: Sequence[Hashable] | None = None,
) -> Interval:
    """Percentile interval of the mean of `table` [seeds, tasks], both resampled with replacement.

    The same tasks stand in every row, so columns are drawn once for all seeds: a task that is hard
    for one seed is hard for all. One row gives the interval over tasks alone. `strata` names the
    stratum of each task where their numbers are fixed by design: tasks are then drawn within strata.
    Raises ValueError for an empty or ragged table.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise ValueError("the bootstrap needs a full table of seeds by tasks")
    tail = (1 - _valid(confidence)) / 2
    seeds, tasks = values.shape
    names = list(strata) if strata is not None else [None] * tasks
    members = [np.flatnonzero([name == key for name in names]) for key in dict.fromkeys(names)]
    means = np.empty(draws)
    for draw in range(draws):
        rows = values[stream.integers(seeds, size=seeds)].mean(axis=0)
        chosen = [group[stream.integers(len(group), size=len(group))] for group in members]
        means[draw] = rows[np.concatenate(chosen)].mean()
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high))


def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's distribution for a whole number of degrees of freedom, >= 1.

    Bisection on the exact series of the distribution function (Abramowitz and Stegun 26.7.3 and
    26.7.4); no dependency is worth these lines. Raises ValueError outside 0 < probability < 1.
    """
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"no t quantile for probability {probability}, {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while _t_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if _t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_cdf(t: float, freedom: int) -> float:
    """P(T <= t) for t >= 0."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine_squared = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2:
        term, total = math.cos(angle), 0.0
        for j in range(1, (freedom + 1) // 2):
            total += term
            term *= 2 * j / (2 * j + 1) * cosine_squared
        inside = (angle + sine * total) * 2 / math.pi
    else:
        term, total = 1.0, 0.0
        for j in range(1, freedom // 2 + 1):
            total += term
            term *= (2 * j - 1) / (2 * j) * cosine_squared
        inside = sine * total
    return 0.5 + inside / 2


def _valid(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    return confidence
