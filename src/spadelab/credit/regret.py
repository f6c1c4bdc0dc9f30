"""Proposer rewards from paired arms: an environment's returns without the hint and with it, seed by seed.

The published rules of SPADE (arXiv 2608.19197) under their names, beside the rules from counts and the
default of `rewards`. An environment replayed over several cycles has one `Arms` for each: its *window*.
Faults are dropped before, and pairwise (`pair_arms`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from spadelab.credit.advantages import dr_grpo
from spadelab.credit.rewards import (
    PROPOSER_REWARDS,
    REGRET_SHARE,
    SIGNAL_SHARE,
    LearningPotential,
    count_wins,
    regret_bound,
    signal,
)
from spadelab.records import Episode


@dataclass(frozen=True, slots=True)
class Arms:
    """Returns in [0, 1] of one cycle; `hinted[i]` is on the seed of `plain[i]`, None: no hinted play."""

    plain: tuple[float, ...]
    hinted: tuple[float, ...] | None = None


Window = Sequence[Arms]
WindowRule = Callable[[Window], float]


@dataclass(frozen=True, slots=True)
class Blend:
    """Weights of `blend`; the defaults are those that SPADE deployed.

    Full anchor for a mean return in [low, high], falling to 0 over `ramp`. Regret counts in units of
    `regret_unit`, clipped to [0, 1] when `floored`. `trend` chooses how progress is measured.
    """

    plateau: float = 0.6
    regret: float = 0.4
    progress: float = 0.0
    front: float = 0.0
    low: float = 0.4
    high: float = 0.6
    ramp: float = 0.25
    regret_unit: float = 0.15
    progress_unit: float = 0.1
    front_unit: float = 0.08
    floored: bool = True
    trend: Literal["slope", "halves"] = "slope"


DEPLOYED = Blend()


def environment_reward(rule: str, plain: Sequence[float], hinted: Sequence[float] | None = None) -> float:
    """The proposer's reward for an environment measured in one cycle; returns are paired by seed.

    Raises KeyError for an unknown rule, ValueError without a return or with arms of different lengths.
    """
    return window_reward(rule, [Arms(tuple(plain), None if hinted is None else tuple(hinted))])


def window_reward(rule: str, window: Window) -> float:
    """`environment_reward` over all cycles in which the environment was played.

    Rules from counts get the wins of the plain arm over the whole window.
    """
    plain = plain_returns(window)
    if not plain:
        raise ValueError("a reward needs at least one faultless return")
    if rule in PAIRED_REWARDS:
        return PAIRED_REWARDS[rule](window)
    return PROPOSER_REWARDS[rule](count_wins(plain), len(plain))


def raw_regret(plain: Sequence[float], hinted: Sequence[float]) -> tuple[float, float]:
    """Mean of hinted_i - plain_i, neither floored nor clipped, and its standard error (NaN for n < 2).

    Raises ValueError without a pair or when the lengths differ.
    """
    gains = [h - p for p, h in zip(plain, hinted, strict=True)]
    mean = _mean(gains)
    n = len(gains)
    if n < 2:
        return mean, math.nan
    variance = math.fsum((gain - mean) ** 2 for gain in gains) / (n - 1)
    return mean, math.sqrt(variance / n)


def regret(window: Window) -> float:
    """Hint regret, floored: max(0, mean H - mean A), A over the whole window (SPADE, `regret_based`).

    0 without hinted play.
    """
    _, hinted = _pairs(window)
    return max(0.0, _mean(hinted) - _mean(plain_returns(window))) if hinted else 0.0


def blend(window: Window, weights: Blend = DEPLOYED) -> float:
    """SPADE's deployed reward (variant `blend`): an anchor at half the returns, regret and progress.

        w_plat plateau(w) + w_reg g + w_mlp progress / 0.1 - w_front (w - 1/2)^2 / 0.08

    w is the mean of all plain returns (not a win rate: constant partial credit fakes one, see `frontier`),
    g = (mean H - mean A) / 0.15 over the cycles with hinted play (published: the first), 0 without any.
    The published system drops a draft whose blend is negative.
    """
    rate = _mean(plain_returns(window))
    plain, hinted = _pairs(window)
    gain = (_mean(hinted) - _mean(plain)) / weights.regret_unit if hinted else 0.0
    if weights.floored:
        gain = min(1.0, max(0.0, gain))
    return (
        weights.plateau * plateau(rate, weights.low, weights.high, weights.ramp)
        + weights.regret * gain
        + weights.progress * TRENDS[weights.trend](window) / weights.progress_unit
        - weights.front * (rate - 0.5) ** 2 / weights.front_unit
    )


def plateau(rate: float, low: float = 0.4, high: float = 0.6, ramp: float = 0.25) -> float:
    """1 on [low, high], falling linearly to 0 at a distance of `ramp` on either side."""
    return max(0.0, 1.0 - max(low - rate, rate - high, 0.0) / ramp)


def slope(window: Window) -> float:
    """Rise of the mean return from the first to the last cycle of a least-squares line.

    Cycles weigh by their number of plays (SPADE, `mlp`). 0 for a single cycle.
    """
    played = [arms.plain for arms in window if arms.plain]
    if len(played) < 2:
        return 0.0
    total = sum(map(len, played))
    centre = sum(x * len(plays) for x, plays in enumerate(played)) / total
    moment = math.fsum((x - centre) * len(plays) * _mean(plays) for x, plays in enumerate(played))
    spread = math.fsum((x - centre) ** 2 * len(plays) for x, plays in enumerate(played))
    return moment / spread * (len(played) - 1)


def halves(window: Window) -> float:
    """Mean return of the later half of the cycles minus that of the earlier one, split at n // 2."""
    played = [arms for arms in window if arms.plain]
    middle = len(played) // 2
    return _mean(plain_returns(played[middle:])) - _mean(plain_returns(played[:middle])) if middle else 0.0


