"""Rewards against the published numbers, and their shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadelab.config import load_settings
from spadelab.credit import rewards, shaping
from spadelab.credit.advantages import make_estimator
from spadelab.credit.assignment import credit_proposer
from spadelab.credit.delays import Held
from spadelab.credit.regret import Arms, SkillPotential
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score

VECTORS = Path(__file__).parents[1] / "vectors"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads((VECTORS / "rewards_and_advantages.json").read_text())
}
FRONTIER = json.loads((VECTORS / "frontier_reward.json").read_text())["cases"]
TOLERANCE = 2e-6
STEADY = settings(deadline=None, derandomize=True)


def make_admission(valid: bool = True, asked: float = 3, written: int = 3) -> Admission:
    draft = Draft(id="d", kind="deduction", text="", asked=asked)
    environment = Environment("e", "k", "programs", "deduction", "", ("1",), ("2",), written)
    check = Check(gate="parse", passed=valid, code="" if valid else "syntax")
    return Admission(draft, (check,), environment if valid else None)


def make_episode(environment: str, reward: float, fault: bool = False) -> Episode:
    generation = Generation("", (1,), (2,), (-0.5,), "stop")
    return Episode(environment, "deduction", generation, Score(reward, "correct", fault=fault))


def over_eight(rule: str) -> Callable[[dict[str, Any]], Any]:
    return lambda i: [rewards.PROPOSER_REWARDS[rule](k, 8) for k in next(iter(i.values()))]


def over_rates(rule: str) -> Callable[[dict[str, Any]], Any]:
    return lambda i: [rewards.PROPOSER_REWARDS[rule](round(p * 40), 40) for p in i["p"]]


def paid(admission: Admission, wins: int, n: int, rule: str, invalid: float) -> float:
    """What credit pays for a draft whose environment was won `wins` times out of `n`."""
    chosen, _ = load_settings(None, [f"credit.proposer_reward={rule}", f"credit.invalid_reward={invalid}"])
    window = (Arms((1.0,) * wins + (0.0,) * (n - wins)),) if n else ()
    held = [Held(0, 0, admission, window)]
    _, (reward,) = credit_proposer(held, chosen, make_estimator("trrpp"), SkillPotential(), (), {})
    return reward


def rejected(case_input: dict[str, Any]) -> list[float]:
    return [paid(make_admission(valid=False), 0, 0, "azr_repo", invalid=-1.0) for _ in case_input["cases"]]


def induction(mode: str) -> Callable[[dict[str, Any]], Any]:
    return lambda i: [
        shaping.induction_accuracy([bool(h) for h in hits], mode)
        for hits in i["hidden_hits"]  # type: ignore[arg-type]
    ]


def combined(i: dict[str, Any]) -> dict[str, float]:
    modes = ("sum", "multiply", "sum_multiply", "multiply_sum")
    return {m: shaping.combine(i["acc"], i["raw"], i["coef"], i["max"], m) for m in modes}  # type: ignore[arg-type]


def surprises(i: dict[str, Any]) -> dict[str, list[float]]:
    pairs = list(zip(i["types"], i["answers"], strict=True))
    return {
        "flat": [shaping.surprise(i["counters"], kind, answer) for kind, answer in pairs],
        "hierarchical": [shaping.surprise_by_type(i["counters"], kind, answer) for kind, answer in pairs],
    }


def ssr_reward(i: dict[str, Any]) -> list[float]:
    """An inconsistent bug is a rejected draft."""
    return [
        paid(make_admission(valid=bool(ok)), round(s * 8), 8, "ssr", invalid=-1.0)
        for ok, s in i["(consistent,s)"]
    ]


def potentials(i: dict[str, Any]) -> list[float]:
    tracker = rewards.LearningPotential()
    return [tracker.update(value) for value in i["r"]]


def genenv(i: dict[str, Any]) -> dict[str, list[Any]]:
    return {
        "R": over_rates("proximity")(i),
        "used_for_update": [shaping.is_within(p, 0.4, 0.6) for p in i["p"]],
    }


def repetition(i: dict[str, Any]) -> dict[str, Any]:
    words = [sentence.split() for sentence in i["sentences"]]
    row = [round(1 - shaping.bleu(other, words[0]), 4) for other in words]
    shares = shaping.repetition_shares(i["sentences"])
    distances = [[1 - shaping.bleu(b, a) for b in words] for a in words]
    return {"D_row0": row, "partition": shaping.cluster(distances), "penalty": shares}


COMPUTED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "AZR-01": over_eight("azr"),
    "AZR-02": over_eight("azr_repo"),
    "AZR-03": rejected,
    "AZR-04": lambda i: [rewards.azr_solver(a, bool(f)) for a, f in i["(correct,format)"]],
    "AZR-06-binary": induction("binary"),
    "AZR-06-if_one_correct": induction("if_one_correct"),
    "AZR-06-accuracy": induction("accuracy"),
    "AZR-07": lambda i: [list(shaping.induction_split(n)) for n in i["N"]],
    "AZR-08": combined,
    "AZR-09": lambda i: [shaping.halstead(*row) for row in i["(effort,cc,volume)"]],
    "AZR-10": lambda i: [shaping.complexity(c) for c in i["complexity"]],
    "AZR-11": surprises,
    "AZR-12": lambda i: [rewards.format_score(text) for text in i["texts"]],
    "AZR-13": over_eight("azr_inverse"),
    "AZR-14": over_eight("azr_repo"),
    "DAPO-01": lambda i: [shaping.overlong(y, i["Lmax"], i["Lcache"]) for y in i["len"]],
    "DAPO-02": lambda i: [shaping.is_mixed(k, 8) for k in i["correct_of_8"]],
    "RZ-01": lambda i: [rewards.uncertainty(k, 10) for k in i["agree_of_10"]],
    "RZ-02": lambda i: [rewards.uncertainty_repo(k, 10) for k in i["agree_of_10"]],
    "RZ-03": lambda i: [shaping.r_zero(p, c / b) for p, c, b in i["(p,cluster,B)"]],
    "RZ-04": lambda i: [shaping.r_zero_repo(p, c / b) for p, c, b in i["(p,cluster,total)"]],
    "RZ-05": lambda i: [k for k in i["k"] if shaping.is_within(k / 10, 0.25, 0.75)],
    "RZ-06": lambda i: [k for k in i["k"] if shaping.is_within(k / 9, 0.3, 0.8)],
    "RZ-07": lambda i: [rewards.r_zero_solver(a, bool(f)) for a, f in i["(acc,fmt)"]],
    "RZ-08": lambda i: list(shaping.majority(i["answers"])),
    "RZ-09": repetition,
    "RZ-10": lambda i: shaping.bleu(["any", "words"], i["hyp"].split()),
    "SSR-01": ssr_reward,
    "SPICE-01": over_eight("variance"),
    "GE-01": genenv,
    "SQLM-01": over_eight("solvable"),
    "GASP-01": lambda i: {"lemma": over_rates("lemma")(i), "lift": over_rates("lift")(i)},
    "LP-01": over_rates("learnability"),
    "LP-02": potentials,
}

ELSEWHERE = {
    "advantages": ("RPP-", "TRR-", "GRPO-", "DRG-", "RLOO-", "RAE-"),
    "losses": ("AGG-", "CLIP-", "KL-"),
    "statistics": ("PK-",),
    "curriculum": ("RLVE-",),
    "not built: test split that pays any positive accuracy": ("AZR-05",),
    "regret": ("A0-", "SPADE-"),
}


def assert_near(actual: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key in expected:
            assert_near(actual[key], expected[key], tolerance)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_near(one, other, tolerance)
    elif isinstance(expected, str):
        assert actual == expected
    else:
        assert actual == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("name", COMPUTED)
def test_published_number(name: str) -> None:
    assert_near(COMPUTED[name](CASES[name]["input"]), CASES[name]["output"])


def test_every_vector_has_a_test_or_a_reason() -> None:
    prefixes = tuple(prefix for group in ELSEWHERE.values() for prefix in group)
    assert {name for name in CASES if not name.startswith(prefixes)} == set(COMPUTED)


@pytest.mark.parametrize("case", FRONTIER, ids=lambda case: str(case["id"]))
def test_frontier_vector(case: dict[str, Any]) -> None:
    unhinted, hinted = case["unhinted"], case["hinted"]
    wins = rewards.count_wins(unhinted)
    assert rewards.signal(wins, len(unhinted)) == pytest.approx(case["signal"], abs=TOLERANCE)
    assert rewards.regret_bound(unhinted, hinted) == pytest.approx(case["regret_lcb"], abs=TOLERANCE)
    assert rewards.frontier(unhinted, hinted) == pytest.approx(case["frontier"], abs=TOLERANCE)


def test_frontier_without_hints_is_frontier_with_a_useless_hint() -> None:
    for case in FRONTIER:
        unhinted = case["unhinted"]
        expected = rewards.frontier(unhinted, unhinted)
        assert rewards.frontier(unhinted) == expected
        counts = (rewards.count_wins(unhinted), len(unhinted))
        assert rewards.PROPOSER_REWARDS["frontier"](*counts) == expected


def test_frontier_refuses_unpaired_returns() -> None:
    with pytest.raises(ValueError):
        rewards.frontier([1, 0], [1, 0, 1])


def test_two_pairs_are_enough_for_a_bound() -> None:
    assert rewards.regret_bound([0.0, 0.0], [1.0, 1.0]) == 1.0
    assert rewards.regret_bound([0.0], [1.0]) == 0.0


def test_signal_is_unbiased() -> None:
    """Over all outcomes of three attempts its mean is 4 p (1 - p), but for the cap at 1."""
    n, p = 3, 0.1
    weights = {0: (1 - p) ** 3, 1: 3 * p * (1 - p) ** 2, 2: 3 * p**2 * (1 - p), 3: p**3}
    raw = {k: 4 * k * (n - k) / (n * (n - 1)) for k in weights}
    assert sum(weights[k] * raw[k] for k in weights) == pytest.approx(4 * p * (1 - p))
    assert [rewards.signal(k, n) for k in weights] == [min(1.0, raw[k]) for k in weights]


@STEADY
@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_symmetric_rules_do_not_care_which_side_wins(counts: tuple[int, int]) -> None:
    wins, n = counts
    for name in ("frontier", "learnability", "uncertainty", "uncertainty_repo", "variance", "proximity"):
        rule = rewards.PROPOSER_REWARDS[name]
        assert rule(wins, n) == pytest.approx(rule(n - wins, n), abs=1e-12)


def test_where_the_rules_pay_most() -> None:
    assert max(range(9), key=lambda k: rewards.azr(k, 8)) == 1
    for name in ("frontier", "uncertainty", "variance", "proximity", "learnability", "lemma"):
        rule = rewards.PROPOSER_REWARDS[name]
        assert rule(4, 8) == max(rule(k, 8) for k in range(9)) > rule(1, 8)
    assert rewards.ssr(5, 9) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", rewards.PROPOSER_REWARDS)
def test_impossible_counts_are_refused(name: str) -> None:
    for wins, n in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError):
            rewards.PROPOSER_REWARDS[name](wins, n)


def test_repetition_shares_sum_to_one_over_clusters() -> None:
    assert shaping.repetition_shares(["a b c d e"] * 3) == [1.0, 1.0, 1.0]
    assert shaping.r_zero(0.5, 1.0) == 0.0
    assert shaping.repetition_shares(["a b c d", "e f g h"]) == [0.5, 0.5]


def test_shaping_between_the_published_points() -> None:
    assert shaping.overlong(10, 100, 20) == 0.0
    assert shaping.r_zero(0.75, 0.25) == pytest.approx(0.25)
    assert shaping.r_zero(0.75, 0.25, weight=0.4) == pytest.approx(0.4)
    assert shaping.bleu(list("abcdef"), list("abcd")) == pytest.approx(0.606531, abs=1e-6)
    assert shaping.bleu(list("abcd"), list("abcd")) == 1.0
    assert shaping.majority(["", ""]) == ("", 0.0)
    with pytest.raises(ValueError, match="hidden"):
        shaping.induction_accuracy([])


def test_learning_potential_resumes() -> None:
    one, other = rewards.LearningPotential(), rewards.LearningPotential()
    other.restore(json.loads(json.dumps(one.state())))
    for value in (0.1, 0.7):
        one.update(value)
    other.restore(json.loads(json.dumps(one.state())))
    assert one.update(0.3) == other.update(0.3) != 0.0


def test_obeys_is_absolute_and_inclusive() -> None:
    assert rewards.obeys(5, 6, 1) and rewards.obeys(5, 4, 1) and rewards.obeys(5, 5, 0)
    assert not rewards.obeys(5, 7, 1) and not rewards.obeys(5, 3, 1)


def test_proposer_is_paid_only_for_what_was_asked() -> None:
    def pay(admission: Admission, wins: int, n: int, rule: str = "azr_repo") -> float:
        return paid(admission, wins, n, rule, invalid=-0.25)

    assert pay(make_admission(), 2, 8) == 0.75
    assert pay(make_admission(asked=3, written=4), 2, 8) == 0.75
    assert pay(make_admission(asked=3, written=9), 2, 8) == 0.0
    assert pay(make_admission(asked=9, written=3), 2, 8) == 0.0
    assert pay(make_admission(asked=3, written=9), 8, 8) == -0.5, "disobedience must not cancel a penalty"
    assert pay(make_admission(valid=False), 0, 0) == -0.25


def test_faults_count_on_neither_side() -> None:
    episodes = [
        make_episode("a", 1.0),
        make_episode("a", 0.5),
        make_episode("a", 1.0, fault=True),
        make_episode("b", 0.0, fault=True),
    ]
    assert rewards.solve_counts(episodes) == {"a": (1, 2), "b": (0, 0)}


def test_rounded_sums_still_win_but_partial_credit_does_not() -> None:
    assert rewards.count_wins([sum([0.1] * 10), 1.0, 0.999, 0.5]) == 2
