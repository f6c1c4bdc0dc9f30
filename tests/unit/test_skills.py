"""The bandit over kinds: it moves towards what can be learned and forgets nothing for ever."""

import json

import pytest

from spadelab.curriculum.skills import SkillBandit

SHARES = {"a": 2.0, "b": 1.0, "c": 1.0}


def teach(bandit: SkillBandit) -> None:
    for _ in range(400):
        bandit.update("a", learnable=False)
        bandit.update("b", learnable=True)


def test_without_strength_the_given_shares_stay():
    bandit = SkillBandit(SHARES, 0.0)
    teach(bandit)
    assert bandit.shares() == pytest.approx({"a": 0.5, "b": 0.25, "c": 0.25})


def test_the_learnable_kind_is_asked_for_more_and_no_kind_is_dropped():
    bandit = SkillBandit(SHARES, 1.0)
    assert bandit.shares() == pytest.approx({"a": 0.5, "b": 0.25, "c": 0.25})
    teach(bandit)
    # a: 0.5 * 0.1 (the floor), b: 0.25 * 1, c: 0.25 * 0.5 as at the start; over their sum 0.425.
    assert bandit.shares() == pytest.approx({"a": 0.1176, "b": 0.5882, "c": 0.2941}, abs=2e-3)
    assert sum(bandit.shares().values()) == pytest.approx(1.0)


def test_half_strength_lies_in_the_middle():
    bandit, full = SkillBandit(SHARES, 0.5), SkillBandit(SHARES, 1.0)
    teach(bandit)
    teach(full)
    middle = {k: (v + bandit.given[k]) / 2 for k, v in full.shares().items()}
    assert bandit.shares() == pytest.approx(middle)


def test_a_restored_bandit_goes_on_where_it_was():
    bandit = SkillBandit(SHARES, 1.0)
    teach(bandit)
    copy = SkillBandit(SHARES, 1.0)
    copy.restore(json.loads(json.dumps(bandit.state())))
    assert copy.shares() == bandit.shares()
