"""Self-play over interactive environments on the bundled model: one model, two models, a population."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from spadelab.conductor import Observer, conduct
from spadelab.config import Settings, load_settings
from spadelab.errors import UserError
from spadelab.loop import Loop
from spadelab.records import Cycle
from spadelab.sandbox import Sandbox
from spadelab.store.run import Run

SHARED = ("model.base_model_path=tiny-worlds", "proposer.model=same")
SMALL = (
    "self_play.family=interactive",
    "self_play.tasks_per_round=8",
    'self_play.task_types={"optimization": 1, "pattern_recognition": 1}',  # drafts of a kind are compared
    "solver.rollouts=3",
    "training.gold_replay=8",
    "self_play.rounds_per_iteration=3",
)


def settings(*overrides: str) -> Settings:
    return load_settings(None, [*SMALL, *overrides])[0]


def weights(loop: Loop) -> dict[str, torch.Tensor]:
    return {
        f"{name}.{key}": value.clone()
        for name, policy in loop.players.policies.items()
        for key, value in policy.model.state_dict().items()
    }


def changed(loop: Loop, before: dict[str, torch.Tensor]) -> set[str]:
    """The players whose weights are not what they were."""
    return {key.split(".")[0] for key, value in weights(loop).items() if not torch.equal(value, before[key])}


def play(sandbox: Sandbox, *overrides: str) -> tuple[Loop, list[Cycle]]:
    loop = Loop(settings(*overrides), sandbox)
    cycles = list(loop.run(lambda: True))
    loop.flush()
    return loop, cycles


@pytest.mark.parametrize(
    ("overrides", "players"),
    [
        (SHARED, {"solver"}),
        ((), {"solver", "proposer"}),
        ((*SHARED, "self_play.population=2"), {"solver", "solver2"}),
        (("self_play.population=2",), {"solver", "solver2", "proposer", "proposer2"}),
    ],
)
def test_every_form_of_self_play_learns(
    sandbox: Sandbox, overrides: tuple[str, ...], players: set[str]
) -> None:
    loop = Loop(settings(*overrides), sandbox)
    before, cycles = weights(loop), [loop.step()]
    # Drafts that all earn the same teach their writer nothing; in which cycle that is depends on the
    # last digits of a processor's floats.
    while changed(loop, before) != players and len(cycles) < 12:
        cycles.append(loop.step())
    assert set(loop.players.policies) == players == changed(loop, before)
    episodes = [episode for cycle in cycles for episode in cycle.episodes]
    assert {episode.arm for episode in episodes} == {"plain", "hinted"}
    assert any(len(episode.turns) > 1 for episode in episodes)
    seeds: dict[tuple[str, str], list[int]] = {}
    for episode in cycles[0].episodes:
        seeds.setdefault((episode.environment, episode.arm), []).append(episode.seed)
    hinted = {name for name, arm in seeds if arm == "hinted"}
    assert hinted and all(set(seeds[name, "hinted"]) <= set(seeds[name, "plain"]) for name in hinted)
    assert "regret" in cycles[0].metrics and "regret_error" in cycles[0].metrics


def test_in_a_population_nobody_plays_what_it_wrote(sandbox: Sandbox) -> None:
    loop = Loop(settings(*SHARED, "self_play.population=3"), sandbox)
    stream = loop.streams.python("pairs")
    for _ in range(20):
        pairs = loop.players.pair(stream)
        assert (
            {writer for writer, _ in pairs} == {player for _, player in pairs} == set(loop.players.policies)
        )
        assert all(writer != player for writer, player in pairs)


def test_in_a_population_the_pool_keeps_to_that_too(sandbox: Sandbox) -> None:
    loop = Loop(settings("self_play.population=2", "self_play.revisit=0.5"), sandbox)
    loop.step()
    loop.step()
    own = {"solver": "proposer", "solver2": "proposer2"}
    played = loop.curriculum.current
    assert played.keys() == own.keys()
    assert all(e.writer in own.values() and e.writer != own[player] for player in own for e in played[player])
    assert any(e.born == 0 for environments in played.values() for e in environments)


@pytest.mark.parametrize(
    "overrides",
    [
        SHARED,
        ("self_play.regenerate_every=2", "credit.delay=2"),
        ("self_play.population=2", "self_play.regenerate_every=2"),
    ],
)
def test_a_restored_loop_goes_on_exactly_where_it_was(
    sandbox: Sandbox, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    whole, cycles = play(sandbox, *overrides)
    first = Loop(settings(*overrides), sandbox)
    first.step()
    for name, content in first.files().items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        else:
            content(tmp_path / name)
    second = Loop(settings(*overrides), sandbox)
    second.restore(tmp_path)
    rest = list(second.run(lambda: True))
    second.flush()
    assert [cycle.metrics for cycle in rest] == [cycle.metrics for cycle in cycles[1:]]
    assert [e.turns for c in rest for e in c.episodes] == [e.turns for c in cycles[1:] for e in c.episodes]
    expected = weights(whole)
    assert all(torch.equal(value, expected[key]) for key, value in weights(second).items())


def test_every_held_draft_is_paid_by_the_end_of_the_run(sandbox: Sandbox) -> None:
    loop = Loop(settings(*SHARED, "self_play.regenerate_every=2", "credit.delay=2"), sandbox)
    cycles = list(loop.run(lambda: True))
    assert [len(cycle.admissions) > 0 for cycle in cycles] == [True, False, True]
    assert cycles[0].metrics["proposer_reward"] == 0.0  # nothing is due yet
    (held,) = loop.delays.values()
    assert len(held) == len(cycles[2].admissions)
    version = loop.players.solver.version
    loop.flush()
    assert len(held) == 0 and loop.players.solver.version > version


def test_a_whole_run_leaves_models_data_and_a_report(tmp_path: Path) -> None:
    chosen = settings(
        f"run.directory={tmp_path}",
        "run.name=worlds",
        "self_play.rounds_per_iteration=2",
        "evaluation.tasks=60",
        "evaluation.every=1",
    )
    outcome = conduct(chosen, Observer())
    assert outcome.finished and outcome.report and "solution" in outcome.report.read_text(encoding="utf-8")
    folder = tmp_path / "worlds"
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert [entry["label"] for entry in evaluation["heldout"]] == ["start", "cycle 1", "end"]
    assert evaluation["judged"]
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in (folder / "data/sft.jsonl").read_text().splitlines()
    ]
    assert any(len(row["messages"]) > 3 for row in rows)
    assert all(row["messages"][-1]["role"] == "assistant" for row in rows)
    with Run.open(folder) as run:
        episodes = list(run.iter_episodes())
        stored = {environment.id: environment for environment in run.iter_environments()}
    assert {episode.arm for episode in episodes} == {"plain", "hinted"}
    assert all(stored[episode.environment].family == "interactive" for episode in episodes)


def test_prompts_that_do_not_fit_are_one_clear_sentence(sandbox: Sandbox) -> None:
    chosen = settings("proposer.prompts=full", "model.max_seq_len=64", "proposer.max_new_tokens=8")
    loop = Loop(chosen, sandbox)
    with pytest.raises(UserError, match=r"model\.max_seq_len \(64\)"):
        loop.step()
