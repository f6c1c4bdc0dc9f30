"""The pieces behind the verbs: argument lists, collections of tasks, errors, finding runs and models."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import typer

from spadelab.command.arguments import make_folder, read_arguments, read_text
from spadelab.command.boundary import verb
from spadelab.command.collection import Collection, open_collection, read_rows
from spadelab.command.comparing import compare_arms
from spadelab.command.preflight import check_device, check_model, find_run, load_run_settings, settle_sandbox
from spadelab.config import SandboxSettings, Settings
from spadelab.environments.seeds import identity_environments
from spadelab.errors import UserError
from spadelab.records import Admission, Check, Draft
from spadelab.sandbox import SandboxUnavailable

SEEDS = identity_environments()


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[3]", "3"),
        ("[3, [1, 2]]", "3, [1, 2]"),
        ('["a", true, null, {"k": 1.5}]', "'a', True, None, {'k': 1.5}"),
        ("['a', (1, 2)]", "'a', (1, 2)"),
        ("3, [1, 2]", "3, [1, 2]"),
        ("[1, 2], 3", "[1, 2], 3"),
        ("[[1, 2]]", "[1, 2]"),
        ("{1, 2}", "{1, 2}"),
        ("3", "3"),
        ("'x'", "'x'"),
        ("[]", ""),
        ("", ""),
    ],
)
def test_arguments_may_be_json_or_python(text: str, arguments: str) -> None:
    assert read_arguments(text) == arguments


@pytest.mark.parametrize("text", ["[", "open('x')", "x=1", "*[1]", "1)\n(2", "[1e999]", "[NaN]", "f(3)"])
def test_other_arguments_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match=r"(?s)--args .*write a JSON list"):
        read_arguments(text)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# \xe9")
    for name, reason in (
        ("no.py", "no such file"),
        ("latin.py", "byte 2 is not UTF-8"),
        (".", "cannot be read"),
    ):
        with pytest.raises(UserError, match=reason):
            read_text(tmp_path / name)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made"):
        make_folder(tmp_path / "file" / "below")


def admissions() -> list[Admission]:
    """One admitted draft of each kind, and a rejected one whose text UTF-8 cannot express."""
    good = [
        Admission(Draft(f"d{i}", seed.kind, "", 2), (Check("extract", True),), seed)
        for i, seed in enumerate(SEEDS)
    ]
    bad = Draft("bad", "deduction", "\ud800", 3)
    return [*good, Admission(bad, (Check("syntax", False, "syntax", "it does not parse"),))]


def test_a_collection_goes_on_where_it_stood(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    collection = open_collection(folder, Settings())
    collection.store(admissions(), count=2)
    assert len(collection) == 2 and collection.batch == 1
    with (folder / "tasks.jsonl").open("a") as file:
        file.write('{"batch": 1, "asked"')  # as a crash leaves it
    again = open_collection(folder, Settings())
    assert again.keys == {SEEDS[0].key, SEEDS[1].key}
    assert again.by_kind == {SEEDS[0].kind: [SEEDS[0]], SEEDS[1].kind: [SEEDS[1]]}
    assert again.batch == 1 and dict(again.rejections) == {"syntax": 1}
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    assert [row["gold"] for row in rows] == ["<answer>'Hello world'</answer>"] * 2
    (rejected,) = read_rows(folder / "rejected.jsonl")
    assert rejected["reason"] == "it does not parse" and rejected["text"] == "\ud800"


def test_a_collection_keeps_to_its_settings(tmp_path: Path) -> None:
    open_collection(tmp_path / "tasks", Settings())
    other = Settings.model_validate({"proposer": {"temperature": 0.5}})
    with pytest.raises(UserError, match=r"other settings .section proposer"):
        open_collection(tmp_path / "tasks", other)
    open_collection(tmp_path / "tasks", Settings.model_validate({"run": {"name": "other"}}))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(UserError, match="holds other files"):
        open_collection(tmp_path / "full", Settings())


def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").symlink_to("/dev/full")
    with pytest.raises(UserError, match="no space left"):
        Collection(tmp_path).store(admissions(), count=9)


def test_requests_stay_in_the_settings_range() -> None:
    from spadelab.command.generation import Writer

    play = {"initial_difficulty": 2, "max_difficulty": 5, "tasks_per_round": 64}
    settings = Settings.model_validate({"self_play": {**play, "task_types": {"induction": 1.0}}})
    writer = Writer(settings, None, None)  # type: ignore[arg-type]
    requests = list(writer.plan({}, random.Random(0)))
    assert {request.difficulty for request in requests} == {2, 3, 4, 5}
    assert {request.kind for request in requests} == {"induction"}
    seed = next(seed for seed in SEEDS if seed.kind == "induction")
    assert all(request.references == (seed,) for request in requests)


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    def code_of(action: object, as_json: bool = False) -> int:
        def body(as_json: bool) -> int:
            if isinstance(action, BaseException):
                raise action
            assert isinstance(action, int)
            return action

        with pytest.raises(typer.Exit) as exit_:
            verb(body)(as_json=as_json)
        return exit_.value.exit_code

    assert code_of(0) == 0 and code_of(1) == 1
    assert code_of(UserError("this\nis wrong")) == 2
    assert code_of(SandboxUnavailable("no jail"), as_json=True) == 2
    assert code_of(KeyboardInterrupt("go on like this")) == 130
    out, err = capsys.readouterr()
    assert err.splitlines() == ["error: this is wrong", "error: no jail", "interrupted; go on like this"]
    assert json.loads(out) == {"error": "no jail"}
    with pytest.raises(ZeroDivisionError):
        code_of(ZeroDivisionError())


def test_a_run_is_resumed_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "elsewhere" / "one"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"run": {"name": "one", "directory": "runs"}}')
    settings, _ = load_run_settings(folder, ["run.minutes=3"])
    assert settings.run_path == folder and settings.run.minutes == 3
    monkeypatch.chdir(folder)
    assert load_run_settings(Path(), [])[0].run_path == folder
    folder.rename(tmp_path / "elsewhere" / "two")
    with pytest.raises(UserError, match="the run is called one; give its folder that name again"):
        load_run_settings(tmp_path / "elsewhere" / "two", [])


def test_runs_and_models_are_found_or_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "run.sqlite").touch()
    assert find_run("one") == find_run("runs/one") == Path("runs/one")
    with pytest.raises(UserError, match="there is no run"):
        find_run("two")
    (tmp_path / "tiny").mkdir()
    with pytest.raises(UserError, match="tiny-model: the model folder does not exist"):
        check_model("tiny-model")
    with pytest.raises(UserError, match=r"model\.device is cuda:99"):
        check_device("cuda:99")
    check_device("cpu")


def test_a_comparison_without_a_jail_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for backend in ("auto", "unsafe"):
        with pytest.raises(UserError, match="there is no arm nobody"):
            compare_arms(["nobody"], 1, 1.0, None, [f"sandbox.executor_type={backend}"], tmp_path)
        assert ("warning: sandbox unsafe" in capsys.readouterr().err) == (backend == "unsafe")


def test_a_file_that_names_an_engine_which_is_not_here_gets_the_best_jail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = Settings(sandbox=SandboxSettings(executor_type="docker", memory_limit_mb=64))
    settled, (notice,) = settle_sandbox(settings)
    assert settled.sandbox == SandboxSettings(executor_type="auto", memory_limit_mb=64)
    assert "docker is not installed" in notice and '"auto"' in notice
    assert settle_sandbox(Settings()) == (Settings(), [])
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\n")
    engine.chmod(0o755)
    assert settle_sandbox(settings) == (settings, [])
