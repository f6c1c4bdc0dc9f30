"""Proposer rewards from paired arms, against the published numbers of SPADE and their shapes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadelab.credit import regret, rewards
from spadelab.credit.advantages import grpo
from spadelab.credit.regret import Arms, Blend, environment_reward, window_reward
from spadelab.environments.interactive.session import Session, Step, episode_return
from spadelab.records import Episode, Generation, Score

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = {case["id"]: case for case in json.loads((VECTORS / "rewards_and_advantages.json").read_text())}
FRONTIER = json.loads((VECTORS / "frontier_reward.json").read_text())["cases"]
STEADY = settings(deadline=None, derandomize=True)
RETURNS = st.floats(0, 1, allow_nan=False)
PAIRS = st.lists(st.tuples(RETURNS, RETURNS), min_size=1, max_size=16)

# spade.md 3.8: offsets with means 0, .25, .5, .75 and H = .12; two of {1, 0} and .5; one of .75 and .9.
RISING = [Arms((0.0,) * 4, (0.12,) * 4), Arms((0, 0, 0, 1)), Arms((0, 0, 1, 1)), Arms((0, 1, 1, 1))]
FLAT = [Arms((1, 0), (0.5, 0.5)), Arms((1, 0))]
SINGLE = [Arms((0.75,), (0.9,))]


@pytest.mark.parametrize("case", FRONTIER, ids=lambda case: str(case["id"]))
def test_frontier_through_the_entry_point(case: dict[str, Any]) -> None:
    paid = environment_reward("frontier", case["unhinted"], case["hinted"])
    assert paid == pytest.approx(case["frontier"], abs=2e-6)
    assert paid == rewards.frontier(case["unhinted"], case["hinted"])
    assert environment_reward("frontier", case["unhinted"]) == rewards.frontier(case["unhinted"])


def test_published_spade_01() -> None:
    case = CASES["SPADE-01"]
    raws = [
        -0.5 if pair == "timeout" else environment_reward("regret", [pair[1]], [pair[0]])
        for pair in case["input"]["(Rh,Rn)"]
    ]
    centred = regret.skill_centred(raws, ["s"] * len(raws), case["input"]["scale"])
    assert centred == pytest.approx(case["output"], abs=1e-9)


def test_published_a0_01() -> None:
    given = CASES["A0-01"]["input"]
    paid = [
        rewards.agent0(given["p"], tools, given["C_over_B"], True, given["gamma"], given["cap"])
        for tools in given["N_tool"]
    ]
    assert paid == pytest.approx(CASES["A0-01"]["output"])
    assert rewards.agent0(0.6, 2, 0.25, formatted=False) == 0.0
    assert rewards.agent0(0.0, 0, 0.25) == 0.0


@pytest.mark.parametrize(
    ("rate", "paid"), [(0.15, 0), (0.2, 0.2), (0.3, 0.6), (0.4, 1), (0.6, 1), (0.7, 0.6), (0.85, 0)]
)
def test_published_plateau(rate: float, paid: float) -> None:
    assert regret.plateau(rate) == pytest.approx(paid, abs=1e-12)


@pytest.mark.parametrize(
    ("paid", "terminated", "value"),
    [
        ([0.2, 0.3, 1], True, 1),
        ([0.2, 0.9], False, 0),
        ([], True, 0),
        ([0, 5], True, 1),
        ([0, -3], True, -1),
        ([1, 0], True, 0),
    ],
)
def test_published_episode(paid: list[float], terminated: bool, value: float) -> None:
    last = len(paid) - 1
    steps = [Step("a", "o", reward, terminated and i == last, False) for i, reward in enumerate(paid)]
    assert episode_return(Session(0, 9, None, steps=steps), "final") == value


def test_published_learning_potential() -> None:
    tracker = rewards.LearningPotential(0.98, 0.85)
    means, signed = [], []
    for value in (0.2, 0.6, 0.5):
        potential = tracker.update(value)
        assert tracker.means is not None
        fast, slow = tracker.means
        means.append((fast, slow))
        signed.append(math.copysign(potential, fast - slow))
    assert means == [pytest.approx(m) for m in ((0.2, 0.2), (0.592, 0.54), (0.50184, 0.506))]
    assert signed == pytest.approx([0, 0.2, -0.016])


def test_published_z_score() -> None:
    values = grpo([1, 0, 0, 0, 1, 1, 0, 0], ["e"] * 8, epsilon=1e-8, ddof=0)
    assert values[:2] == pytest.approx([1.291, -0.7746], abs=1e-4)


def test_published_regret_delayed() -> None:
    raws = [
        window_reward("regret", [Arms((0, 0), (0.75, 0.75)), Arms((1, 0))]),
        window_reward("regret", [Arms((1, 1), (0.5, 0.5)), Arms((1, 1))]),
        -0.5,  # hung: for us a fault, paid as an invalid draft
    ]
    assert raws == [0.5, 0, -0.5]
    assert regret.skill_centred(raws, ["s"] * 3, 32) == [16, 0, -16]


def test_published_blend() -> None:
    raws = [window_reward("blend", window) for window in (RISING, FLAT, SINGLE)]
    assert raws == pytest.approx([0.86, 0.60, 0.64])
    assert regret.skill_centred(raws, ["s"] * 3, 32) == pytest.approx([5.12, -3.20, -1.92])


def test_published_micro_lp() -> None:
    raws = [
        window_reward("micro_lp", window)
        for window in ([Arms((0, 0)), Arms((0, 1, 1, 1))], [Arms((1,)), Arms((0,))])
    ]
    assert raws == [0.75, 0]
    assert regret.skill_centred(raws, ["s"] * 2) == [0.375, -0.375]


@pytest.mark.parametrize(
    ("plain", "hinted", "value"),
    [
        ([0.5] * 8, [0.5] * 8, 0.6),  # the published hole: constant partial credit looks like a frontier
        ([0] * 8, [1] * 8, 0.4),  # and so does a password
        ([0] * 8, [0] * 8, 0.0),
    ],
)
def test_blend_shows_the_holes_that_frontier_closes(
    plain: list[float], hinted: list[float], value: float
) -> None:
    assert environment_reward("blend", plain, hinted) == pytest.approx(value)
    assert environment_reward("frontier", plain, hinted) == 0.0


def test_weights_of_the_blend() -> None:
    front = Blend(plateau=0, regret=0, front=1)
    assert regret.blend([Arms((1.0, 0.8))], front) == pytest.approx(-(0.4**2) / 0.08)
    unfloored = Blend(plateau=0, regret=1, floored=False)
    assert regret.blend([Arms((0.6,), (0.0,))], unfloored) == pytest.approx(-4)
    assert regret.blend([Arms((0.6,), (0.0,))], Blend(plateau=0, regret=1)) == 0.0
    later = Blend(low=0.2, high=0.4, ramp=0.2)
    assert regret.blend([Arms((0.5,))], later) == pytest.approx(0.6 * 0.5)
    progress = Blend(plateau=0, regret=0, progress=0.5)
    assert regret.blend(RISING, progress) == pytest.approx(0.5 * 0.75 / 0.1)
    by_halves = Blend(plateau=0, regret=0, progress=0.5, trend="halves")
    assert regret.blend(RISING, by_halves) == pytest.approx(0.5 * 0.5 / 0.1)


@STEADY
@given(st.lists(st.lists(RETURNS, min_size=1, max_size=5), min_size=2, max_size=6))
def test_slope_is_the_weighted_polynomial_fit(plays: list[list[float]]) -> None:
    means, weights = [np.mean(p) for p in plays], [math.sqrt(len(p)) for p in plays]
    expected = np.polyfit(range(len(plays)), means, 1, w=weights)[0] * (len(plays) - 1)
    assert regret.slope([Arms(tuple(p)) for p in plays]) == pytest.approx(expected, abs=1e-9)


def test_one_cycle_has_no_trend() -> None:
    assert regret.slope(SINGLE) == regret.halves(SINGLE) == window_reward("micro_lp", SINGLE) == 0.0


@STEADY
@given(PAIRS)
def test_raw_regret_has_no_floor_and_its_error(pairs: list[tuple[float, float]]) -> None:
    plain, hinted = [p for p, _ in pairs], [h for _, h in pairs]
    mean, error = regret.raw_regret(plain, hinted)
    gains = np.subtract(hinted, plain)
    assert mean == pytest.approx(gains.mean(), abs=1e-12)
    if len(pairs) < 2:
        assert math.isnan(error)
    else:
        assert error == pytest.approx(gains.std(ddof=1) / math.sqrt(len(pairs)), abs=1e-12)
        assert rewards.regret_bound(plain, hinted) == pytest.approx(max(0.0, mean - error), abs=1e-12)
    back, _ = regret.raw_regret(hinted, plain)
    assert back == pytest.approx(-mean, abs=1e-12)
    assert environment_reward("regret", plain, hinted) == pytest.approx(max(0.0, mean), abs=1e-12)


def test_a_hint_that_hurts_is_logged_but_not_charged() -> None:
    assert regret.raw_regret([1, 1, 0, 0], [0, 0, 0, 0]) == (-0.5, pytest.approx(math.sqrt(1 / 12)))
    assert environment_reward("regret", [1, 1, 0, 0], [0, 0, 0, 0]) == 0.0


def test_rules_from_counts_see_wins_of_the_plain_arm() -> None:
    plain, hinted = [1.0, 0.5, 0.999, 0.0], [1.0] * 4
    for name, rule in rewards.PROPOSER_REWARDS.items():
        if name not in regret.PAIRED_REWARDS:
            assert environment_reward(name, plain, hinted) == rule(1, 4)
    assert window_reward("variance", [Arms((1.0, 0.0)), Arms((1.0, 1.0))]) == rewards.variance(3, 4)


@pytest.mark.parametrize("rule", ["frontier", "regret", "blend"])
def test_without_a_hint_there_is_no_regret(rule: str) -> None:
    plain = [1.0, 0.0, 1.0, 0.0]
    assert environment_reward(rule, plain) == environment_reward(rule, plain, plain)


def test_frontier_counts_wins_of_the_whole_window_and_pairs_where_there_are_some() -> None:
    window = [Arms((0.0,) * 4, (1.0,) * 4), Arms((1.0,) * 4)]
    assert window_reward("frontier", window) == pytest.approx(0.6 * rewards.signal(4, 8) + 0.4)
    assert window_reward("frontier", window[:1]) == 0.0


def test_what_cannot_be_paid_is_refused() -> None:
    with pytest.raises(KeyError):
        environment_reward("no such rule", [1.0])
    for rule in ("frontier", "regret", "azr"):
        with pytest.raises(ValueError, match="at least one"):
            environment_reward(rule, [], [])
    for rule in ("frontier", "blend"):
        assert environment_reward(rule, [1.0, 0.0], [1.0, 0.0]) >= 0
    with pytest.raises(ValueError):
        environment_reward("frontier", [1.0, 0.0], [1.0])
    with pytest.raises(ValueError):
        regret.raw_regret([1.0, 0.0], [1.0])
    with pytest.raises(ValueError):
        regret.raw_regret([], [])


@pytest.mark.parametrize(
    ("returns", "bonus"), [([1, 0], 1), ([1, 0, 0, 0], 0.823), ([1] * 8, 0.044), ([0], 0.044)]
)
def test_published_variance_bonus(returns: list[float], bonus: float) -> None:
    assert regret.variance_bonus(returns) == pytest.approx(bonus, abs=5e-4)
    assert regret.variance_bonus(returns) == pytest.approx(
        rewards.variance(rewards.count_wins(returns), len(returns))
    )


def test_skill_potential_scores_before_or_after_it_learns() -> None:
    first, second = ([[0.2]], [[0.6]])
    late, early = regret.SkillPotential(), regret.SkillPotential()
    assert late.score(["s"], first, delayed=True) == early.score(["s"], first, delayed=False) == [0.0]
    assert late.score(["s"], second, delayed=True) == pytest.approx([0.6 - 0.54])
    assert early.score(["s"], second, delayed=False) == pytest.approx([0.4])
    assert early.score(["s", "t"], [[0.5], [0.5]], delayed=False) == pytest.approx([0.04, 0.0])
    rich = regret.SkillPotential(bonus=2.0)
    assert rich.score(["s"], [[1, 0]], delayed=True) == [2.0]


def test_skill_potential_resumes() -> None:
    one, other = regret.SkillPotential(), regret.SkillPotential()
    one.score(["s", "t"], [[0.1], [0.9]], delayed=True)
    other.restore(json.loads(json.dumps(one.state())))
    batch = (["t", "s", "t"], [[0.5], [0.3], [0.0]], True)
    assert one.score(*batch) == other.score(*batch) != regret.SkillPotential().score(*batch)


def episode(seed: int, arm: str, reward: float, fault: bool = False, environment: str = "e") -> Episode:
    score = Score(reward, "correct", fault=fault)
    return Episode(environment, "k", Generation("", (), (), (), "stop"), score, seed, arm)


def test_arms_are_paired_by_seed_and_faults_take_their_pair_along() -> None:
    played = [
        episode(5, "hinted", 0.5),
        episode(3, "plain", 0.3),
        episode(5, "plain", 0.4),
        episode(3, "hinted", 1.0),
        episode(7, "plain", 0.9, fault=True),
        episode(7, "hinted", 1.0),
        episode(8, "plain", 0.8),
        episode(8, "hinted", 0.0, fault=True),
        episode(9, "plain", 0.1),
        episode(3, "plain", 0.6),
        episode(3, "hinted", 0.7),
        episode(2, "plain", 1.0, environment="no hint"),
        episode(1, "plain", 0.0, environment="no hint"),
        episode(1, "plain", 1.0, fault=True, environment="no hint"),
        episode(0, "plain", 1.0, fault=True, environment="broken"),
    ]
    assert regret.pair_arms(played) == {
        "e": Arms((0.3, 0.6, 0.4), (1.0, 0.7, 0.5)),
        "no hint": Arms((0.0, 1.0)),
        "broken": Arms(()),
    }


def test_a_copy_earns_less_but_never_less_than_nothing() -> None:
    assert rewards.discount(0.8, 0.0) == 0.8
    assert rewards.discount(0.8, 0.25) == pytest.approx(0.6)
    assert rewards.discount(0.8, 0.5, weight=0.5) == pytest.approx(0.6)
    assert rewards.discount(0.8, 1.0, weight=3.0) == 0.0
    assert rewards.discount(-0.5, 1.0) == -0.5


def test_wins_must_beat_luck() -> None:
    assert regret.beats_luck(1, 8, 0.0) and not regret.beats_luck(0, 8, 0.0)
    assert regret.beats_luck(4, 8, 0.15) and not regret.beats_luck(2, 8, 0.15)
    assert not regret.beats_luck(8, 8, 1.0)
    assert regret.beats_luck(16, 16, 0.49) and not regret.beats_luck(16, 16, 0.5)
    tails = [1 - 0.8**2, 0.2**2]
    for wins, tail in enumerate(tails, start=1):
        assert regret.beats_luck(wins, 2, 0.2, level=tail + 1e-9)
        assert not regret.beats_luck(wins, 2, 0.2, level=tail - 1e-9)


def test_a_lottery_is_paid_as_rarely_as_the_level_says() -> None:
    n, luck = 16, 0.2
    paid = [k for k in range(n + 1) if regret.beats_luck(k, n, luck)]
    assert 0 < sum(math.comb(n, k) * luck**k * (1 - luck) ** (n - k) for k in paid) <= 0.05
