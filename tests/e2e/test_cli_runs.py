"""Runs, tasks and models made by the command line: whole, interrupted, resumed, on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_process import COMMAND, SMALL, complaint, spadelab


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def finished(work: Path) -> subprocess.CompletedProcess[str]:
    """A whole small run, made from a settings file."""
    settings = {
        "run": {"name": "whole"},
        "self_play": {"rounds_per_iteration": 3},
        "evaluation": {"every": 2},
    }
    (work / "whole.json").write_text(json.dumps(settings))
    result = spadelab("run", "--config", "whole.json", *SMALL, cwd=work)
    assert result.returncode == 0, result.stderr
    return result


def test_a_full_disk_loses_nothing(work: Path) -> None:
    """A limit on the size of files: the database stays below it, a checkpoint's weights do not."""
    arguments = ("run", "--set=run.name=full", "--set=self_play.rounds_per_iteration=2", *SMALL)
    assert "no space left" in complaint(spadelab(*arguments, cwd=work, limit=1_000_000))
    again = spadelab("resume", "full", "--quiet", cwd=work)
    assert again.returncode == 0, again.stderr


def test_a_run_shows_its_progress_and_leaves_its_results(
    work: Path, finished: subprocess.CompletedProcess[str]
) -> None:
    assert "\x1b" not in finished.stdout and "Traceback" not in finished.stderr
    lines = finished.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("cycle ")] == ["1/3", "2/3", "3/3"]
    assert len([line for line in lines if line.startswith("held-out (")]) == 3
    assert lines[-1].endswith(".jsonl") and "finished after 3 cycles" in lines
    run = work / "runs" / "whole"
    assert f"report    {Path('runs/whole/report.html')}" in lines
    for name in ("report.html", "models/solver/model.safetensors", "data/sft.jsonl", "settings.json"):
        assert (run / name).is_file(), name


def test_the_same_run_again_has_nothing_to_do(work: Path, finished: object) -> None:
    result = spadelab("run", "--config", "whole.json", *SMALL, "--json", cwd=work)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["finished"] and summary["cycles"] == 3
    assert [measure["label"] for measure in summary["heldout"]] == ["start", "cycle 2", "end"]
    assert "going on with it" in result.stderr and "\ncycle " not in result.stderr


def test_a_run_name_that_is_taken(work: Path, finished: object) -> None:
    result = spadelab("run", "--config", "whole.json", *SMALL, "--set", "run.seed=5", cwd=work)
    assert "run.seed 0, not 5" in complaint(result)
    assert "training.learning_rate" in complaint(
        spadelab("resume", "whole", "--set", "training.learning_rate=0.1", cwd=work)
    )


def test_the_report_can_be_written_again(work: Path, finished: object) -> None:
    report = work / "runs" / "whole" / "report.html"
    report.unlink()
    result = spadelab("report", "whole", cwd=work)
    assert result.returncode == 0 and result.stdout == "runs/whole/report.html\n" and report.is_file()


def test_a_trained_model_can_be_measured(work: Path, finished: object) -> None:
    result = spadelab("eval", "runs/whole/models/solver", *SMALL, "--json", cwd=work)
    assert result.returncode == 0, result.stderr
    measure = json.loads(result.stdout)
    assert measure["tasks"] == 12 == sum(kind["tasks"] for kind in measure["kinds"].values())
    assert measure["low"] <= measure["accuracy"] <= measure["high"]
    table = spadelab("eval", "tiny", *SMALL, cwd=work)
    assert table.returncode == 0 and "on 12 held-out tasks" in table.stdout


