"""Advantages against the published numbers and their defining properties; rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadelab.credit import advantages, rows
from spadelab.records import Draft, Episode, Generation, Score

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[1] / "vectors" / "rewards_and_advantages.json").read_text()
    )
}
STEADY = settings(deadline=None, derandomize=True)


def near(value: Any) -> Any:
    return pytest.approx(value, abs=2e-6)


def one_group(name: str) -> tuple[list[float], list[str]]:
    values = CASES[name]["input"].get("r") or CASES[name]["input"]["rewards"]
    return values, ["g"] * len(values)


@pytest.mark.parametrize("name", ["RPP-01", "RPP-02", "RPP-05"])
def test_token_whitening(name: str) -> None:
    result = advantages.trrpp(*one_group(name), lengths=CASES[name]["input"]["lens"])
    expected = CASES[name]["output"]
    assert result == near(expected if isinstance(expected, list) else expected["A_per_seq"])


def test_sequence_whitening() -> None:
    for ddof in (0, 1):
        expected = CASES["RPP-03"]["output"][f"ddof{ddof}"]
        assert advantages.trrpp(*one_group("RPP-03"), ddof=ddof) == near(expected)
    assert advantages.ADVANTAGES["trrpp"](*one_group("RPP-03")) == near(CASES["RPP-03"]["output"]["ddof1"])


def test_discounts() -> None:
    case = CASES["RPP-04"]["input"]
    assert advantages.spread(case["reward"], case["len"], case["gamma"]) == near(CASES["RPP-04"]["output"])
    turn = CASES["RAE-05"]["input"]
    assert advantages.spread(turn["A"], turn["n"], turn["gamma"]) == near(CASES["RAE-05"]["output"])


def test_trrpp_by_task_and_role_against_the_whole_batch() -> None:
    case = CASES["TRR-01"]
    values, groups = [], []
    for group, members in case["input"]["rewards"].items():
        values += members
        groups += [group] * len(members)
    lengths = [case["input"]["len"]] * len(values)
    flat = [value for members in case["output"].values() for value in members]
    assert advantages.trrpp(values, groups, lengths) == near(flat)
    assert advantages.pooled(values, groups, lengths) == near(CASES["TRR-02"]["output"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GRPO-01", {}),
        ("GRPO-02", {"ddof": 0}),
        ("GRPO-03", {}),
        ("GRPO-04", {}),
        ("GRPO-05", {}),
        ("GRPO-06", {"epsilon": 1e-4}),
        ("GRPO-07", {"raw_singletons": True}),
    ],
)
def test_grpo(name: str, options: dict[str, Any]) -> None:
    assert advantages.grpo(*one_group(name), **options) == near(CASES[name]["output"])


def test_singletons_and_small_variances_keep_their_epsilon() -> None:
    assert advantages.grpo([0.7], ["g"], epsilon=0.4, raw_singletons=True) == pytest.approx([0.5])
    # var = 5e-9, so the divisor is sqrt(1.5e-8).
    assert advantages.trrpp([0.0, 1e-4], ["g", "g"]) == pytest.approx([-0.408248, 0.408248], abs=1e-5)


def test_dr_grpo_and_rloo() -> None:
    assert advantages.dr_grpo(*one_group("DRG-01")) == near(CASES["DRG-01"]["output"])
    assert advantages.rloo(*one_group("RLOO-01")) == near(CASES["RLOO-01"]["output"])


@pytest.mark.parametrize(
    ("name", "order", "alpha"), [("RAE-01", "pre", 0.95), ("RAE-02", "post", 0.95), ("RAE-03", "pre", 0.5)]
)
def test_rae(name: str, order: Any, alpha: float) -> None:
    estimator = advantages.Rae(alpha, order)
    taken, baselines = [], []
    for value in CASES[name]["input"]["R"]:
        taken += estimator([value], ["k"])
        baselines.append(estimator.baselines["k"])
    assert taken == near(CASES[name]["output"]["A"])
    assert baselines == near(CASES[name]["output"]["b"])


def test_rae_two_roles_and_games() -> None:
    estimator = advantages.Rae()
    pairs = [estimator(pair, ["0", "1"]) for pair in CASES["RAE-04"]["input"]["(R0,R1)"]]
    for pair, expected in zip(pairs, CASES["RAE-04"]["output"]["A"], strict=True):
        assert pair == near(expected)
    assert list(estimator.baselines.values()) == near(CASES["RAE-04"]["output"]["b_final"])
    sequence = CASES["RAE-06"]["input"]["seq"]
    keys = [f"{game}/{role}" for game, role, _ in sequence]
    assert advantages.Rae()([value for *_, value in sequence], keys) == near(CASES["RAE-06"]["output"])


def test_rae_resumes_and_starts_fresh() -> None:
    estimator = advantages.make_estimator("rae")
    assert isinstance(estimator, advantages.Rae)
    estimator([1.0, -1.0], ["a", "b"])
    other = advantages.Rae()
    other.restore(json.loads(json.dumps(estimator.state())))
    assert other([0.3, 0.3], ["a", "b"]) == estimator([0.3, 0.3], ["a", "b"])
    fresh = advantages.make_estimator("rae")
    assert fresh([1.0], ["a"]) == [1.0], "baselines must not be shared between runs"


VALUES = st.lists(st.integers(-8, 8).map(lambda v: v / 8), min_size=1, max_size=24)


@STEADY
@given(VALUES, st.data())
def test_group_rules(values: list[float], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=len(values), max_size=len(values)))
    centred = advantages.dr_grpo(values, groups)
    normal = advantages.grpo(values, groups)
    others = advantages.rloo(values, groups)
    for group in set(groups):
        members = [i for i, g in enumerate(groups) if g == group]
        for result in (centred, normal, others):
            assert math.fsum(result[i] for i in members) == pytest.approx(0, abs=1e-6)
        n = len(members)
        for i in members:
            assert others[i] == pytest.approx(n / max(1, n - 1) * centred[i], abs=1e-12)
    order = data.draw(st.permutations(range(len(values))))
    shuffled = ([values[i] for i in order], [groups[i] for i in order])
    for name, rule in advantages.ADVANTAGES.items():
        whole = rule(values, groups)
        assert rule(*shuffled) == pytest.approx([whole[i] for i in order], abs=1e-9), name


@STEADY
@given(VALUES, st.data(), st.floats(0.5, 4), st.floats(-3, 3))
def test_trrpp_ignores_the_scale_of_other_groups(
    values: list[float], data: st.DataObject, factor: float, shift: float
) -> None:
    groups = data.draw(st.lists(st.sampled_from("ab"), min_size=len(values), max_size=len(values)))
    moved = [factor * v + shift if g == "a" else v for v, g in zip(values, groups, strict=True)]
    assert advantages.trrpp(moved, groups) == pytest.approx(advantages.trrpp(values, groups), abs=1e-5)
    assert advantages.grpo(moved, groups) == pytest.approx(advantages.grpo(values, groups), abs=1e-3)


def test_whole_batch_whitening_fails_that() -> None:
    values, groups = [1.0, 0.0, 0.5, 0.25], ["a", "a", "b", "b"]
    moved = [values[0] + 3, values[1] + 3, *values[2:]]
    assert advantages.pooled(moved, groups)[2] != pytest.approx(advantages.pooled(values, groups)[2], abs=0.1)


@STEADY
@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(1, 30)), min_size=2, max_size=12))
def test_token_whitening_has_unit_moments(pairs: list[tuple[int, int]]) -> None:
    values, lengths = [float(v) for v, _ in pairs], [n for _, n in pairs]
    result = advantages.trrpp(values, ["g"] * len(values), lengths)
    total = sum(lengths)
    assert sum(n * a for n, a in zip(lengths, result, strict=True)) == pytest.approx(0, abs=1e-6)
    squares = sum(n * a * a for n, a in zip(lengths, result, strict=True))
    assert squares == pytest.approx(total - 1 if len(set(values)) > 1 else 0, rel=1e-6)
    equal = advantages.trrpp(values, ["g"] * len(values), [7] * len(values))
    plain = advantages.trrpp(values, ["g"] * len(values))
    assert [a > 1e-9 for a in equal] == [a > 1e-9 for a in plain]


def test_token_level_can_praise_a_failure_and_sequence_level_cannot() -> None:
    values, groups = one_group("RPP-02")
    assert advantages.trrpp(values, groups, CASES["RPP-02"]["input"]["lens"])[1] > 0
    assert advantages.trrpp(values, groups)[1] < 0


@pytest.mark.parametrize("name", advantages.ADVANTAGES)
def test_no_variance_is_exactly_nothing(name: str) -> None:
    # 0.1 three times has a mean that is not 0.1 in floating point.
    assert advantages.ADVANTAGES[name]([0.1, 0.1, 0.1], ["g"] * 3) == [0.0, 0.0, 0.0]
    assert advantages.ADVANTAGES[name]([0.7], ["g"]) == [0.0]
    assert advantages.ADVANTAGES[name]([], []) == []


@pytest.mark.parametrize("name", advantages.ADVANTAGES)
def test_bad_rewards_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        advantages.ADVANTAGES[name]([math.nan, 1.0], ["g", "g"])
    with pytest.raises(ValueError, match="group keys"):
        advantages.ADVANTAGES[name]([0.0, 1.0], ["g"])


@STEADY
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=20))
def test_rae_properties(values: list[float]) -> None:
    pre, post = advantages.Rae(order="pre"), advantages.Rae(order="post")
    keys = ["k"] * len(values)
    taken = pre(values, keys)
    assert post(values, keys) == pytest.approx([0.95 * a for a in taken], abs=1e-12)
    assert min([0.0, *values]) - 1e-12 <= pre.baselines["k"] <= max([0.0, *values]) + 1e-12
    mixed = advantages.Rae()
    both = mixed([v for value in values for v in (value, -1.0)], ["k", "other"] * len(values))
    assert both[::2] == taken


GENERATION = Generation("x", (5, 6), (7, 8, 9), (-0.1, -0.2, -0.3), "stop")


def make_episode(fault: bool = False, generation: Generation = GENERATION) -> Episode:
    return Episode("env", "abduction", generation, Score(1.0, "correct", fault=fault))


def test_solver_row() -> None:
    empty = Generation("", (5,), (), (), "stop")
    episodes = [make_episode(), make_episode(), make_episode(generation=empty)]
    (row,) = rows.solver_rows(episodes, [0.5, 0.0, 1.0], version=3)
    assert row.ids == (5, 6, 7, 8, 9)
    assert row.mask == (0, 0, 1, 1, 1)
    assert row.logprobs == (0.0, 0.0, -0.1, -0.2, -0.3)
    assert (row.advantage, row.imitation, row.version) == (0.5, 0.0, 3)
    assert (row.role, row.task, row.group) == ("solver", "abduction", "env")


def test_faults_get_no_row() -> None:
    episodes = [make_episode(), make_episode(fault=True)]
    assert rows.drop_faults(episodes) == episodes[:1]
    with pytest.raises(ValueError, match="fault"):
        rows.solver_rows(episodes, [1.0, 1.0], version=0)
    with pytest.raises(ValueError):
        rows.solver_rows(episodes[:1], [1.0, 1.0], version=0)


def test_lost_log_probabilities_are_noticed() -> None:
    broken = Generation("x", (5,), (7, 8), (-0.1,), "stop")
    with pytest.raises(ValueError, match="log-prob"):
        rows.solver_rows([make_episode(generation=broken)], [1.0], version=0)


def test_proposer_rows_include_rejected_drafts_but_not_seeds() -> None:
    sampled = Draft("d", "induction", "x", 3, GENERATION)
    seed = Draft("s", "induction", "x", 3)
    (row,) = rows.proposer_rows([(sampled, 2), (seed, 2)], [-1.0, 1.0])
    assert (row.role, row.task, row.group) == ("proposer", "induction", "induction")
    assert (row.ids, row.advantage, row.version) == ((5, 6, 7, 8, 9), -1.0, 2)


def test_gold_row() -> None:
    row = rows.gold_row(Generation("", (1, 2), (3,), (0.0,), "stop"), 0.5, "solver", "deduction", "env", 4)
    assert (row.ids, row.mask, row.logprobs) == ((1, 2, 3), (0, 0, 1), (0.0, 0.0, 0.0))
    assert (row.advantage, row.imitation, row.version) == (0.0, 0.5, 4)
    assert (row.role, row.task, row.group) == ("solver", "deduction", "env")
    with pytest.raises(ValueError):
        rows.gold_row(Generation("", (1,), (), (), "stop"), 1.0, "solver", "deduction", "env", 0)
