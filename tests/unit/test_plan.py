"""The curriculum as the loop uses it: requests, selection, lessons, modes, state."""

import json
import random

import pytest

from spadelab.config import load_settings
from spadelab.curriculum.plan import FIXED_TASKS, Curriculum
from spadelab.records import Admission, Check, Draft, Environment


def settings(*overrides: str):
    base = ["self_play.tasks_per_round=12", "self_play.initial_difficulty=5", "self_play.max_difficulty=9"]
    return load_settings(None, [*base, *overrides])[0]


def environment(name: str, kind: str = "deduction", difficulty: int = 5) -> Environment:
    return Environment(name, name, "programs", kind, "def f(a): return a", ("1",), ("1",), difficulty)


def admit(name: str, asked: int = 5, difficulty: int = 5) -> Admission:
    draft = Draft(name, "deduction", "text", asked)
    return Admission(draft, (Check("gate", True),), environment(name, difficulty=difficulty))


def test_requests_follow_shares_and_target():
    curriculum = Curriculum(
        settings('self_play.task_types={"deduction": 1}', "self_play.replay=0", "self_play.ahead=0.4"), []
    )
    requests = curriculum.plan(0, random.Random(0))
    assert len(requests) == 12 and {r.kind for r in requests} == {"deduction"}
    assert {r.difficulty for r in requests} == {4, 5, 6, 7}


def test_uniform_mode_covers_the_whole_range_whatever_the_solver_does():
    curriculum = Curriculum(settings("self_play.mode=uniform"), [])
    curriculum.update(0, [admit("a")], [environment("a")], {"a": (4, 4)})
    stream = random.Random(0)
    asked = {r.difficulty for _ in range(40) for r in curriculum.plan(0, stream)}
    assert asked == set(range(1, 10))


def test_fixed_mode_writes_once_and_then_only_samples():
    curriculum = Curriculum(settings("self_play.mode=fixed"), [])
    stream = random.Random(0)
    assert len(curriculum.plan(0, stream)) == FIXED_TASKS["programs"]
    written = [admit(f"t{i}") for i in range(40)]
    first = curriculum.select(0, written, stream)
    assert curriculum.plan(1, stream) == []
    second = curriculum.select(1, [], stream)
    names = {a.environment.id for a in written if a.environment}
    assert len(first) == len(second) == 12 and {e.id for e in first + second} <= names and first != second


@pytest.mark.parametrize(("wins", "direction"), [(4, 1), (0, -1)])
def test_the_target_follows_the_solve_rate(wins, direction):
    curriculum = Curriculum(settings(), [])
    before = curriculum.targets["deduction"].value
    for cycle in range(3):
        new = [admit(f"{cycle}-{i}") for i in range(4)]
        environments = [a.environment for a in new if a.environment]
        curriculum.update(cycle, new, environments, {e.id: (wins, 4) for e in environments})
    assert (curriculum.targets["deduction"].value - before) * direction > 0


def test_a_target_does_not_trust_a_request_that_was_not_obeyed():
    curriculum = Curriculum(settings(), [])
    new = [admit(f"{i}", asked=9, difficulty=1) for i in range(4)]
    environments = [a.environment for a in new if a.environment]
    curriculum.update(0, new, environments, {e.id: (4, 4) for e in environments})
    assert curriculum.targets["deduction"].value == 5


def test_rejected_drafts_are_topped_up_from_the_buffer():
    curriculum = Curriculum(settings(), [])
    old = [admit(f"old{i}") for i in range(20)]
    environments = [a.environment for a in old if a.environment]
    curriculum.update(0, old, environments, {e.id: (2, 4) for e in environments})
    chosen = curriculum.select(0, [admit("new")], random.Random(0))
    assert len(chosen) == 12 and chosen[0].id == "new" and len({e.id for e in chosen}) == 12


def test_earlier_lessons_come_again_with_mastered_tasks_among_them():
    curriculum = Curriculum(settings(), [])
    mastered = [admit(f"m{i}") for i in range(20)]
    easy = [a.environment for a in mastered if a.environment]
    curriculum.update(0, mastered, easy, {e.id: (4, 4) for e in easy})
    first = [environment(f"l{i}") for i in range(20)]
    assert [e.id for e in curriculum.learn(first, 0, random.Random(0))] == [e.id for e in first]
    again = curriculum.learn([environment("new")], 12, random.Random(0))
    ids = [e.id for e in again]
    assert ids[0] == "new" and len(ids) == 13
    assert sum(i.startswith("l") for i in ids) == 8 and sum(i.startswith("m") for i in ids) == 4


