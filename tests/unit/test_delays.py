"""Delayed credit: every draft is paid exactly once, from exactly the plays of its own environment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadelab.credit.delays import DelayedCredit, Held
from spadelab.credit.regret import Arms, window_reward
from spadelab.records import Admission, Check, Draft, Environment, Generation

STEADY = settings(deadline=None, derandomize=True)


def make_admission(name: str, valid: bool = True) -> Admission:
    generation = Generation("text", (1, 2), (3,), (-0.25,), "stop")
    draft = Draft(f"draft of {name}", "optimization", "text", 3, generation)
    environment = Environment(name, "k", "interactive", "optimization", "", (), (), 3)
    return Admission(draft, (Check("parse", valid),), environment if valid else None)


def through_json(credit: DelayedCredit) -> DelayedCredit:
    resumed = DelayedCredit(credit.delay)
    resumed.restore(json.loads(json.dumps(credit.state())))
    return resumed


def names(held: list[Held]) -> list[str]:
    return [h.admission.draft.id for h in held]


def test_without_delay_a_cycle_pays_its_own_drafts() -> None:
    credit = DelayedCredit(0)
    credit.hold(5, make_admission("a"), version=7)
    credit.hold(5, make_admission("b", valid=False), version=7)
    credit.observe(5, "a", Arms((1.0, 0.0), (1.0, 1.0)))
    first, second = credit.due(5)
    assert first == Held(5, 7, make_admission("a"), (Arms((1.0, 0.0), (1.0, 1.0)),))
    assert second == Held(5, 7, make_admission("b", valid=False))
    assert credit.due(5) == credit.flush() == []


def test_the_window_ends_with_the_delay_and_holds_only_its_own_plays() -> None:
    credit = DelayedCredit(4)
    credit.hold(0, make_admission("a"), 0)
    credit.hold(0, make_admission("b"), 0)
    for cycle in range(4):
        credit.observe(cycle, "a", Arms((cycle / 4,)))
        credit.observe(cycle, "stranger", Arms((1.0,)))
        assert credit.due(cycle) == []
    credit.observe(2, "b", Arms(()))
    credit.observe(4, "a", Arms((1.0,)))
    a, b = credit.due(4)
    assert a.window == (Arms((0.0,)), Arms((0.25,)), Arms((0.5,)), Arms((0.75,)))
    assert b.window == ()
    assert window_reward("micro_lp", a.window) == 0.5


def test_an_environment_that_comes_back_is_observed_for_each_draft_from_its_own_cycle_on() -> None:
    credit = DelayedCredit(2)
    credit.hold(0, make_admission("a"), 0)
    credit.observe(0, "a", Arms((0.0,)))
    credit.hold(1, make_admission("a"), 1)
    credit.observe(1, "a", Arms((1.0,)))
    assert [held.window for held in credit.flush()] == [(Arms((0.0,)), Arms((1.0,))), (Arms((1.0,)),)]


def test_due_catches_up_when_cycles_were_skipped() -> None:
    credit = DelayedCredit(2)
    for cycle in range(4):
        credit.hold(cycle, make_admission(str(cycle)), cycle)
    assert names(credit.due(4)) == ["draft of 0", "draft of 1", "draft of 2"]
    assert names(credit.flush()) == ["draft of 3"]


def test_the_published_schedule_pays_the_last_batch_too() -> None:
    """400 cycles, a batch every 4, delay 4: the published loop loses the batch of cycle 396."""
    credit, paid = DelayedCredit(4), []
    for cycle in range(400):
        if cycle % 4 == 0:
            credit.hold(cycle, make_admission(str(cycle)), cycle)
        credit.observe(cycle, str(cycle - cycle % 4), Arms((1.0,)))
        due = credit.due(cycle)
        assert [held.cycle for held in due] == ([cycle - 4] if cycle % 4 == 0 and cycle else [])
        paid += due
    last = credit.flush()
    assert [held.cycle for held in last] == [396]
    assert [len(held.window) for held in paid + last] == [4] * 100


@STEADY
@given(
    delay=st.integers(0, 6),
    every=st.integers(1, 4),
    cycles=st.integers(1, 20),
    batch=st.integers(0, 3),
    killed=st.sets(st.integers(0, 20)),
)
def test_every_held_draft_comes_out_exactly_once(
    delay: int, every: int, cycles: int, batch: int, killed: set[int]
) -> None:
    credit = DelayedCredit(delay)
    held: list[str] = []
    paid: list[Held] = []
    for cycle in range(cycles):
        if cycle % every == 0:
            for i in range(batch):
                admission = make_admission(f"{cycle}/{i}", valid=i != 1)
                credit.hold(cycle, admission, cycle)
                held.append(admission.draft.id)
        for i in range(batch):
            credit.observe(cycle, f"{cycle - cycle % every}/{i}", Arms((cycle / 32,)))
        if cycle in killed:
            credit = through_json(credit)
        due = credit.due(cycle)
        assert all(h.cycle + delay <= cycle for h in due)
        paid += due
    assert len(credit) == len(held) - len(paid)
    paid += credit.flush()
    assert names(paid) == held and len(credit) == 0
    for h in paid:
        expected = range(h.cycle, min(h.cycle + min(every, max(1, delay)), cycles))
        assert h.window == (tuple(Arms((c / 32,)) for c in expected) if h.admission.environment else ())


def test_state_survives_json_to_the_last_field() -> None:
    credit = DelayedCredit(3)
    full = replace(make_admission("a"), checks=(Check("parse", True, "", "", 0.5),))
    credit.hold(1, full, 9)
    credit.observe(1, "a", Arms((0.5,), (1.0,)))
    resumed = through_json(credit)
    resumed.observe(2, "a", Arms((0.0,)))
    assert resumed.due(4) == [Held(1, 9, full, (Arms((0.5,), (1.0,)), Arms((0.0,))))]
    assert len(credit.flush()[0].window) == 1, "the copy shares nothing with the original"


def test_a_delay_is_not_negative() -> None:
    with pytest.raises(ValueError, match="delay must be 0 or more"):
        DelayedCredit(-1)
