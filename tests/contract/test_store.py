"""Runs keep their records through kill -9, damage, a full disk and a second process."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from store_helpers import (
    SURROGATE,
    WRITER,
    crash_at,
    damage,
    in_limited_child,
    kill_after,
    make_cycle,
    make_settings,
    names,
    start,
)

from spadelab.config import load_settings
from spadelab.errors import UserError
from spadelab.store.run import Run


def test_records_come_back_as_they_went_in(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    admissions, episodes = make_cycle(1, SURROGATE)
    seed = replace(admissions[0].environment or pytest.fail(), id="seed", trace=())
    with Run.create(settings, {"backend": "bubblewrap"}) as run:
        run.record_cycle(1, {"loss": float("nan"), "rate": 0.5}, admissions, episodes, {"play": 0.1}, [seed])
    with Run.open(tmp_path / "r", writable=False) as run:
        assert run.settings == settings
        assert run.facts == {"backend": "bubblewrap"}
        assert run.versions["torch"]
        assert list(run.iter_environments()) == [admissions[0].environment, seed]
        (cycle,) = run.iter_cycles()
        assert (cycle.metrics, cycle.timings) == ({"loss": None, "rate": 0.5}, {"play": 0.1})
        good, bad = run.iter_admissions()
        assert (good.draft, good.asked, good.code, good.environment) == ("a1", 3.0, "", "id1")
        assert (bad.kind, bad.code, bad.environment) == ("abduction", "timeout", None)
        assert bad.reason == "broken \\ud800 text"
        assert [check["gate"] for check in bad.checks] == ["static", "run"]
        right, wrong = run.iter_episodes()
        assert (right.reward, right.outcome, right.tokens, right.finish) == (1.0, "correct", 3, "stop")
        assert (wrong.reward, wrong.outcome, wrong.fault) == (0.0, "wrong", False)
    assert [json.loads(line) for line in (tmp_path / "r/metrics.jsonl").read_text().splitlines()] == [
        {"cycle": 1, "loss": None, "rate": 0.5, "timings": {"play": 0.1}}
    ]
    assert load_settings(tmp_path / "r/settings.json") == (settings, [])


def test_doing_a_cycle_again_replaces_it_and_what_came_after(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path / "once")) as run:
        for cycle in (1, 2):
            run.record_cycle(cycle, {"c": cycle}, *make_cycle(cycle))
        expected = run.digest()
    with Run.create(make_settings(tmp_path / "twice")) as run:
        run.record_cycle(1, {"c": 1}, *make_cycle(1))
        for cycle in (2, 3):
            run.record_cycle(cycle, {"c": -1}, *make_cycle(cycle, "other"))
        assert run.digest() != expected
        run.record_cycle(2, {"c": 2}, *make_cycle(2))
        assert run.digest() == expected


def test_digest_ignores_times_but_nothing_else(tmp_path: Path) -> None:
    def digest(name: str, text: str = "text", loss: float = 1.0, seconds: float = 1.0) -> str:
        admissions, episodes = make_cycle(1, text)
        first = replace(admissions[0], checks=(replace(admissions[0].checks[0], seconds=seconds),))
        with Run.create(make_settings(tmp_path / name)) as run:
            run.record_cycle(1, {"loss": loss}, [first, *admissions[1:]], episodes, {"seconds": seconds})
            return run.digest()

    expected = digest("a")
    assert digest("b", seconds=2.0) == expected
    assert digest("c", loss=1.5) != expected
    assert digest("d", text="other") != expected


def test_restore_goes_back_to_the_checkpoint(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    with Run.create(settings) as run:
        assert run.restore() is None
        for cycle in (1, 2, 3):
            run.record_cycle(cycle, {"c": cycle}, *make_cycle(cycle))
            if cycle == 2:
                run.save_checkpoint(2, {"state": b"2"})
                expected, lines = run.digest(), (run.path / "metrics.jsonl").read_text()
        (run.path / "metrics.jsonl").write_text('{"cycle": 1')
        (run.path / "checkpoints/tmp-000003-1").mkdir()
    with Run.create(settings) as run:
        found = run.restore()
        assert found
        assert (found.cycle, (found.folder / "state").read_bytes()) == (2, b"2")
        assert run.digest() == expected
        assert (run.path / "metrics.jsonl").read_text() == lines
        assert names(run.path / "checkpoints") == ["000002"]


def test_restore_after_damage_logs_and_drops_the_damaged(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        for cycle in (1, 2):
            run.record_cycle(cycle, {"c": cycle}, *make_cycle(cycle))
            run.save_checkpoint(cycle, {"state": b"state"})
        damage(run.path / "checkpoints/000002/state")
        found = run.restore()
        assert found
        assert found.cycle == 1
        assert len(found.warnings) == 1
        assert found.warnings[0] in (run.path / "log.txt").read_text()
        assert [cycle.cycle for cycle in run.iter_cycles()] == [1]
        assert names(run.path / "checkpoints") == ["000001"]


def test_restore_can_crash_at_any_step(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, "run.keep_checkpoints=3")
    with Run.create(settings) as run:
        for cycle in (1, 2, 3, 4):
            run.record_cycle(cycle, {"c": cycle}, *make_cycle(cycle))
            run.save_checkpoint(cycle, {"state": b"%d" % cycle})
            if cycle == 2:
                expected, lines = run.digest(), (run.path / "metrics.jsonl").read_text()
        for cycle in (3, 4):
            damage(run.path / f"checkpoints/00000{cycle}/state")
        (run.path / "checkpoints/tmp-000005-1").mkdir()
    whole, step, crashed = tmp_path / "whole", 1, True
    (tmp_path / "r").rename(whole)
    while crashed:
        path = tmp_path / f"{step}"
        shutil.copytree(whole, path)

        def restore(path: Path = path) -> None:
            with Run.open(path) as run:
                run.restore()

        crashed = crash_at(step, restore)
        with Run.open(path) as run:
            found = run.restore()
            assert found
            assert found.cycle == 2
            assert run.digest() == expected
            assert (path / "metrics.jsonl").read_text() == lines
            assert names(path / "checkpoints") == ["000002"]
        step += 1
    assert step > 15


def test_without_a_checkpoint_restore_starts_at_the_beginning(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        run.record_cycle(1, {}, *make_cycle(1))
        assert run.restore() is None
        assert list(run.iter_cycles()) == list(run.iter_environments()) == []


def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    cycles = 30
    whole = start("run", tmp_path / "whole", cycles)
    assert whole.communicate()[0].split()[-1] == "done"
    pause, kills = random.Random(2), 0
    while "done" not in kill_after(
        start("run", tmp_path / "killed", cycles), pause.randint(3, 7), pause.random()
    ):
        kills += 1
    assert kills >= 3
    digests, states = [], []
    for name in ("whole", "killed"):
        with Run.open(tmp_path / name / "minimal") as run:
            assert len(list(run.iter_cycles())) == cycles
            digests.append(run.digest())
            found = run.restore()
            assert found
            states.append((found.folder / "state").read_bytes())
    assert digests[0] == digests[1]
    assert states[0] == states[1]


def test_a_second_process_is_refused_with_the_first_ones_id(tmp_path: Path) -> None:
    first = start("run", tmp_path, 10_000)
    assert first.stdout
    first.stdout.readline()
    run_path = tmp_path / "minimal"
    try:
        with pytest.raises(UserError, match=f"process {first.pid} is working on this run"):
            Run.open(run_path)
        with Run.open(run_path, writable=False) as reader:
            assert reader.settings.run.checkpoint_every == 3
    finally:
        first.kill()
        first.communicate()
    assert (run_path / "lock").read_text() == f"{first.pid}\n"
    with Run.open(run_path):  # the lock of a dead process does not count
        assert (run_path / "lock").read_text() == f"{os.getpid()}\n"


def test_existing_name_goes_on_only_with_equal_settings(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    assert not Run.exists(settings)
    Run.create(settings).close()
    assert Run.exists(settings)
    with pytest.raises(
        UserError, match=r"training\.learning_rate 0\.0005, not 0\.1; choose another run\.name"
    ):
        Run.create(make_settings(tmp_path, "training.learning_rate=0.1"))
    longer = make_settings(tmp_path, "run.minutes=3", "self_play.iterations=2", "run.keep_checkpoints=5")
    with Run.create(longer) as run:
        assert run.settings == longer
    assert json.loads((tmp_path / "r/settings.json").read_text())["run"]["minutes"] == 3


def test_folders_that_are_no_run_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no run"):
        Run.open(tmp_path)
    (tmp_path / "r").mkdir()
    (tmp_path / "r/thesis.txt").write_text("precious")
    with pytest.raises(UserError, match=r"thesis\.txt but no run"):
        Run.create(make_settings(tmp_path))
    assert names(tmp_path / "r") == ["thesis.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made"):
        Run.create(make_settings(tmp_path / "file"))


def test_broken_database_is_explained(tmp_path: Path) -> None:
    Run.create(make_settings(tmp_path)).close()
    (tmp_path / "r/run.sqlite").write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(UserError, match="database cannot be used"):
        Run.open(tmp_path / "r")


def test_start_that_died_before_the_first_row_can_be_started_again(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r/run.sqlite").write_bytes(b"")
    (tmp_path / "r/lock").write_text("999999\n")
    with pytest.raises(UserError, match="no complete run"):
        Run.open(tmp_path / "r")
    with Run.create(make_settings(tmp_path)) as run:
        assert run.restore() is None


def test_data_files_are_whole_or_absent(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        path = run.write_data("sft", [{"messages": [{"role": "user", "content": SURROGATE}]}])
        assert path == run.path / "data/sft.jsonl"
        assert json.loads(path.read_text()) == {"messages": [{"role": "user", "content": SURROGATE}]}

        def fail() -> object:
            yield {"a": 1}
            raise RuntimeError("half way")

        with pytest.raises(RuntimeError, match="half way"):
            run.write_data("sft", fail())  # type: ignore[arg-type]
        assert path.read_text().count("\n") == 1


def test_full_disk_rolls_the_cycle_back(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    with Run.create(settings) as run:
        run.record_cycle(1, {"loss": 1.0}, *make_cycle(1))
        before = run.digest()

    def record() -> None:
        with Run.open(tmp_path / "r") as run:
            run.record_cycle(2, {"loss": 2.0}, *make_cycle(2, "long" * 100_000))

    assert "refused to write" in in_limited_child(record, 300_000)
    with Run.open(tmp_path / "r") as run:
        assert run.digest() == before
        assert [cycle.cycle for cycle in run.iter_cycles()] == [1]


def test_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=2m tmpfs {tmp_path} && exec {sys.executable} {WRITER} fill {tmp_path}"
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount]
    if subprocess.run([*command[:3], "true"], capture_output=True, check=False).returncode:
        pytest.skip("no private mounts here")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    checkpoint, cycle, data, state, end = done.stdout.splitlines()
    assert "no space left for the checkpoint of cycle 2" in checkpoint
    assert "no space left for the run's records" in cycle
    assert "sft.jsonl: no space left" in data
    assert (state, end) == ("intact", "went on")