def test_examples_come_from_the_buffer_and_from_the_seeds_before():
    curriculum = Curriculum(settings(), [environment("seed")])
    deductions = [r for r in curriculum.plan(0, random.Random(0)) if r.kind == "deduction"]
    assert {r.references[0].id for r in deductions} == {"seed"}
    curriculum.update(0, [admit("a")], [environment("a")], {"a": (1, 4)})
    deductions = [r for r in curriculum.plan(1, random.Random(0)) if r.kind == "deduction"]
    assert {r.references[0].id for r in deductions} == {"a"}


def test_restored_state_plans_the_same():
    one = Curriculum(settings(), [])
    new = [admit(f"{i}") for i in range(6)]
    environments = [a.environment for a in new if a.environment]
    one.update(0, new, environments, {e.id: (i % 5, 4) for i, e in enumerate(environments)})
    one.learn(environments, 4, random.Random(0))
    two = Curriculum(settings(), [])
    two.restore(json.loads(json.dumps(one.state())))
    assert two.plan(1, random.Random(3)) == one.plan(1, random.Random(3))
    assert two.learn([], 6, random.Random(3)) == one.learn([], 6, random.Random(3))
    assert two.state() == one.state()


def test_between_two_regenerations_the_same_environments_are_played():
    curriculum = Curriculum(settings("self_play.regenerate_every=3"), [])
    stream = random.Random(0)
    assert [len(curriculum.plan(cycle, stream)) for cycle in range(4)] == [12, 0, 0, 12]
    first = curriculum.select(0, [admit("a"), admit("b")], stream)
    assert {e.id for e in first} == {"a", "b"}
    assert curriculum.select(1, [], stream) == first == curriculum.select(2, [], stream)
    assert {e.id for e in curriculum.select(3, [admit("c")], stream)} == {"c"}


def test_each_player_goes_on_with_the_set_it_got():
    one = Curriculum(settings("self_play.regenerate_every=2"), [])
    stream = random.Random(0)
    first = one.select(0, [admit("a")], stream, "solver", 2)
    second = one.select(0, [admit("b")], stream, "solver2", 2)
    two = Curriculum(settings("self_play.regenerate_every=2"), [])
    two.restore(json.loads(json.dumps(one.state())))
    for curriculum in (one, two):
        assert [e.id for e in curriculum.select(1, [], stream, "solver2", 2)] == ["b"]
        assert [e.id for e in curriculum.select(1, [], stream, "solver", 2)] == ["a"]
    assert (first[0].id, second[0].id) == ("a", "b")


def fill_pool(curriculum: Curriculum, writers: dict[str, list[str]]) -> None:
    """Let each writer write environments of these names that are won half the time."""
    for writer, names in writers.items():
        written = curriculum.enrol([admit(name) for name in names], writer, 0)
        environments = [a.environment for a in written if a.environment]
        curriculum.update(0, written, environments, {e.id: (2, 4) for e in environments})


@pytest.mark.parametrize("resumed", [False, True])
def test_the_pool_gives_no_player_what_it_wrote_itself(resumed):
    curriculum = Curriculum(settings(), [])
    fill_pool(curriculum, {"proposer": ["p0", "p1", "p2"], "proposer2": ["q0", "q1"]})
    if resumed:
        state = json.loads(json.dumps(curriculum.state()))
        curriculum = Curriculum(settings(), [])
        curriculum.restore(state)
    stream = random.Random(0)
    drawn = [
        {e.id for e in curriculum.select(1, [], stream, "solver", 2, avoided)}
        for avoided in ("proposer", "proposer2", None)
    ]
    assert drawn == [{"q0", "q1"}, {"p0", "p1", "p2"}, {"p0", "p1", "p2", "q0", "q1"}]


def test_what_one_has_written_is_known_before_the_next_one_writes():
    curriculum = Curriculum(settings(), [])
    (signed,) = curriculum.enrol([admit("a")], "proposer2", 0)
    assert signed.environment and signed.environment.writer == "proposer2"
    assert "a" in curriculum.buffer.known and len(curriculum.buffer) == 0


