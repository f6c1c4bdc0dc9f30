"""pass@k and intervals against published numbers and by coverage."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spadelab.evaluation import statistics
from spadelab.evaluation.statistics import Interval

VECTORS = Path(__file__).parents[1] / "vectors" / "rewards_and_advantages.json"
PASS = [case for case in json.loads(VECTORS.read_text()) if case["id"].startswith("PK-")]


@pytest.mark.parametrize("case", PASS, ids=lambda case: str(case["id"]))
def test_pass_at_k_vector(case: dict[str, Any]) -> None:
    n, wins, k = (case["input"][key] for key in ("n", "c", "k"))
    expected = case["output"]
    if isinstance(expected, dict):
        assert statistics.pass_at_k_plugin(n, wins, k) == pytest.approx(expected["biased"], abs=1e-8)
        expected = expected["unbiased"]
    assert statistics.pass_at_k(n, wins, k) == pytest.approx(expected, abs=1e-8)


def test_pass_at_k_properties() -> None:
    n = 12
    table = [[statistics.pass_at_k(n, c, k) for k in range(1, n + 1)] for c in range(n + 1)]
    for c, values in enumerate(table):
        assert values == sorted(values)
        assert values[0] == pytest.approx(c / n)
        for k, value in enumerate(values, start=1):
            assert value >= statistics.pass_at_k_plugin(n, c, k) - 1e-12
            assert (value == 1.0) == (n - c < k)
            assert c == 0 or value >= table[c - 1][k - 1]


@pytest.mark.parametrize(("n", "wins", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 5), (4, 2, 0)])
def test_impossible_pass_at_k_is_refused(n: int, wins: int, k: int) -> None:
    with pytest.raises(ValueError):
        statistics.pass_at_k(n, wins, k)


def test_wilson() -> None:
    got = statistics.wilson(8, 10)
    assert (got.estimate, got.low, got.high) == pytest.approx((0.8, 0.4901625, 0.9433178), abs=1e-6)
    assert statistics.wilson(0, 10).low == 0.0
    assert statistics.wilson(0, 10).high == pytest.approx(0.2775328, abs=1e-6)
    assert statistics.wilson(10, 10).high == 1.0
    assert (statistics.wilson(0, 0).low, statistics.wilson(0, 0).high) == (0.0, 1.0)
    assert math.isnan(statistics.wilson(0, 0).estimate)
    for wins in (-1, 11):
        with pytest.raises(ValueError):
            statistics.wilson(wins, 10)


def test_wilson_covers() -> None:
    """Exact coverage over the binomial, averaged over p: near the 95 % it promises."""
    n = 30
    intervals = [statistics.wilson(k, n) for k in range(n + 1)]
    shares = []
    for p in np.linspace(0.02, 0.98, 49):
        chance = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        shares.append(sum(c for c, i in zip(chance, intervals, strict=True) if i.low <= p <= i.high))
    assert np.mean(shares) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062047), (2, 4.3026527), (3, 3.1824463), (4, 2.7764451), (9, 2.2621572), (30, 2.0422725)],
)
def test_t_quantile(freedom: int, expected: float) -> None:
    assert statistics.t_quantile(0.975, freedom) == pytest.approx(expected, abs=1e-6)
    assert statistics.t_quantile(0.025, freedom) == pytest.approx(-expected, abs=1e-6)
    assert statistics.t_quantile(0.5, freedom) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(1.0, 3), (0.0, 3), (0.9, 0)])
def test_impossible_quantiles_are_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError):
        statistics.t_quantile(probability, freedom)


def test_t_interval() -> None:
    got = statistics.t_interval([1.0, 2.0, 3.0])
    half = 4.3026527 / math.sqrt(3)
    assert (got.estimate, got.low, got.high) == pytest.approx((2.0, 2 - half, 2 + half), abs=1e-6)
    assert statistics.t_interval([1.0, 2.0, 3.0], 0.99).high > got.high
    with pytest.raises(ValueError, match="two"):
        statistics.t_interval([1.0])
    with pytest.raises(ValueError, match="confidence"):
        statistics.t_interval([1.0, 2.0], 95)


def test_bootstrap_agrees_with_theory() -> None:
    stream = np.random.default_rng(0)
    values = stream.normal(3.0, 2.0, size=(1, 400))
    got = statistics.bootstrap(values.tolist(), stream)
    half = 1.96 * values.std() / 20
    assert got.estimate == pytest.approx(values.mean())
    assert got.high - got.estimate == pytest.approx(half, rel=0.12)
    assert got.estimate - got.low == pytest.approx(half, rel=0.12)


def test_bootstrap_counts_seeds_and_shared_tasks() -> None:
    """Ten seeds that agree on every task know no more than one; seeds that differ know less."""
    stream = np.random.default_rng(1)
    tasks = stream.integers(2, size=200).astype(float)
    one = statistics.bootstrap([tasks.tolist()], np.random.default_rng(2))
    ten = statistics.bootstrap([tasks.tolist()] * 10, np.random.default_rng(2))
    assert ten.high - ten.low == pytest.approx(one.high - one.low, rel=0.1)
    apart = statistics.bootstrap([[0.0] * 200, [1.0] * 200, [0.5] * 200], np.random.default_rng(2))
    assert apart.high - apart.low > 0.5


def test_bootstrap_is_reproducible_and_refuses_nonsense() -> None:
    table = [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    first = statistics.bootstrap(table, np.random.default_rng(3))
    assert first == statistics.bootstrap(table, np.random.default_rng(3))
    for wrong in ([], [[]], [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError):
            statistics.bootstrap(wrong, np.random.default_rng(0))


def test_overlap() -> None:
    assert Interval(0.5, 0.4, 0.6).overlaps(Interval(0.7, 0.6, 0.8))
    assert not Interval(0.5, 0.4, 0.6).overlaps(Interval(0.7, 0.61, 0.8))
    assert not Interval(0.7, 0.61, 0.8).overlaps(Interval(0.5, 0.4, 0.6))


def test_bootstrap_within_strata_has_no_variance_between_them() -> None:
    table = [[1.0] * 50 + [0.0] * 50]
    plain = statistics.bootstrap(table, np.random.default_rng(4))
    within = statistics.bootstrap(table, np.random.default_rng(4), strata=["easy"] * 50 + ["hard"] * 50)
    assert plain.high - plain.low > 0.15
    assert (within.low, within.estimate, within.high) == (0.5, 0.5, 0.5)
    mixed = [[float(i % 2) for i in range(100)]]
    wide = statistics.bootstrap(mixed, np.random.default_rng(4), strata=["a"] * 100)
    assert wide == statistics.bootstrap(mixed, np.random.default_rng(4))