TRENDS: Mapping[str, WindowRule] = MappingProxyType({"slope": slope, "halves": halves})


def micro_lp(window: Window) -> float:
    """What the solver gained on this environment within the window: max(0, late - early) (SPADE)."""
    return max(0.0, halves(window))


def frontier_window(window: Window) -> float:
    """`rewards.frontier` over a window: all plain plays make the signal, all pairs the regret bound."""
    returns = plain_returns(window)
    wins = count_wins(returns)
    plain, hinted = _pairs(window)
    bound = regret_bound(plain, hinted) if wins else 0.0
    return SIGNAL_SHARE * signal(wins, len(returns)) + REGRET_SHARE * bound


PAIRED_REWARDS: Mapping[str, WindowRule] = MappingProxyType(
    {"frontier": frontier_window, "regret": regret, "blend": blend, "micro_lp": micro_lp}
)
"""Rules that see returns instead of counts."""


def beats_luck(wins: int, n: int, luck: float, level: float = 0.05, most: float = 0.5) -> bool:
    """Whether so many wins are more than luck gives: P(wins or more of n | luck) <= level, exact binomial.

    `luck` is the win rate of play without any thought; from `most` on nothing beats it. A lottery is won
    now and then by everybody, for ever: its solve rate looks like a frontier, but teaches nothing.
    """
    tail = math.fsum(math.comb(n, k) * luck**k * (1.0 - luck) ** (n - k) for k in range(wins, n + 1))
    return wins > 0 and luck < most and tail <= level


def variance_bonus(returns: Sequence[float]) -> float:
    """exp(-(var - 1/4)^2 / 0.02), population variance of the returns (SPADE's optional bonus)."""
    mean = _mean(returns)
    return math.exp(-((_mean([(value - mean) ** 2 for value in returns]) - 0.25) ** 2) / 0.02)


class SkillPotential:
    """SPADE's ablation `learning_potential`: |mean return - slow mean of the skill|, by skill.

    Delayed, the running means take the batch's returns before it is scored, else after. The first
    mean of a skill starts both. Gains as launched: 0.98 and 0.85.
    """

    def __init__(self, fast: float = 0.98, slow: float = 0.85, bonus: float = 0.0) -> None:
        self.gains = (fast, slow)
        self.bonus = bonus
        self._trackers: dict[str, LearningPotential] = {}

    def score(self, skills: Sequence[str], returns: Sequence[Sequence[float]], delayed: bool) -> list[float]:
        """Rewards of a batch of environments, `returns[i]` being all plain returns of the i-th."""
        batch: dict[str, list[float]] = {}
        for skill, plays in zip(skills, returns, strict=True):
            batch.setdefault(skill, []).extend(plays)
        slow = {}
        for skill, plays in batch.items():
            tracker = self._trackers.setdefault(skill, LearningPotential(*self.gains))
            before = tracker.means
            tracker.update(_mean(plays))
            means = tracker.means if delayed or before is None else before
            slow[skill] = means[1] if means else 0.0
        return [
            abs(_mean(plays) - slow[skill]) + (self.bonus * variance_bonus(plays) if self.bonus else 0.0)
            for skill, plays in zip(skills, returns, strict=True)
        ]

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {skill: tracker.state() for skill, tracker in self._trackers.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self._trackers = {skill: LearningPotential(*self.gains) for skill in state}
        for skill, tracker in self._trackers.items():
            tracker.restore(state[skill])


def skill_centred(rewards: Sequence[float], skills: Sequence[str], scale: float = 1.0) -> list[float]:
    """SPADE's proposer advantage: (reward - mean over the same skill) scale, no division by a deviation.

    No setting reaches it: it is kept for the published test vectors.
    """
    return [scale * value for value in dr_grpo(rewards, skills)]


def pair_arms(episodes: Iterable[Episode]) -> dict[str, Arms]:
    """Arms of each environment id, in order of seed; a fault in one arm drops its pair.

    An environment without a hinted episode keeps all its faultless plain ones and has hinted None. Of
    several episodes on one seed the i-th of one arm goes with the i-th of the other.
    """
    played: dict[str, dict[str, dict[tuple[int, int], Episode]]] = {}
    seen: Counter[tuple[str, str, int]] = Counter()
    for episode in episodes:
        arms = played.setdefault(episode.environment, {"plain": {}, "hinted": {}})
        place = (episode.environment, episode.arm, episode.seed)
        arms[episode.arm][episode.seed, seen[place]] = episode
        seen[place] += 1
    result = {}
    for environment, arms in played.items():
        plain, hinted = (
            {place: e.score.reward for place, e in arms[arm].items() if not e.score.fault}
            for arm in ("plain", "hinted")
        )
        both = sorted(plain.keys() & hinted.keys() if arms["hinted"] else plain)
        result[environment] = Arms(
            tuple(plain[place] for place in both),
            tuple(hinted[place] for place in both) if arms["hinted"] else None,
        )
    return result


def plain_returns(window: Window) -> list[float]:
    """All plain returns of the window, oldest cycle first."""
    return [value for arms in window for value in arms.plain]


def _pairs(window: Window) -> tuple[list[float], list[float]]:
    """Plain and hinted returns of the cycles with hinted play, paired."""
    paired = [(arms.plain, arms.hinted) for arms in window if arms.hinted is not None]
    return [p for plain, _ in paired for p in plain], [h for _, hinted in paired for h in hinted]


def _mean(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("the mean of no returns")
    return math.fsum(values) / len(values)
