"""What a run leaves for other trainers: which answers, in which order, in which format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spadelab.config import load_settings
from spadelab.environments.tasks import gold
from spadelab.learning.datasets import preference_rows, sft_rows, write_datasets
from spadelab.models.tiny.tasks import draw_environment
from spadelab.records import (
    Admission,
    Check,
    Demonstration,
    Draft,
    Environment,
    Episode,
    Generation,
    Score,
    Turn,
)
from spadelab.rng import Streams
from spadelab.roles.briefing import solver_opening
from spadelab.roles.solver import solver_prompt
from spadelab.store.run import Run

RIGHT, WRONG = Score(1.0, "correct"), Score(0.0, "wrong")
LOST = Score(0.0, "jail_died", fault=True)


def make_task(kind: str = "deduction", length: int = 2) -> Environment:
    return draw_environment(kind, length, Streams(length).python(kind))


def attempt(environment: Environment, text: str, score: Score, finish: str = "stop") -> Episode:
    return Episode(environment.id, environment.kind, Generation(text, (1,), (2,), (0.0,), finish), score)


def make_run(directory: Path, *cycles: tuple[Sequence[Environment], Sequence[Episode]]) -> Run:
    run = Run.create(load_settings(None, [f"run.directory={directory}", "run.name=r"])[0])
    for cycle, (environments, episodes) in enumerate(cycles):
        admissions = [Admission(Draft(e.id, e.kind, "text", 1.0), (), e) for e in environments]
        run.record_cycle(cycle, {}, admissions, episodes)
    return run


def answers(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["source"], row["messages"][1]["content"]) for row in rows]


def test_sft_takes_the_shortest_complete_right_answer_and_the_gold_one(tmp_path: Path) -> None:
    task = make_task()
    episodes = [
        attempt(task, "right, but longer", RIGHT),
        attempt(task, "right", RIGHT, "length"),
        attempt(task, "also right", RIGHT),
        attempt(task, "wrong", WRONG),
        attempt(task, "ALSO RIGHT", RIGHT),
    ]
    with make_run(tmp_path, ([task], episodes[:1]), ([], episodes[1:])) as run:
        solver, execution = sft_rows(run)
        prompt = solver_prompt(task, run.settings.solver.prompts)
    question = {"role": "user", "content": prompt}
    facts = {"task": "deduction", "difficulty": 2, "environment": task.id}
    messages = [question, {"role": "assistant", "content": "also right"}]
    assert solver == {"messages": messages, "source": "solver", "cycle": 1, **facts}
    messages = [question, {"role": "assistant", "content": gold(task)}]
    assert execution == {"messages": messages, "source": "execution", "cycle": 0, **facts}


def test_sft_has_no_wrong_and_no_faulty_and_no_double_answer(tmp_path: Path) -> None:
    unsolved, lost, copied, unplayed = (make_task(length=n) for n in (2, 3, 4, 5))
    episodes = [
        attempt(unsolved, "wrong", WRONG),
        attempt(lost, "unknown", LOST),
        attempt(copied, gold(copied), RIGHT),
    ]
    with make_run(tmp_path, ([unsolved, lost, copied, unplayed], episodes)) as run:
        assert answers(list(sft_rows(run))) == [("execution", gold(unsolved)), ("solver", gold(copied))]


def test_play_is_told_as_the_solver_saw_it(tmp_path: Path) -> None:
    turns = (Turn("a", "<|end|>", 0.0, "a"), Turn("b", "won", 1.0, "b"))
    world = Environment(
        "w", "w", "interactive", "optimization", "class WEnv: ...", (), (), 2,
        action_format="text", demonstrations=(Demonstration(1, "go", turns),),
    )  # fmt: skip
    opening = solver_opening("go", "", "text", "compact")
    played = replace(attempt(world, "b", RIGHT), opening=opening, turns=turns)
    with make_run(tmp_path, ([world], [played])) as run:
        (row,) = sft_rows(run)  # the solver's play is the solution's, word for word
    assert [message["content"] for message in row["messages"]] == [opening, "a", "< |end|>", "b"]


def test_preferences_come_from_the_frontier_alone(tmp_path: Path) -> None:
    frontier, mastered, unsolved, doubtful = (make_task(length=n) for n in (2, 3, 4, 5))
    episodes = [
        attempt(frontier, "wrong without an end", WRONG, "length"),
        attempt(frontier, "right answer", RIGHT),
        attempt(frontier, "wrong, and at length", WRONG),
        attempt(frontier, "wrong answer", WRONG),
        *[attempt(mastered, "right", RIGHT)] * 2,
        *[attempt(unsolved, "wrong", WRONG)] * 2,
        attempt(doubtful, "right", RIGHT),
        attempt(doubtful, "lost", LOST),
    ]
    with make_run(tmp_path, ([frontier, mastered, unsolved, doubtful], episodes)) as run:
        (row,) = preference_rows(run)
        prompt = solver_prompt(frontier, run.settings.solver.prompts)
    assert row == {
        "prompt": [{"role": "user", "content": prompt}],
        "chosen": [{"role": "assistant", "content": "right answer"}],
        "rejected": [{"role": "assistant", "content": "wrong answer"}],
        "task": "deduction", "difficulty": 2, "environment": frontier.id, "cycle": 0,
    }  # fmt: skip


def test_the_question_never_shows_what_is_hidden(tmp_path: Path) -> None:
    task = make_task("induction", 3)
    with make_run(tmp_path, ([task], [attempt(task, "wrong", WRONG), attempt(task, "right", RIGHT)])) as run:
        (row,) = preference_rows(run)
    question = row["prompt"][0]["content"]
    assert f"{task.inputs[0]} -> {task.outputs[0]}" in question
    assert not any(f"{given} -> " in question for given in task.inputs[task.visible :])
    assert task.source not in question


def test_drafts_that_repeat_the_benchmark_leave_nothing(tmp_path: Path) -> None:
    task = make_task()
    check = Check("held_out", False, "held_out", "the program is part of the held-out benchmark")
    with make_run(tmp_path) as run:
        run.record_cycle(0, {}, [Admission(Draft("d", "deduction", task.source, 2.0), (check,))], [])
        assert [path.read_text() for path in write_datasets(run)] == ["", ""]


def test_files_follow_the_order_of_the_run_and_are_written_again(tmp_path: Path) -> None:
    first, second = make_task(length=9), replace(make_task("abduction", 2), message="lone \ud800 surrogate")
    third = replace(make_task("induction", 2), message="lone \ud800 surrogate")
    episodes = [
        attempt(e, text, s) for e in (second, first, third) for text, s in (("r", RIGHT), ("w", WRONG))
    ]
    with make_run(tmp_path, ([first, second, third], episodes)) as run:
        once = [path.read_bytes() for path in write_datasets(run)]
        again = write_datasets(run)
    assert [path.relative_to(run.path).as_posix() for path in again] == [
        "data/sft.jsonl",
        "data/preferences.jsonl",
    ]
    assert [path.read_bytes() for path in again] == once
    sft, preferences = ([json.loads(line) for line in content.splitlines()] for content in once)
    ids = [first.id, second.id, third.id]
    assert [row["environment"] for row in sft] == [name for name in ids for _ in range(2)]
    assert [row["environment"] for row in preferences] == ids
    # Readers of data sets refuse what is not UTF-8.
    assert "lone \\ud800 surrogate" in preferences[2]["prompt"][0]["content"]
    json.dumps(sft + preferences, ensure_ascii=False).encode()
