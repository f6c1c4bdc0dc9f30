"""The command line as a user meets it: help, programs in the jail, and everything typed wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import complaint, spadelab

from spadelab.sandbox.backends import find_bwrap
from spadelab.sandbox.container import find_fault

DRAFT = "Here it is.\n```python\ndef f(a, b):\n    c = a * b\n    return c + 1\n```\n```input\n3, 4\n```\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "p.py").write_text('def f(a, b):\n    print("note")\n    c = a * b\n    return [c, a]\n')
    (folder / "draft.md").write_text(DRAFT)
    return folder


def test_help_imports_nothing_heavy() -> None:
    """The bar is 0.5 s; what decides it is what gets imported, and that can be tested on a busy machine."""
    code = (
        "import sys, spadelab.cli\n"
        "try: spadelab.cli.app(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'torch', 'transformers', 'numpy', 'sqlalchemy', 'pydantic', 'matplotlib', 'msgspec'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for verb in ("run", "resume", "eval", "generate", "exec", "check", "doctor", "report", "warmstart"):
        assert f" {verb} " in result.stdout


def test_version(work: Path) -> None:
    result = spadelab("--version", cwd=work)
    assert result.returncode == 0 and result.stdout.startswith("spadelab 0.")


def test_exec_prints_the_value_alone(work: Path) -> None:
    result = spadelab("exec", "p.py", "--call", "f", "--args", "[3, 4]", "--trace", cwd=work)
    assert (result.returncode, result.stdout) == (0, "[12, 3]\n")
    assert result.stderr.splitlines() == [
        "note",
        '    print("note") # a=3, b=4',
        "    c = a * b # a=3, b=4, c=12",
    ]
    outcome = json.loads(spadelab("exec", "p.py", "--args", "3, 'x'", "--json", cwd=work).stdout)
    assert outcome["value"] == "['xxx', 3]" and outcome["stdout"] == "note\n"


def test_exec_tells_the_programs_failures_from_the_users(work: Path) -> None:
    (work / "bad.py").write_text("def f(n):\n    while n:\n        pass\n    return [0] * 10 ** 9\n")
    slow = spadelab("exec", "bad.py", "--args", "1", "--timeout", "0.2", cwd=work)
    assert (slow.returncode, slow.stdout) == (1, "") and "timeout" in slow.stderr
    large = spadelab("exec", "bad.py", "--args", "0", "--memory", "64", cwd=work)
    assert large.returncode == 1 and "memory" in large.stderr
    wrong = spadelab("exec", "p.py", "--args", "[3]", cwd=work)
    assert wrong.returncode == 1 and "TypeError" in wrong.stderr and "Traceback" not in wrong.stderr
    assert "no such file" in complaint(spadelab("exec", "nowhere.py", cwd=work))
    assert "write a JSON list" in complaint(spadelab("exec", "p.py", "--args", "open('x')", cwd=work))


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "unsafe"])
def test_exec_uses_the_jail_that_was_asked_for(work: Path, backend: str) -> None:
    (work / "peek.py").write_text(
        "import random\ndef f():\n    return random._os.path.exists('/etc/passwd')\n"
    )
    result = spadelab("exec", "peek.py", "--sandbox", backend, cwd=work)
    assert result.stdout == ("True\n" if backend == "unsafe" else "False\n"), result.stderr
    assert ("warning: sandbox unsafe" in result.stderr) == (backend == "unsafe")


def test_check_shows_every_gate(work: Path) -> None:
    result = spadelab("check", "draft.md", cwd=work)
    assert result.returncode == 0 and "admitted: deduction, difficulty 1" in result.stdout
    assert "3, 4 -> 13" in result.stdout and "deterministic" in result.stdout
    verdict = json.loads(spadelab("check", "p.py", "--args", "[3, 4]", "--json", cwd=work).stdout)
    assert verdict["admitted"] and verdict["environment"]["outputs"] == ["[12, 3]"]


def test_check_says_why_a_draft_is_rejected(work: Path) -> None:
    (work / "os.md").write_text(DRAFT.replace("c = a * b", "import os; c = a"))
    result = spadelab("check", "os.md", cwd=work)
    assert result.returncode == 1 and "rejected: " in result.stdout and "os" in result.stdout
    verdict = json.loads(spadelab("check", "draft.md", "--kind", "induction", "--json", cwd=work).stdout)
    assert not verdict["admitted"] and verdict["rejection"] == "too_few_inputs"
    assert "needs its input" in complaint(spadelab("check", "p.py", cwd=work))
    assert "goes with a .py file" in complaint(spadelab("check", "draft.md", "--args", "1", cwd=work))


@pytest.mark.parametrize(
    ("arguments", "content", "sentence"),
    [
        (("--config", "c.json"), None, "c.json: there is no such settings file"),
        (("--config", "c.json"), '{"run": \n {"seed" 1}}', "c.json, line 2, column 10: not valid JSON"),
        (("--config", "c.json"), '{"run": {"seeed": 1}}', "unknown key run.seeed; did you mean run.seed"),
        (("--set", "solver.rollouts=1"), None, "solver.rollouts is 1, but"),
        (("--set", "model.base_model_path=empty"), None, "empty: the model folder lacks config.json"),
        (("--set", "proposer.model=nowhere"), None, "nowhere: the model folder does not exist"),
        (("--set", "model.device=cuda:99"), None, "model.device is cuda:99, but torch sees"),
    ],
)
def test_bad_settings_are_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], content: str | None, sentence: str
) -> None:
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / "c.json").write_text(content)
    result = spadelab("run", *arguments, "--json", cwd=tmp_path)
    assert sentence in complaint(result)
    assert json.loads(result.stdout) == {"error": complaint(result).removeprefix("error: ")}
    assert not (tmp_path / "runs").exists()


def test_the_articles_settings_are_explained(tmp_path: Path) -> None:
    article = Path(__file__).parents[1] / "vectors" / "article_config.json"
    result = spadelab("run", "--config", article, cwd=tmp_path)
    notices = [line for line in result.stderr.splitlines() if line.startswith("notice: ")]
    assert any("vllm" in line and "transformers" in line for line in notices)
    fault = find_fault("docker")
    assert not fault or any(fault in line and '"auto"' in line for line in notices)
    assert "Qwen2.5-7B-Instruct: the model folder does not exist" in complaint(result)


def test_without_a_jail_nothing_runs(work: Path) -> None:
    paths = find_bwrap()
    if not paths:
        pytest.skip("needs bubblewrap to build a place without user namespaces")
    prefix = (paths[0], "--unshare-user", "--uid", "1000", "--disable-userns", "--dev-bind", "/", "/", "--")
    bubble = ("--sandbox", "bubblewrap")
    refused = spadelab("exec", "p.py", "--args", "[3, 4]", *bubble, cwd=work, prefix=prefix)
    assert "user namespaces" in complaint(refused) and "--sandbox unsafe" in complaint(refused)
    sick = spadelab("doctor", "--json", *bubble, cwd=work, prefix=prefix)
    assert sick.returncode == 1
    assert any("user namespaces" in problem for problem in json.loads(sick.stdout)["problems"])


def test_doctor_is_content_here(work: Path) -> None:
    result = spadelab("doctor", "--json", cwd=work)
    found = json.loads(result.stdout)
    assert result.returncode == 0 and found["problems"] == []
    assert all(found["sandbox"]["canaries"].values()) and found["machine"]["cores"] >= 1
