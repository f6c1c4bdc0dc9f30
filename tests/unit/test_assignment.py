"""Credit of a cycle: who is paid, who is not, and what becomes a row."""

from dataclasses import replace

import pytest

from spadelab.config import load_settings
from spadelab.credit.advantages import make_estimator
from spadelab.credit.assignment import (
    broken_environments,
    credit_gold,
    credit_proposer,
    credit_solver,
    unmastered,
)
from spadelab.credit.delays import Held
from spadelab.credit.regret import Arms, SkillPotential
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score

SETTINGS, _ = load_settings(None, ["credit.obey_tolerance=1", "credit.invalid_reward=-0.5"])


def environment(name: str, difficulty: int = 3, kind: str = "deduction") -> Environment:
    return Environment(name, name, "programs", kind, "def f(a): return a", ("1",), ("1",), difficulty)


def generation(*ids: int) -> Generation:
    return Generation("text", (1, 2), ids, tuple(-0.1 for _ in ids), "stop")


def episode(name: str, reward: float, fault: bool = False, length: int = 2) -> Episode:
    score = Score(reward, "correct" if reward else "wrong", fault=fault)
    return Episode(name, "deduction", generation(*range(5, 5 + length)), score)


def admission(name: str | None, asked: int = 3, code: str = "") -> Admission:
    draft = Draft("c0-d0", "deduction", "text", asked, generation(9))
    if name is None:
        return Admission(draft, (Check("gate", False, code, "reason"),))
    return Admission(draft, (Check("gate", True),), environment(name))


def pay(admissions, solved, settings=SETTINGS, broken=(), copies=None):
    """Rows and rewards of admissions whose environments were won as `solved` says, (wins, n) by name."""
    held = []
    for item in admissions:
        wins, n = solved.get(item.environment.id, (0, 0)) if item.environment else (0, 0)
        window = (Arms((1.0,) * wins + (0.0,) * (n - wins)),) if n else ()
        held.append(Held(0, 0, item, window))
    estimate = make_estimator("trrpp")
    return credit_proposer(held, settings, estimate, SkillPotential(), set(broken), copies or {})


def test_solver_advantages_are_within_the_task_and_faults_are_dropped():
    episodes = [
        episode("a", 1),
        episode("a", 0),
        episode("a", 0, fault=True),
        episode("b", 1),
        episode("b", 1),
    ]
    rows = credit_solver(episodes, SETTINGS, make_estimator("grpo"), 4)
    assert [(row.group, row.version) for row in rows] == [("a", 4), ("a", 4)]
    assert rows[0].advantage == pytest.approx(-rows[1].advantage, abs=1e-6) and rows[0].advantage > 0


def test_imitation_alone_has_no_policy_rows():
    settings, _ = load_settings(None, ["training.method=sft"])
    episodes = [episode("a", 1), episode("a", 0)]
    assert credit_solver(episodes, settings, make_estimator("grpo"), 0) == []
    rows, rewards = pay([admission("a")], {"a": (1, 2)}, settings)
    assert rows == [] and rewards == [pytest.approx(0.6)]


@pytest.mark.parametrize(("level", "positive"), [("sequence", False), ("token", True)])
def test_token_level_trrpp_weighs_by_length(level, positive):
    """RPP-02: with one long bad answer, token-level whitening makes a lesser failure positive."""
    settings, _ = load_settings(None, ["credit.advantage=trrpp", f"credit.trrpp_level={level}"])
    episodes = [episode("a", 1.0, length=1), episode("b", 0.5, length=1), episode("c", 0.0, length=9)]
    rows = credit_solver(episodes, settings, make_estimator("trrpp"), 0)
    middle = next((row.advantage for row in rows if row.group == "b"), 0.0)
    assert (middle > 0.1) == positive


def test_the_proposer_is_paid_for_the_frontier_and_only_when_it_obeyed():
    admissions = [admission("half"), admission("won"), admission("lost"), admission("disobeyed", asked=9)]
    solved = {"half": (2, 4), "won": (4, 4), "lost": (0, 4), "disobeyed": (2, 4)}
    _, rewards = pay(admissions, solved)
    assert rewards == [pytest.approx(0.6), 0.0, 0.0, 0.0]


def test_rejected_drafts_train_the_proposer_and_failures_of_the_machinery_do_not():
    admissions = [admission("a"), admission(None, code="syntax")]
    admissions += [admission(None, code=code) for code in ("jail_died", "unavailable", "held_out")]
    admissions += [admission("jail_died_in_play")]
    rows, rewards = pay(admissions, {"a": (2, 4), "jail_died_in_play": (0, 0)})
    assert rewards == [pytest.approx(0.6), -0.5]
    assert [row.advantage > 0 for row in rows] == [True, False]


def test_an_environment_that_breaks_in_play_costs_its_proposer():
    fault = replace(episode("a", 0, fault=True), score=Score(0.0, "reward_range", "NaN", fault=True))
    assert broken_environments([fault, episode("b", 1)]) == {"a"}
    dead = replace(fault, score=Score(0.0, "jail_died", "", fault=True))
    assert broken_environments([dead]) == set()
    _, rewards = pay([admission("a"), admission("b")], {"b": (2, 4)}, broken={"a"})
    assert rewards == [-0.5, pytest.approx(0.6)]


