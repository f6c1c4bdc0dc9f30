"""The environments of a real small run by `pool`, and a game at the terminal by `play`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cli_process import COMMAND, SMALL, complaint, spadelab

from spadelab.environments.library import library_source


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of two cycles."""
    folder = tmp_path_factory.mktemp("work")
    result = spadelab(
        "run", "--set=run.name=two", "--set=self_play.rounds_per_iteration=2", *SMALL, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def entries(work: Path) -> list[dict[str, object]]:
    result = spadelab("pool", "ls", "two", "--json", cwd=work)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_ls_lists_what_was_played(work: Path, entries: list[dict[str, object]]) -> None:
    assert entries and any(entry["episodes"] for entry in entries)
    for entry in entries:
        assert entry["solve_rate"] == (entry["wins"] / entry["episodes"] if entry["episodes"] else None)
    lines = spadelab("pool", "ls", "two", cwd=work).stdout.splitlines()
    assert lines[0].split() == ["id", "kind", "name", "difficulty", "cycle", "episodes", "solve", "rate"]
    assert [line.split()[0] for line in lines[1:]] == [entry["id"][:12] for entry in entries]


def test_ls_filters(work: Path, entries: list[dict[str, object]]) -> None:
    kind = entries[0]["kind"]
    some = json.loads(spadelab("pool", "ls", "two", "--kind", kind, "--json", cwd=work).stdout)
    assert [entry["id"] for entry in some] == [entry["id"] for entry in entries if entry["kind"] == kind]
    newest = json.loads(spadelab("pool", "ls", "two", "--limit", "2", "--json", cwd=work).stdout)
    assert newest == entries[-2:]
    assert json.loads(spadelab("pool", "ls", "two", "--family", "none", "--json", cwd=work).stdout) == []


def test_show_and_diff(work: Path, entries: list[dict[str, object]]) -> None:
    first, second = entries[0], entries[-1]
    shown = spadelab("pool", "show", "two", first["id"][:12], cwd=work).stdout
    assert f"id: {first['id']}" in shown and shown.rstrip().endswith(first["source"].rstrip())
    facts = json.loads(spadelab("pool", "show", "two", first["id"], "--json", cwd=work).stdout)
    assert facts == first
    assert spadelab("pool", "diff", "two", first["id"], first["id"], cwd=work).stdout == ""
    diff = spadelab("pool", "diff", "two", first["id"], second["id"], cwd=work).stdout.splitlines()
    assert diff[:2] == [f"--- {first['id'][:12]}", f"+++ {second['id'][:12]}"]
    assert {f"+{line}" for line in second["source"].splitlines()} & set(diff)


def test_export_writes_all(work: Path, entries: list[dict[str, object]]) -> None:
    result = spadelab("pool", "export", "two", "--out", "sources", cwd=work)
    assert result.stdout == f"{len(entries)} environments in sources\n", result.stderr
    for entry in entries:
        path = work / "sources" / entry["id"][:12]
        assert path.with_suffix(".py").read_text() == entry["source"]
        assert json.loads(path.with_suffix(".json").read_text())["id"] == entry["id"]
    assert len(list((work / "sources").iterdir())) == 2 * len(entries)


def test_what_is_not_there(work: Path) -> None:
    assert "no environment's id begins so" in complaint(spadelab("pool", "show", "two", "xyz", cwd=work))
    assert "environments begin so" in complaint(spadelab("pool", "show", "two", "", cwd=work))
    assert "there is no run in this folder" in complaint(spadelab("pool", "ls", "other", cwd=work))


def play(*arguments: str, lines: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command with what a person types."""
    return subprocess.run(
        [*COMMAND, "play", *arguments],
        cwd=cwd,
        input=lines,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_person_wins(tmp_path: Path) -> None:
    first = play("library:number_hunt", "--seed", "5", lines=":solution\n:hint\n", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "I think of a whole number from 1 to 1999" in first.stdout and "half" in first.stdout
    guesses = [line.split("> ")[-1] for line in first.stdout.splitlines()]
    guesses = [line for line in guesses if line.removeprefix("above ").isdigit()]
    again = play("library:number_hunt", "--seed", "5", lines="\n".join(guesses), cwd=tmp_path)
    assert again.returncode == 0 and "My number is" in again.stdout
    assert again.stdout.splitlines()[-1] == f"won, return 1 after {len(guesses)} turns"


def test_a_person_loses_or_leaves(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(library_source("heavy_coin", 1))
    lost = play("own.py", lines="weigh 1-3 4-6\n9\n1\n5\n", cwd=tmp_path)
    assert lost.returncode == 0 and lost.stdout.splitlines()[-1].startswith(("not won, return 0", "won"))
    for lines in (":quit\n", "", "weigh 1-3 4-6\n"):
        left = play("own.py", lines=lines, cwd=tmp_path)
        assert left.returncode == 0 and left.stderr == "" and "return" not in left.stdout
    call = play("library:broken_pipeline", lines="measure\n", cwd=tmp_path)
    assert "[1/17] > " in call.stdout and "[2/17]" not in call.stdout


def test_what_cannot_be_played(tmp_path: Path) -> None:
    assert "the library has" in complaint(play("library:chess", lines="", cwd=tmp_path))
    assert "there is no such file" in complaint(play("none.py", lines="", cwd=tmp_path))
    (tmp_path / "bad.py").write_text("def f(:")
    assert "no Python module" in complaint(play("bad.py", lines="", cwd=tmp_path))
    (tmp_path / "bad.py").write_text("x = 1")
    assert "no class whose name ends in Env" in complaint(play("bad.py", lines="", cwd=tmp_path))
    source = library_source("number_hunt").replace("self.left -= 1", "self.left /= 0")
    (tmp_path / "bad.py").write_text(source.replace("I think", "\\x1b[2JI think"))
    broken = play("bad.py", lines="7\n", cwd=tmp_path)
    assert broken.returncode == 1 and "ZeroDivisionError" in broken.stdout and "\x1b" not in broken.stdout
