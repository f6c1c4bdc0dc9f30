"""Rewards of both roles: pure functions, each the published rule it is named after.

A proposer rule takes (wins, n): of n faultless attempts at one task, how many won. p = wins / n.
The numbers are fixed by the test vectors (rewards_and_advantages.json, frontier_reward.json).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from spadelab.environments.interactive.session import WIN
from spadelab.records import Episode

ProposerRule = Callable[[int, int], float]
SolverRule = Callable[[float, bool], float]

SIGNAL_SHARE = 0.6
REGRET_SHARE = 0.4

_FORMAT = re.compile(r"(?s)<think>.*?</think>\s*<answer>.*?</answer>")


def _rate(wins: int, n: int) -> float:
    """p = wins / n. Raises ValueError unless 0 <= wins <= n and n >= 1."""
    if n < 1 or not 0 <= wins <= n:
        raise ValueError(f"a solve rate needs 0 <= wins <= n and n >= 1, got wins={wins}, n={n}")
    return wins / n


def azr(wins: int, n: int) -> float:
    """Learnability of Absolute Zero (arXiv 2505.03335, Eq. 4): 1 - p, and 0 at p = 0 or 1."""
    p = _rate(wins, n)
    return 1.0 - p if 0 < p < 1 else 0.0


def azr_repo(wins: int, n: int) -> float:
    """What the Absolute Zero code pays: as `azr`, but -0.5 at p = 0 or 1 (its issue 37)."""
    p = _rate(wins, n)
    return 1.0 - p if 0 < p < 1 else -0.5


def azr_inverse(wins: int, n: int) -> float:
    """The code's `inverse` option, for comparison: an unsolvable task earns the most."""
    p = _rate(wins, n)
    return 1.0 - p if p < 1 else -0.5


def learnability(wins: int, n: int) -> float:
    """p (1 - p): the variance of the outcome, a bound on what a policy gradient can learn."""
    p = _rate(wins, n)
    return p * (1.0 - p)


def signal(wins: int, n: int) -> float:
    """min(1, 4 k (n - k) / (n (n - 1))): unbiased estimate of 4 p (1 - p), capped; 0 for n < 2."""
    if n < 2:
        return 0.0
    _rate(wins, n)
    return min(1.0, 4.0 * wins * (n - wins) / (n * (n - 1)))


def regret_bound(unhinted: Sequence[float], hinted: Sequence[float], z: float = 1.0) -> float:
    """Lower confidence bound of the paired regret, floored at 0: max(0, mean(d) - z sd(d)/sqrt(n)).

    d_i = hinted_i - unhinted_i are returns on the same seed; sd has Bessel's factor. 0 for n < 2.
    Raises ValueError when the two have different lengths.
    """
    gains = [h - u for u, h in zip(unhinted, hinted, strict=True)]
    n = len(gains)
    if n < 2:
        return 0.0
    mean = math.fsum(gains) / n
    variance = math.fsum((gain - mean) ** 2 for gain in gains) / (n - 1)
    return max(0.0, mean - z * math.sqrt(variance / n))


def frontier(unhinted: Sequence[float], hinted: Sequence[float] | None = None) -> float:
    """The default rule: 0.6 signal + 0.4 [wins >= 1] regret_bound, from returns per seed.

    A task that is never won without the hint earns nothing (a password is no lesson). Without
    `hinted` only the first part is paid, as if the hint had changed nothing.
    """
    wins = count_wins(unhinted)
    value = SIGNAL_SHARE * signal(wins, len(unhinted))
    if hinted is not None and wins >= 1:
        value += REGRET_SHARE * regret_bound(unhinted, hinted)
    return value


def frontier_unhinted(wins: int, n: int) -> float:
    """`frontier` for tasks without hints, from counts."""
    return SIGNAL_SHARE * signal(wins, n)


def uncertainty(wins: int, n: int) -> float:
    """R-Zero (arXiv 2508.05004): 1 - 2 |p - 1/2|."""
    return 1.0 - 2.0 * abs(_rate(wins, n) - 0.5)


def uncertainty_repo(wins: int, n: int) -> float:
    """What R-Zero's code pays: min(p, 1 - p), half of `uncertainty`."""
    p = _rate(wins, n)
    return min(p, 1.0 - p)


def variance(wins: int, n: int) -> float:
    """SPICE (arXiv 2510.24684): exp(-(p (1 - p) - 1/4)^2 / (2 * 0.01))."""
    return math.exp(-((learnability(wins, n) - 0.25) ** 2) / 0.02)


def ssr(wins: int, n: int) -> float:
    """Self-play SWE-RL (arXiv 2512.18552): 1 - (1 + a) p, -a at p = 0 or 1, with a = 0.8."""
    p = _rate(wins, n)
    return 1.0 - 1.8 * p if 0 < p < 1 else -0.8


def proximity(wins: int, n: int) -> float:
    """GenEnv (arXiv 2512.19682): exp(-2 (p - 1/2)^2)."""
    return math.exp(-2.0 * (_rate(wins, n) - 0.5) ** 2)


def solvable(wins: int, n: int) -> float:
    """SQLM: 1 if the task was won sometimes but not always, else 0."""
    return 1.0 if 0 < _rate(wins, n) < 1 else 0.0