def test_another_skill_than_was_asked_for_earns_nothing():
    other = replace(admission("a"), environment=environment("a", kind="induction"))
    _, rewards = pay([other, admission("b")], {"a": (2, 4), "b": (2, 4)})
    assert rewards == [0.0, pytest.approx(0.6)]


def test_near_copies_earn_less():
    settings, _ = load_settings(None, ["credit.copy_discount=0.5"])
    _, rewards = pay(
        [admission("a"), admission("b")], {"a": (2, 4), "b": (2, 4)}, settings, copies={"a": 1.0}
    )
    assert rewards == [pytest.approx(0.3), pytest.approx(0.6)]


def test_wins_that_luck_explains_earn_nothing():
    lucky = replace(admission("a"), environment=replace(environment("a"), luck=0.3))
    _, rewards = pay([lucky, admission("b")], {"a": (2, 4), "b": (2, 4)})
    assert rewards == [0.0, pytest.approx(0.6)]


def test_the_solver_learns_only_from_play_without_a_hint():
    episodes = [episode("a", 1), episode("a", 0), replace(episode("a", 1), arm="hinted")]
    assert len(credit_solver(episodes, SETTINGS, make_estimator("grpo"), 0)) == 2


def test_observations_are_not_trained_on():
    talk = Generation("", (1, 2), (5, 6, 7), (-0.1, 0.0, -0.2), "stop", (1, 0, 1))
    episodes = [replace(episode("a", 1), generation=talk), episode("a", 0)]
    row = credit_solver(episodes, SETTINGS, make_estimator("grpo"), 0)[0]
    assert (row.ids, row.mask) == ((1, 2, 5, 6, 7), (0, 0, 1, 0, 1))


def test_observations_weigh_nothing_in_token_level_whitening():
    """Three drawn tokens with returns 1, 0, 0: mean 1/3, variance (4 + 1 + 1) / 9 / (3 - 1) = 1/3."""
    settings, _ = load_settings(None, ["credit.advantage=trrpp", "credit.trrpp_level=token"])
    talk = Generation("", (1,), (5, 6, 7, 8), (-0.1, 0.0, 0.0, 0.0), "stop", (1, 0, 0, 0))
    later = Generation("", (1,), (9,), (-0.1,), "stop")
    won = replace(episode("a", 1), generation=talk)
    lost = replace(episode("b", 0, length=1), continuations=(later,))
    rows = credit_solver([won, lost], settings, make_estimator("trrpp"), 0)
    assert [row.advantage * 3**0.5 for row in rows] == pytest.approx([2, -1, -1])


def test_a_draft_that_its_prompt_left_no_room_for_is_not_punished():
    nothing = Generation("", (), (), (), "length")
    unwritten = admission(None, code="no_program")
    unwritten = replace(unwritten, draft=replace(unwritten.draft, generation=nothing))
    _, rewards = pay([admission("a"), unwritten, admission(None, code="no_program")], {"a": (2, 4)})
    assert rewards == [pytest.approx(0.6), -0.5]


def test_a_frozen_proposer_has_rewards_but_no_rows():
    settings, _ = load_settings(None, ["proposer.train=false"])
    rows, rewards = pay([admission("a")], {"a": (1, 4)}, settings)
    assert rows == [] and len(rewards) == 1


def test_lessons_are_what_is_not_mastered():
    environments = [environment(name) for name in ("never", "sometimes", "always", "unmeasured")]
    solved = {"never": (0, 4), "sometimes": (1, 4), "always": (4, 4)}
    assert [e.id for e in unmastered(environments, solved, frontier_only=False)] == ["never", "sometimes"]
    assert [e.id for e in unmastered(environments, solved, frontier_only=True)] == ["sometimes"]


def test_gold_rows_hold_prompt_and_answer():
    (row,) = credit_gold(
        [environment("a")], lambda e: [Generation("", (1, 2, 3), (7, 8), (0.0, 0.0), "stop")], SETTINGS, 2
    )
    assert row.ids == (1, 2, 3, 7, 8) and row.mask == (0, 0, 0, 1, 1)
    assert (row.imitation, row.advantage, row.version) == (SETTINGS.training.gold_weight, 0.0, 2)
    off = SETTINGS.model_copy(update={"training": SETTINGS.training.model_copy(update={"gold_weight": 0.0})})
    assert credit_gold([environment("a")], lambda e: [generation(2)], off, 0) == []


def test_generation_lengths_reach_the_rows():
    rows = credit_solver(
        [episode("a", 1, length=3), episode("a", 0, length=5)], SETTINGS, make_estimator("rloo"), 0
    )
    assert [sum(row.mask) for row in rows] == [3, 5]
    assert all(replace(row, advantage=0.0).logprobs[:2] == (0.0, 0.0) for row in rows)