def test_a_player_whose_share_of_the_drafts_is_the_larger_plays_them_all():
    curriculum = Curriculum(settings("self_play.tasks_per_round=8"), [])
    fill_pool(curriculum, {"proposer": ["old"]})
    chosen = curriculum.select(1, [admit(f"new{i}") for i in range(3)], random.Random(0), "solver", 3)
    assert [e.id for e in chosen] == ["new0", "new1", "new2"]


def test_the_fixed_set_is_what_all_have_written_and_nobody_plays_its_own_part():
    curriculum = Curriculum(settings("self_play.mode=fixed"), [])
    stream = random.Random(0)
    for writer, player, own in (("p", "s2", "p2"), ("p2", "s", "p")):
        written = curriculum.enrol([admit(f"{writer}-{i}") for i in range(3)], writer, 0)
        curriculum.select(0, written, stream, player, 2, own)
    assert len(curriculum.fixed) == 6 and curriculum.plan(1, stream) == []
    played = {e.id for e in curriculum.select(1, [], stream, "s", 2, "p")}
    assert played == {"p2-0", "p2-1", "p2-2"}


def test_an_environment_that_breaks_in_play_leaves_the_pool():
    curriculum = Curriculum(settings(), [])
    fill_pool(curriculum, {"proposer": ["a", "b"]})
    curriculum.update(1, [], [environment("a"), environment("b")], {"b": (0, 0)})
    assert {e.id for e in curriculum.buffer.sample(9, random.Random(0))} == {"b"}
    assert "a" in curriculum.buffer.known


def test_a_share_of_what_is_played_comes_from_the_pool():
    curriculum = Curriculum(settings("self_play.revisit=0.25"), [])
    stream = random.Random(0)
    assert len(curriculum.plan(0, stream)) == 9
    old = [admit(f"old{i}") for i in range(20)]
    environments = [a.environment for a in old if a.environment]
    curriculum.update(0, old, environments, {e.id: (2, 4) for e in environments})
    chosen = curriculum.select(1, [admit(f"new{i}") for i in range(9)], stream)
    assert sum(e.id.startswith("old") for e in chosen) == 3 and len(chosen) == 12


def test_the_held_out_side_is_a_matter_of_the_id():
    curriculum = Curriculum(settings("self_play.holdout=0.25"), [])
    names = [f"{i:02x}000000" for i in range(256)]
    assert [name for name in names if curriculum.is_held_out(environment(name))] == names[:64]
    assert not Curriculum(settings(), []).is_held_out(environment("00000000"))


def test_a_kind_that_nobody_asked_for_moves_no_target():
    curriculum = Curriculum(settings(), [])
    odd = Admission(Draft("d", "deduction", "", 5), (), environment("odd", kind="juggling"))
    assert odd.environment
    before = curriculum.describe([], {})
    curriculum.update(0, [odd], [odd.environment], {"odd": (2, 4)})
    assert curriculum.describe([], {}) == before


def test_a_draft_of_another_kind_than_asked_counts_as_disobedient():
    curriculum = Curriculum(settings(), [])
    swapped = Admission(Draft("d", "induction", "", 5), (), environment("swapped", kind="deduction"))
    assert swapped.environment
    before = curriculum.targets["deduction"].value
    for cycle in range(4):
        curriculum.update(cycle, [swapped], [swapped.environment], {"swapped": (4, 4)})
    assert curriculum.targets["deduction"].value <= before


def test_what_is_held_out_never_comes_back_as_a_lesson_or_an_example():
    curriculum = Curriculum(settings("self_play.holdout=0.25"), [])
    old = [admit(f"{i:02x}000000") for i in range(0, 256, 4)]
    environments = [a.environment for a in old if a.environment]
    won = {e.id: (4, 4) if i % 2 else (2, 4) for i, e in enumerate(environments)}
    curriculum.update(0, old, environments, won)
    stream = random.Random(0)
    again = curriculum.learn([], 200, stream) + curriculum.buffer.sample(200, stream)
    assert len(again) == 48 and not any(map(curriculum.is_held_out, again))
    assert all(e.key in curriculum.buffer.known for e in environments)


def test_library_mode_plays_the_seeds_and_writes_nothing():
    seeds = [environment(f"seed{i}") for i in range(20)]
    curriculum = Curriculum(settings("self_play.mode=library"), seeds)
    stream = random.Random(0)
    assert curriculum.plan(0, stream) == []
    assert {e.id for e in curriculum.select(0, [], stream)} < {e.id for e in seeds}
