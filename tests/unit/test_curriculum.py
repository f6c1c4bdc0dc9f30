"""The difficulty target and the buffer."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spadelab.curriculum.buffer import Buffer
from spadelab.curriculum.difficulty import Band, DifficultyTarget, DifficultyWindow
from spadelab.records import Environment

VECTORS = Path(__file__).parents[1] / "vectors" / "rewards_and_advantages.json"
SHARP = Band(step=0.5, smoothing=0.0)


def make_environment(key: str, kind: str = "deduction") -> Environment:
    trace = (("x = 1", "x=1"),)
    return Environment("id-" + key, key, "programs", kind, "def f(): ...", ("1",), ("2",), 3, trace=trace)


def keys(environments: list[Environment]) -> set[str]:
    return {environment.key for environment in environments}


def test_target_follows_the_solve_rate() -> None:
    target = DifficultyTarget(5, SHARP)
    assert target.update(0.7) == 5.5
    assert target.update(0.6) == 5.5
    assert target.update(0.4) == 5.5
    assert target.update(0.3) == 5.0


def test_target_stays_in_its_range() -> None:
    target = DifficultyTarget(9, replace(SHARP, minimum=2, maximum=3))
    assert target.value == 3
    assert target.update(1.0) == 3
    for _ in range(5):
        target.update(0.0)
    assert target.value == 2


def test_smoothing_ignores_one_odd_cycle() -> None:
    target = DifficultyTarget(5, Band(step=1, smoothing=0.9))
    target.update(0.5)
    assert target.update(1.0) == 5
    for _ in range(3):
        target.update(1.0)
    assert target.value > 5
    assert target.solve_rate == pytest.approx(1 - 0.5 * 0.9**4)


def test_target_does_not_run_away_from_a_disobedient_proposer() -> None:
    target = DifficultyTarget(5, SHARP)
    assert target.update(1.0, obeyed=0.4) == 5
    assert target.update(0.0, obeyed=0.4) == 4.5
    assert target.update(1.0, obeyed=0.5) == 5


def test_nonsense_is_refused() -> None:
    for rate in (float("nan"), 1.5, -0.5):
        with pytest.raises(ValueError):
            DifficultyTarget(5, SHARP).update(rate)
    assert Band(minimum=3, maximum=3, low=0.5, high=0.5, step=0).highest == 3
    for wrong in (
        {"minimum": 0},
        {"minimum": 9, "maximum": 3},
        {"minimum": 2.2, "maximum": 2.8},
        {"low": 0.7, "high": 0.2},
        {"replay": 2},
        {"smoothing": 1},
        {"step": -1},
    ):
        with pytest.raises(ValueError):
            Band(**wrong)


def test_requests_around_the_target() -> None:
    target = DifficultyTarget(6.25, replace(SHARP, replay=0.0, ahead=0.0))
    stream = random.Random(0)
    drawn = [target.sample(stream) for _ in range(6000)]
    assert set(drawn) == {5, 6, 7, 8}
    assert sum(drawn) / len(drawn) == pytest.approx(6.25, abs=0.05)


def test_requests_reach_a_share_of_the_target_ahead() -> None:
    target = DifficultyTarget(10, replace(SHARP, replay=0.0, ahead=0.4))
    stream = random.Random(0)
    assert {target.sample(stream) for _ in range(2000)} == {9, 10, 11, 12, 13, 14}
    target = DifficultyTarget(1, replace(SHARP, replay=0.0, ahead=0.4))
    assert {target.sample(stream) for _ in range(2000)} == {1, 2}


def test_replay_share_is_easier_and_uniform() -> None:
    target = DifficultyTarget(6.9, replace(SHARP, replay=1.0))
    stream = random.Random(0)
    counts = Counter(target.sample(stream) for _ in range(5000))
    assert set(counts) == {1, 2, 3, 4, 5}
    assert min(counts.values()) > 850
    mixed = DifficultyTarget(20, replace(SHARP, replay=0.4))
    share = sum(mixed.sample(stream) < 19 for _ in range(5000)) / 5000
    assert share == pytest.approx(0.4 * 18 / 19, abs=0.03)


def test_requests_never_leave_the_range() -> None:
    stream = random.Random(1)
    for start in (2.5, 3, 4.9):
        for replay in (0.0, 0.5, 1.0):
            target = DifficultyTarget(start, replace(SHARP, minimum=2.5, maximum=4.9, replay=replay))
            assert {target.sample(stream) for _ in range(300)} <= {3, 4}


def test_target_resumes() -> None:
    one, other = DifficultyTarget(5, Band()), DifficultyTarget(1, Band())
    one.update(0.9)
    other.restore(json.loads(json.dumps(one.state())))
    assert one.update(0.55) == other.update(0.55)
    assert (one.value, one.solve_rate) == (other.value, other.solve_rate)


def test_window_vector() -> None:
    (case,) = (c for c in json.loads(VECTORS.read_text()) if c["id"] == "RLVE-01")
    window = DifficultyWindow(accuracy=0.9, attempts=4, width=4)
    got = []
    for difficulty, won in case["input"]["events(d,ok)"]:
        got.append(list(window.update(difficulty, bool(won))))
        copy = DifficultyWindow()
        copy.restore(json.loads(json.dumps(window.state())))
        window = copy
    assert got == case["output"]


def test_window_has_a_width() -> None:
    window = DifficultyWindow(attempts=1, width=2)
    assert [window.update(d, True) for d in range(4)] == [(0, 1), (0, 2), (1, 3), (2, 4)]


def test_only_the_frontier_is_sampled() -> None:
    buffer = Buffer(10)
    assert not buffer.add(make_environment("never"), 0, 8, 0)
    assert not buffer.add(make_environment("always"), 8, 8, 0)
    assert buffer.add(make_environment("some"), 3, 8, 0)
    stream = random.Random(0)
    assert len(buffer) == 1
    assert keys(buffer.sample(5, stream)) == {"some"}
    assert keys(buffer.replay(5, stream)) == {"always"}
    assert all(key in buffer.known for key in ("never", "always", "some"))
    assert "new" not in buffer.known


def test_a_renewed_measure_moves_an_environment() -> None:
    buffer, stream = Buffer(10), random.Random(0)
    environment = make_environment("e")
    buffer.add(environment, 4, 8, 0)
    assert buffer.add(environment, 5, 8, 1)
    assert len(buffer) == 1
    buffer.add(environment, 8, 8, 2)
    assert (len(buffer), keys(buffer.replay(9, stream))) == (0, {"e"})
    buffer.add(environment, 4, 8, 3)
    assert (len(buffer), buffer.replay(9, stream)) == (1, [])
    buffer.add(environment, 0, 8, 4)
    assert (len(buffer), buffer.replay(9, stream)) == (0, [])


def test_equal_keys_are_one_task_and_the_first_stays() -> None:
    buffer = Buffer(10)
    first = make_environment("e")
    buffer.add(first, 4, 8, 0)
    buffer.add(replace(first, id="other"), 4, 8, 1)
    assert buffer.sample(9, random.Random(0)) == [first]


def test_eviction_by_value_then_age() -> None:
    buffer = Buffer(2, half_life=10)
    buffer.add(make_environment("half"), 4, 8, 0)
    buffer.add(make_environment("rare"), 1, 8, 0)
    buffer.add(make_environment("fair"), 3, 8, 0)
    assert keys(buffer.sample(9, random.Random(0))) == {"half", "fair"}
    # Two half-lives make a stale 4/8 (.25) worth less than a fresh 1/8 (.109); a stale 3/8 goes first.
    buffer.add(make_environment("fresh"), 1, 8, 20)
    assert keys(buffer.sample(9, random.Random(0))) == {"half", "fresh"}
    buffer.add(make_environment("fresh2"), 1, 8, 20)
    assert keys(buffer.sample(9, random.Random(0))) == {"fresh", "fresh2"}
    assert "half" in buffer.known


def test_young_entries_wait_for_a_whole_half_life() -> None:
    buffer = Buffer(1, half_life=10)
    buffer.add(make_environment("half"), 4, 8, 0)
    assert not buffer.add(make_environment("rare"), 1, 8, 10)
    assert buffer.add(make_environment("rarer"), 1, 8, 13)


def test_mastered_ones_are_bounded_and_lose_the_oldest() -> None:
    buffer = Buffer(2, mastered=2)
    for name in ("a", "b", "c"):
        buffer.add(make_environment(name), 8, 8, 0)
    assert keys(buffer.replay(9, random.Random(0))) == {"b", "c"}
    none = Buffer(2, mastered=0)
    none.add(make_environment("a"), 8, 8, 0)
    assert none.replay(9, random.Random(0)) == []


def test_memory_of_keys_is_bounded_but_never_forgets_what_is_held() -> None:
    buffer = Buffer(1, mastered=1, memory=3)
    buffer.add(make_environment("held"), 4, 8, 0)
    for i in range(6):
        buffer.add(make_environment(f"lost{i}"), 0, 8, i)
    assert [k for k in ("held", "lost3", "lost4", "lost5") if k in buffer.known] == ["held", "lost4", "lost5"]
    with pytest.raises(ValueError):
        Buffer(4, mastered=4, memory=8)


def test_references_have_the_kind_and_prefer_the_frontier() -> None:
    buffer, stream = Buffer(10), random.Random(0)
    buffer.add(make_environment("seed"), 1, 1, 0)
    assert keys(buffer.references("deduction", 3, stream)) == {"seed"}
    for i in range(3):
        buffer.add(make_environment(f"d{i}"), 4, 8, 0)
        buffer.add(make_environment(f"a{i}", "abduction"), 4, 8, 0)
    assert keys(buffer.references("deduction", 3, stream)) == {"d0", "d1", "d2"}
    assert keys(buffer.references("deduction", 9, stream)) == {"d0", "d1", "d2", "seed"}
    assert len(buffer.references("abduction", 2, stream)) == 2
    assert buffer.references("induction", 2, stream) == []


def test_sampling_is_uniform_without_repeats() -> None:
    buffer, stream = Buffer(10), random.Random(0)
    for i in range(5):
        buffer.add(make_environment(str(i)), i % 3 + 1, 8, i)
    counts: Counter[str] = Counter()
    for _ in range(2000):
        drawn = buffer.sample(2, stream)
        assert len(keys(drawn)) == 2
        counts.update(keys(drawn))
    assert all(700 < count < 900 for count in counts.values())


def test_buffer_resumes_exactly() -> None:
    buffer = Buffer(4, mastered=2)
    for i in range(9):
        buffer.add(make_environment(str(i)), i % 9, 8, i)
    other = Buffer(4, mastered=2)
    known = other.known
    other.restore(json.loads(json.dumps(buffer.state())))
    assert "8" in known, "the container handed out before stays the live one"
    for one in (buffer, other):
        one.add(make_environment("late"), 4, 8, 20)
    assert buffer.sample(4, random.Random(5)) == other.sample(4, random.Random(5))
    assert buffer.replay(4, random.Random(5)) == other.replay(4, random.Random(5))
    assert buffer.state() == other.state()


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"half_life": 0}, {"mastered": -1}, {"memory": 260}])
def test_senseless_buffers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="buffer"):
        Buffer(**{"capacity": 4, **wrong})  # type: ignore[arg-type]


def test_unmeasured_environments_are_only_known() -> None:
    buffer = Buffer(4)
    assert not buffer.add(make_environment("x"), 0, 0, 0)
    assert "x" in buffer.known
    with pytest.raises(ValueError):
        buffer.add(make_environment("x"), 3, 2, 0)
