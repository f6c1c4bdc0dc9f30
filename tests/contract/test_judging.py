"""The frozen start model as the judge of how hard the proposals are, in a real jail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_helpers import make_episode, make_settings, record_learning

from spadelab.config import Settings
from spadelab.evaluation.judging import judge_difficulty, summarise
from spadelab.evaluation.statistics import wilson
from spadelab.evaluation.stretches import split
from spadelab.models.local import LocalModel
from spadelab.models.tiny.tasks import draw_environment
from spadelab.records import Admission, Draft, Score
from spadelab.rng import Streams
from spadelab.sandbox import Limits, Sandbox
from spadelab.store.run import Run

# One token is enough: an untrained model answers nothing right, however long it talks.
SHORT = "solver.max_new_tokens=1"


def judge(
    run: Run, model: LocalModel, settings: Settings, sandbox: Sandbox, **sizes: int
) -> list[dict[str, Any]]:
    return judge_difficulty(run, model, settings, sandbox, Limits(), **sizes)


def test_stretches_cover_the_run(fresh_model: LocalModel, sandbox: Sandbox, tmp_path: Path) -> None:
    settings = make_settings(tmp_path, SHORT)
    with Run.create(settings) as run:
        record_learning(run, 12, drafts=12)
        entries = judge(run, fresh_model, settings, sandbox, periods=3, tasks=12)
        assert entries == judge(run, fresh_model, settings, sandbox, periods=3, tasks=12)
    assert [(entry["from"], entry["to"]) for entry in entries] == [(0, 3), (4, 7), (8, 11)]
    assert [entry["tasks"] for entry in entries] == [12, 12, 12]
    assert all(sorted(entry["kinds"]) == ["abduction", "deduction", "induction"] for entry in entries)
    first, _, last = (entry["difficulty"] for entry in entries)
    assert first + 2 < last
    expected = wilson(0, 12)
    assert {(e["start_solve_rate"], e["low"], e["high"]) for e in entries} == {
        (0.0, expected.low, expected.high)
    }


def test_answers_decide_the_rate_and_faults_are_left_out() -> None:
    tasks = [draw_environment("deduction", length, Streams(0).python("tasks")) for length in (1, 2, 5, 6)]
    right, wrong, lost = Score(1.0, "correct"), Score(0.0, "wrong"), Score(0.0, "jail_died", fault=True)
    scores = [right, wrong, lost, right]
    episodes = [make_episode(task, "", score) for task, score in zip(tasks, scores, strict=True)]
    entry = summarise(tasks, episodes)
    expected = wilson(2, 3)
    assert (entry["start_solve_rate"], entry["low"], entry["high"]) == (2 / 3, expected.low, expected.high)
    assert (entry["tasks"], entry["difficulty"], entry["kinds"]) == (3, (1 + 2 + 6) / 3, {"deduction": 2 / 3})


def test_only_proposals_of_the_stretch_are_judged(
    fresh_model: LocalModel, sandbox: Sandbox, tmp_path: Path
) -> None:
    settings = make_settings(tmp_path, SHORT)
    proposed, seed = (draw_environment("deduction", n, Streams(0).python(str(n))) for n in (3, 9))
    with Run.create(settings) as run:
        assert judge(run, fresh_model, settings, sandbox) == []
        episodes = [make_episode(e, "", Score(0.0, "wrong")) for e in (proposed, seed)]
        admission = Admission(Draft("d", "deduction", "", 3.0), (), proposed)
        run.record_cycle(0, {}, [admission, admission], episodes, environments=[seed])
        run.record_cycle(1, {}, [], episodes)
        (entry,) = judge(run, fresh_model, settings, sandbox)
    assert (entry["from"], entry["to"], entry["tasks"], entry["difficulty"]) == (0, 0, 1, 3.0)


@pytest.mark.parametrize(
    ("cycles", "sizes"), [(0, []), (1, [1]), (4, [1] * 4), (5, [1] * 5), (13, [2, 3, 2, 3, 3])]
)
def test_split_leaves_nothing_out(cycles: int, sizes: list[int]) -> None:
    parts = split(range(cycles), 5)
    assert [number for part in parts for number in part] == list(range(cycles))
    assert [len(part) for part in parts] == sizes
