"""`spadelab check` on interactive environments."""

from __future__ import annotations

import json
from pathlib import Path

from cli_process import complaint, spadelab

CASES = Path(__file__).parents[1] / "contract" / "interactive" / "cases"
GOOD = CASES / "good" / "higher_or_lower.py"
BAD = CASES / "bad" / "d11_solution_loses.py"


def test_an_environment_is_admitted(tmp_path: Path) -> None:
    result = spadelab("check", GOOD, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "admitted: logical_deduction" in result.stdout
    assert "nontrivial" in result.stdout and "seed " in result.stdout


def test_a_rejection_names_gate_reason_and_seed(tmp_path: Path) -> None:
    result = spadelab("check", BAD, "--json", cwd=tmp_path)
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert (report["admitted"], report["rejection"], report["environment"]) == (False, "unsolvable", None)
    assert report["checks"][-1]["gate"] == "solvable"
    assert "on seed " in report["checks"][-1]["reason"]


def test_an_environment_takes_no_arguments(tmp_path: Path) -> None:
    assert "--args" in complaint(spadelab("check", GOOD, "--args", "3", cwd=tmp_path))


def test_a_program_is_still_a_program(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    result = spadelab("check", path, "--args", "3", cwd=tmp_path)
    assert result.returncode == 0 and "admitted: deduction" in result.stdout