def test_a_dry_run_makes_no_file(tmp_path: Path) -> None:
    arguments = ("run", "--dry-run", *SMALL, "--set=self_play.rounds_per_iteration=100000")
    plain = spadelab(*arguments, "--set=run.minutes=2", cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert "  minutes = 2.0    (default: null)" in plain.stdout and "estimated time: 2 min" in plain.stdout
    result = spadelab(*arguments, "--json", cwd=tmp_path)
    found = json.loads(result.stdout)
    assert found["settings"]["self_play"]["tasks_per_round"] == 6 and not found["exists"]
    times = found["estimate"]
    expected = 100_000 * times["cycle"] + 2 * times["measure"]
    assert times["total"] == pytest.approx(expected) and times["cycle"] > 0
    assert list(tmp_path.iterdir()) == []


def wait_for(path: Path, text: str, seconds: float = 240) -> None:
    """Until the file holds the text."""
    deadline = time.monotonic() + seconds
    while text not in (path.read_text(errors="replace") if path.exists() else ""):
        assert time.monotonic() < deadline, path.read_text(errors="replace")
        time.sleep(0.05)


@contextmanager
def started(
    command: Sequence[str], cwd: Path, output: Path, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that writes to a file and does not outlive the test."""
    with output.open("wb") as file:
        process = subprocess.Popen(command, cwd=cwd, stdout=file, stderr=subprocess.STDOUT, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = ("run", *SMALL, "--set=run.name=cut", "--set=self_play.rounds_per_iteration=100000")
    with started([*COMMAND, *run], tmp_path, log) as process:
        wait_for(log, "\ncycle 1/")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
    text = log.read_text()
    assert "stopping after this cycle; press Ctrl-C again" in text and "Traceback" not in text
    assert text.splitlines()[-1].endswith("go on with: spadelab resume runs/cut")
    done = text.count("\ncycle ")
    result = spadelab("resume", "cut", f"--set=self_play.rounds_per_iteration={done + 1}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert f"resuming after cycle {done - 1}" in result.stdout
    assert result.stdout.count("\ncycle ") == 1 and f"finished after {done + 1} cycles" in result.stdout


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = ("run", *SMALL, "--set=evaluation.tasks=2000", "--set=self_play.rounds_per_iteration=100000")
    with started([*COMMAND, *run], tmp_path, log) as process:
        wait_for(log, "measuring on")
        process.send_signal(signal.SIGTERM)
        wait_for(log, "stopping after this cycle")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert log.read_text().splitlines()[-1].endswith("with: spadelab resume runs/minimal")
    assert "Traceback" not in log.read_text()


def test_a_terminal_gets_the_panel(tmp_path: Path) -> None:
    if not shutil.which("script"):
        pytest.skip("needs script(1) to make a terminal")
    log = tmp_path / "typescript"
    run = " ".join([*COMMAND, "run", *SMALL, "--set=self_play.rounds_per_iteration=100000"])
    command = ["script", "--quiet", "--return", "--flush", "--command", run, str(log)]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    with started(
        command, tmp_path, tmp_path / "out", env=environment, stdin=subprocess.PIPE, start_new_session=True
    ) as terminal:
        assert terminal.stdin is not None
        wait_for(log, "difficulty asked")
        terminal.stdin.write(b"\x03")  # the terminal turns it into SIGINT, as when the key is pressed
        terminal.stdin.flush()
        assert terminal.wait(120) == 130
        terminal.stdin.close()
    text = log.read_text(errors="replace")
    assert "\x1b[?25l" in text and text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "spadelab resume runs/minimal" in text and "Traceback" not in text


def test_generated_tasks_are_whole_and_go_on(tmp_path: Path) -> None:
    easy = ("--set=self_play.max_difficulty=4", "--set=self_play.initial_difficulty=1")
    arguments = ("generate", "--output", "tasks", *SMALL, *easy)
    first = spadelab(*arguments, "--count", "5", cwd=tmp_path)
    assert first.returncode == 0 and "5 tasks in tasks/tasks.jsonl" in first.stdout, first.stderr
    before = (tmp_path / "tasks" / "tasks.jsonl").read_text()
    second = spadelab(*arguments, "--count", "8", "--json", cwd=tmp_path)
    assert json.loads(second.stdout)["tasks"] == 8
    text = (tmp_path / "tasks" / "tasks.jsonl").read_text()
    assert text.startswith(before)
    rows = [json.loads(line) for line in text.splitlines()]
    assert len({row["key"] for row in rows}) == 8
    for row in rows:
        assert row["source"] and row["inputs"] and len(row["inputs"]) == len(row["outputs"])
        assert row["kind"] in row["gold"] or "<answer>" in row["gold"]
    other = spadelab(*arguments, "--count", "9", "--set", "proposer.temperature=0.5", cwd=tmp_path)
    assert "section proposer" in complaint(other)


def test_warmstart_leaves_a_model_with_its_log_and_scores(tmp_path: Path) -> None:
    arguments = ("warmstart", "--role", "solver", "--out", "model", "--steps", "2", *SMALL[2:3])
    result = spadelab(*arguments, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    scores = json.loads(result.stdout)["solver"]
    assert scores["tasks"] == 12 and 0 <= scores["accuracy"] <= 1
    folder = tmp_path / "model"
    assert json.loads((folder / "scores.json").read_text())["solver"] == scores
    assert json.loads((folder / "warmstart.jsonl").read_text())["step"] == 2
    assert (folder / "model.safetensors").is_file() and (folder / "chat_template.jinja").is_file()
    assert "the folder is not empty" in complaint(spadelab(*arguments, cwd=tmp_path))