def lemma(wins: int, n: int) -> float:
    """GASP lemma reward: (4 p (1 - p))^5 on [0.3, 0.7], else -0.5."""
    p = _rate(wins, n)
    return (4.0 * p * (1.0 - p)) ** 5 if 0.3 <= p <= 0.7 else -0.5


def lift(wins: int, n: int) -> float:
    """GASP lift reward: 10 p ((1 - p) / 0.9)^9 on [0.1, 0.5], else -0.5."""
    p = _rate(wins, n)
    return 10.0 * p * ((1.0 - p) / 0.9) ** 9 if 0.1 <= p <= 0.5 else -0.5


PROPOSER_REWARDS: Mapping[str, ProposerRule] = MappingProxyType(
    {
        "azr": azr,
        "azr_repo": azr_repo,
        "azr_inverse": azr_inverse,
        "frontier": frontier_unhinted,
        "learnability": learnability,
        "uncertainty": uncertainty,
        "uncertainty_repo": uncertainty_repo,
        "variance": variance,
        "ssr": ssr,
        "proximity": proximity,
        "solvable": solvable,
        "lemma": lemma,
        "lift": lift,
    }
)


class LearningPotential:
    """|fast - slow| / (2 (g_fast - g_slow)): how far the recent return moved from its past.

    Two running means of one task family's return, mu <- (1 - g) mu + g r, both started at the
    first return (SPADE, variant `learning_potential`; g_fast = 0.99, g_slow = 0.95).
    """

    def __init__(self, fast: float = 0.99, slow: float = 0.95) -> None:
        self.gains = (fast, slow)
        self.means: tuple[float, float] | None = None

    def update(self, value: float) -> float:
        """Take one return in [0, 1], give the reward."""
        fast, slow = self.means or (value, value)
        gain_fast, gain_slow = self.gains
        fast += gain_fast * (value - fast)
        slow += gain_slow * (value - slow)
        self.means = (fast, slow)
        return abs(fast - slow) / (2.0 * (gain_fast - gain_slow))

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {"means": list(self.means) if self.means else None}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self.means = (state["means"][0], state["means"][1]) if state["means"] else None


def obeys(asked: float, written: float, tolerance: float) -> bool:
    """Whether a draft has the difficulty it was asked for, within `tolerance` executed statements.

    Without this the proposer learns to ignore the request and to write what is solved half the
    time; a difficulty target that trusts the request then runs away.
    """
    return abs(written - asked) <= tolerance


def discount(reward: float, share: float, weight: float = 1.0) -> float:
    """reward (1 - weight share) for a reward above 0, where `share` of the batch are its near copies.

    The draft itself does not count in `share`. R-Zero's repetition penalty (arXiv 2508.05004) made
    multiplicative, so that a copy never earns less than nothing, let alone less than an invalid draft.
    """
    return reward * max(0.0, 1.0 - weight * share) if reward > 0 else reward


def agent0(
    p: float, tools: int, share: float, formatted: bool = True, gain: float = 0.6, cap: int = 4
) -> float:
    """Agent0's curriculum reward: max(0, 1 - 2 |p - 1/2| + gain min(tools, cap) - share), 0 unformatted.

    `tools` calls were made by the solver; `share` of the batch is in the task's cluster.
    """
    return max(0.0, 1.0 - 2.0 * abs(p - 0.5) + gain * min(tools, cap) - share) if formatted else 0.0


def count_wins(returns: Iterable[float]) -> int:
    """How many returns are wins. Constant partial credit is none."""
    return sum(value >= WIN for value in returns)


def solve_counts(episodes: Iterable[Episode]) -> dict[str, tuple[int, int]]:
    """(wins, attempts) of each environment id without a hint, faults left out of both."""
    counts: dict[str, tuple[int, int]] = {}
    for episode in episodes:
        if episode.arm != "plain":
            continue
        wins, n = counts.get(episode.environment, (0, 0))
        if not episode.score.fault:
            counts[episode.environment] = (wins + (episode.score.reward >= WIN), n + 1)
        else:
            counts[episode.environment] = (wins, n)
    return counts


def outcome(accuracy: float, formatted: bool) -> float:
    """The accuracy itself, whatever the format."""
    return accuracy


def azr_solver(accuracy: float, formatted: bool) -> float:
    """Absolute Zero, Eq. 6 on the train split: accuracy if positive, -0.5 if wrong, -1 unformatted."""
    if not formatted:
        return -1.0
    return accuracy if accuracy > 0 else -0.5


def r_zero_solver(accuracy: float, formatted: bool) -> float:
    """R-Zero's code: 0.9 accuracy + 0.1 format."""
    return 0.9 * accuracy + 0.1 * formatted


SOLVER_REWARDS: Mapping[str, SolverRule] = MappingProxyType(
    {"outcome": outcome, "azr": azr_solver, "r_zero": r_zero_solver}
)


def format_score(text: str) -> float:
    """1 if `text` starts with <think>..</think> <answer>..</answer> (Absolute Zero), else 0.

    Anchored at the start only: trailing text is allowed.
    """
    return 1.0 if _FORMAT.match(text) else 0.0
