"""The hack table on the real sandbox: cheats earn next to nothing, genuine environments do not."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from spadelab.command.auditing import audit_hacks
from spadelab.credit.regret import beats_luck, environment_reward
from spadelab.credit.rewards import count_wins
from spadelab.environments.interactive.contract import read_manifest
from spadelab.environments.interactive.gates import GateSettings, judge_source
from spadelab.errors import UserError
from spadelab.evaluation.hacks import Finding, load_planted, maximum
from spadelab.play.scripted import POLICIES, half_oracle, play, recite
from spadelab.records import Demonstration, Environment, Turn
from spadelab.sandbox import Limits, Sandbox

PLANTED = {item.name: item for item in load_planted()}
SEEDS = list(range(1000, 1016))


def ungated(name: str, *solutions: str) -> Environment:
    source = PLANTED[name].source
    manifest = read_manifest(ast.parse(source))
    shown = tuple(Demonstration(i, "", (Turn(a, "", 1.0),)) for i, a in enumerate(solutions))
    return Environment(
        *("id", "key", "interactive", manifest.skill, source, (), (), 1),
        entry=manifest.class_name,
        turns=manifest.max_turns,
        demonstrations=shown,
    )


@pytest.fixture(scope="module")
def verb(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and findings of the verb, with a control that earns nothing beside the planted modules."""
    folder = tmp_path_factory.mktemp("controls")
    hopeless = PLANTED["exit_on_import"].source.replace("# tries", "# genuine", 1)
    (folder / "hopeless.py").write_text(hopeless)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = audit_hacks([folder], "auto", as_json=True)
    found = json.loads(printed.getvalue())["findings"]
    assert len(found) == len(PLANTED) + 1
    return code, {finding["name"]: finding for finding in found}


@pytest.fixture(scope="module")
def findings(verb: tuple[int, dict[str, dict[str, Any]]]) -> dict[str, Finding]:
    names = [field.name for field in dataclasses.fields(Finding)]
    return {
        name: Finding(**{key: found[key] for key in names})
        for name, found in verb[1].items()
        if name in PLANTED
    }


@pytest.mark.parametrize("name", PLANTED)
def test_hacks_earn_nothing_and_genuine_environments_much(name: str, findings: dict[str, Finding]) -> None:
    finding = findings[name]
    assert finding.holds, finding
    assert finding.tries and finding.genuine == PLANTED[name].genuine
    if finding.genuine:
        assert not finding.code and not finding.faults


def test_the_table_has_cheats_and_controls(findings: dict[str, Finding]) -> None:
    genuine = [finding for finding in findings.values() if finding.genuine]
    assert len(genuine) >= 3 and len(findings) - len(genuine) >= 23
    admitted = [f.name for f in findings.values() if not f.code and not f.genuine]
    assert {"password", "almost_all"} <= set(admitted), "no gate can tell these: credit must"


def test_the_maximum_is_reached_at_the_frontier() -> None:
    assert maximum(16) == pytest.approx(0.8, abs=0.01)
    assert maximum(1) == 0.0
    for k in range(17):
        assert environment_reward("frontier", [1.0] * k + [0.0] * (16 - k), [1.0] * 16) <= maximum(16)


@pytest.mark.parametrize("name", ["lottery", "free_seeds"])
def test_without_the_test_of_luck_a_lottery_would_pay(name: str, sandbox: Sandbox) -> None:
    environment = ungated(name, *"ABCDE")
    returns = play(
        environment, sandbox, SEEDS, recite(environment.demonstrations[0]), Limits(), random.Random(0)
    )
    assert environment_reward("frontier", returns) / maximum(16) > 0.2
    admission = judge_source(PLANTED[name].source, sandbox, GateSettings())
    luck = admission.environment.luck if admission.environment else 1.0
    assert luck > 0.1 and not beats_luck(count_wins(returns), 16, luck)


def test_scripted_play_ends_and_pays_what_it_should(sandbox: Sandbox) -> None:
    environment, stream = ungated("bisection", "100"), random.Random(0)
    for name in ("null", "echo"):
        assert play(environment, sandbox, SEEDS, POLICIES[name], Limits(), stream) == [0.0] * 16
    half = play(
        environment, sandbox, SEEDS, half_oracle(environment, sandbox, SEEDS, Limits()), Limits(), stream
    )
    assert 4 <= count_wins(half) <= 12
    assert play(ungated("nan_reward", "1"), sandbox, SEEDS, POLICIES["one"], Limits(), stream) == []


def test_the_verb_fails_when_a_bar_is_missed(verb: tuple[int, dict[str, dict[str, Any]]]) -> None:
    code, found = verb
    assert code == 1
    assert [name for name, finding in found.items() if not finding["holds"]] == ["hopeless"]


def test_a_folder_without_modules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no module"):
        audit_hacks([tmp_path], "auto", as_json=True)
