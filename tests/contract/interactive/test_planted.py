"""Planted environments: each file under cases/bad must be rejected with the code in its first line.

The numbers are those of the regression suite of the reference (D1 to D23). About other layers, and tested
there: D6 (a process of its own for each session), D14 and D15 (reading actions), D21 (delay of credit), D22
(resume), D23 (delimiting in prompts). D13 and D19 are below. Files under cases/good must be admitted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spadelab.environments.interactive.gates import GateSettings, admit, judge_source, make_seeds
from spadelab.records import Admission, Draft
from spadelab.sandbox import Limits, Sandbox

CASES = Path(__file__).parent / "cases"
GOOD = sorted((CASES / "good").glob("*.py"))
BAD = sorted((CASES / "bad").glob("*.py"))
SETTINGS = GateSettings(limits=Limits(wall_seconds=20.0, cpu_seconds=0.1, memory_mb=256))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def fence(source: str) -> str:
    return f"```python\n{source}\n```"


@pytest.fixture(scope="module")
def verdicts(sandbox: Sandbox) -> dict[str, Admission]:
    """All files in one batch, as a cycle does."""
    files = [*GOOD, *BAD]
    drafts = [Draft(path.stem, "", fence(read(path)), 0.0) for path in files]
    return dict(zip((path.stem for path in files), admit(drafts, sandbox, SETTINGS, ()), strict=True))


@pytest.mark.parametrize("name", [path.stem for path in BAD])
def test_bad_environments_are_rejected(name: str, verdicts: dict[str, Admission]) -> None:
    expected = read(CASES / "bad" / f"{name}.py").partition("\n")[0].removeprefix("# ").split("|")
    admission = verdicts[name]
    last = admission.checks[-1]
    assert admission.rejection in expected, last
    assert admission.environment is None
    assert last.reason and not last.reason.endswith("\n")
    assert all(check.passed for check in admission.checks[:-1])


@pytest.mark.parametrize("name", [path.stem for path in GOOD])
def test_good_environments_are_admitted(name: str, verdicts: dict[str, Admission]) -> None:
    admission = verdicts[name]
    assert admission.environment is not None, admission.checks[-1]
    environment = admission.environment
    assert environment.family == "interactive"
    assert environment.entry.endswith("Env") and environment.turns >= environment.difficulty >= 1
    assert [d.seed for d in environment.demonstrations] == make_seeds(environment.source, SETTINGS.seeds)
    for demonstration in environment.demonstrations:
        assert sum(turn.reward for turn in demonstration.turns) == pytest.approx(1)
        assert bool(demonstration.hint) == ("def hint" in environment.source)


@pytest.fixture
def good() -> str:
    return read(CASES / "good" / "higher_or_lower.py")


def test_the_last_block_outside_thoughts_counts(sandbox: Sandbox, good: str) -> None:
    broken = fence("class DraftEnv: pass")
    text = f"<think>\n{broken}\n</think>\nFirst\n{broken}\nthen\n{fence(good)}"
    (admission,) = admit([Draft("d", "", text, 0.0)], sandbox, SETTINGS, ())
    assert admission.environment is not None and admission.environment.entry == "HuntEnv"
    (admission,) = admit([Draft("d", "", f"{fence(good)}\n{broken}", 0.0)], sandbox, SETTINGS, ())
    assert admission.rejection == "no_method"


@pytest.mark.parametrize("text", ["", "<think>" + fence("x"), fence(""), "```python\nclass AEnv: pass"])
def test_nothing_written(text: str, sandbox: Sandbox) -> None:
    (admission,) = admit([Draft("d", "", text, 0.0)], sandbox, SETTINGS, ())
    assert admission.rejection == "no_program"


def test_copies_are_rejected(sandbox: Sandbox, good: str) -> None:
    copy = good.replace("self.secret", "self.hidden").replace("HuntEnv", "SeekEnv").replace("guess", "said")
    drafts = [Draft(str(i), "", fence(source), 0.0) for i, source in enumerate((good, copy))]
    first, second = admit(drafts, sandbox, SETTINGS, ())
    assert first.environment is not None
    assert (second.rejection, second.checks[-1].gate) == ("duplicate", "novel")
    (third,) = admit(drafts[1:], sandbox, SETTINGS, {first.environment.key})
    assert (third.rejection, third.checks[-1].gate) == ("duplicate", "stored")


def test_a_draft_behind_a_failed_copy_is_judged_by_itself(sandbox: Sandbox, good: str) -> None:
    drafts = [Draft("a", "", "nothing", 0.0), Draft("b", "", fence(good), 0.0)]
    assert [bool(a.environment) for a in admit(drafts, sandbox, SETTINGS, ())] == [False, True]


def test_verdicts_repeat(sandbox: Sandbox, good: str) -> None:
    one, other = (judge_source(good, sandbox, SETTINGS) for _ in range(2))
    assert one.environment == other.environment is not None
    assert [c.gate for c in one.checks] == [
        "static",
        "stored",
        "loads",
        "contract",
        "deterministic",
        "solvable",
        "seeds",
        "nontrivial",
        "robust",
        "rewards",
        "hint",
        "novel",
    ]


def test_size_and_settings(sandbox: Sandbox, good: str) -> None:
    small = GateSettings(max_source_chars=100, limits=SETTINGS.limits)
    assert judge_source(good, sandbox, small).rejection == "too_long"
    two = GateSettings(seeds=2, limits=SETTINGS.limits)
    environment = judge_source(good, sandbox, two).environment
    assert environment is not None and len(environment.demonstrations) == 2


def test_the_difficulty_is_the_mean_length_of_the_solutions(sandbox: Sandbox, good: str) -> None:
    environment = judge_source(good, sandbox, SETTINGS).environment
    assert environment is not None
    lengths = [len(demonstration.turns) for demonstration in environment.demonstrations]
    assert environment.difficulty == round(sum(lengths) / len(lengths))
