"""The report: one file that loads nothing, shows nothing unescaped, and says what the records say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_helpers import (
    FACTS,
    make_episode,
    make_judged,
    make_measure,
    make_settings,
    record_learning,
    write_evaluations,
)

from spadelab.environments.tasks import KINDS
from spadelab.errors import UserError
from spadelab.evaluation.report import write_report
from spadelab.models.tiny.tasks import draw_environment
from spadelab.records import Admission, Check, Draft, Score
from spadelab.rng import Streams
from spadelab.store.run import Run

CLOSING = "</style></svg><script>--></script>]]>"
VOID = {"meta", "br", "img", "link", "input", "hr", "base", "source", "embed", "area", "col", "track", "wbr"}


class Page(HTMLParser):
    """A parsed report: its elements with their attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_loads_and_runs_nothing(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path), FACTS) as run:
        record_learning(run, 6)
        measures = [
            make_measure("start", 0, 2.0),
            make_measure("cycle 3", 3, 3.0),
            make_measure("end", 6, 4.0),
        ]
        write_evaluations(run, heldout=measures, judged=make_judged([0.6, 0.3], 3))
        (run.path / "models").mkdir()
        page = Page(write_report(run))
        once = page.source
        write_report(run)
        assert (run.path / "report.html").read_text(encoding="utf-8") == once
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignobject"}
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "data")]
        for name in ("href", "xlink:href"):
            assert re.fullmatch(r"#\w+|[\w./]+", attributes.get(name, "#x"))
    assert not re.findall(r"@import|url\((?!#)", page.source)
    assert not re.findall(r"https?:|file:|//[a-z]", re.sub(r' xmlns(:\w+)?="[^"]*"', "", page.source))
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    plots = re.findall(r"<svg.*?</svg>", page.source, re.DOTALL)
    assert len(plots) == 7
    for plot in plots:
        ElementTree.fromstring(plot)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert not [name for name in ids if re.fullmatch(r"[a-z0-9]+_\d+", name)]
    assert ("a", {"href": "models"}) in page.elements
    assert "data/sft.jsonl" in page.text.split("Not written yet:")[1]


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_text_comes_out_as_text(tmp_path: Path) -> None:
    shown = 0

    def hostile() -> str:
        nonlocal shown
        shown += 1
        return f"<b id='slot{shown}' onclick=\"x\">&lt;$a_{shown}$</b></pre>{CLOSING}\x1b\u202e"

    settings = make_settings(tmp_path, f"model.base_model_path={hostile()}", f"proposer.model={hostile()}")
    facts = {"backend": hostile(), hostile(): [hostile()], "canaries": {hostile(): hostile(), "held": True}}
    with Run.create(settings, facts) as run:
        admissions, episodes = [], []
        for kind in KINDS:
            plain = draw_environment(kind, 3, Streams(0).python(kind))
            pairs = [(hostile(), hostile()) for _ in plain.inputs]
            environment = replace(
                plain, source=hostile(), inputs=tuple(a for a, _ in pairs),
                outputs=tuple(b for _, b in pairs), message=hostile() if kind == "induction" else "",
            )  # fmt: skip
            admissions.append(Admission(Draft(kind, kind, "", 3.0), (), environment))
            episodes.append(make_episode(environment, hostile(), Score(1.0, "correct")))
            episodes.append(make_episode(environment, hostile(), Score(0.0, "wrong", "")))
        check = Check("run", False, hostile(), hostile())
        admissions.append(Admission(Draft("d", "deduction", "", 3.0), (check,)))
        metrics = {"target": {hostile(): 1.0}, "solve_rate": {hostile(): 0.5}}
        run.record_cycle(0, metrics, admissions, episodes)
        kind = hostile()
        parts = {"kinds": {kind: 0.5}, "counts": {kind: 900}, "cells": {kind: {"1": 0.5}}}
        measure = {**make_measure(hostile(), 0, 2.0), **parts}
        write_evaluations(run, heldout=[measure, {**measure, "label": hostile()}])
        page = Page(write_report(run))
    assert "script" not in {tag for tag, _ in page.elements}
    assert not [a for _, a in page.elements if "onclick" in a or a.get("id", "").startswith("slot")]
    assert not re.findall("[\x00-\x08\x0b-\x1f\u202e]", page.source)
    hidden = [number for number in range(1, shown + 1) if f"slot{number}'" not in page.text]
    assert hidden == [shown - 1]  # the label of the first measure is the only one that has no place
    assert f"&lt;$a_1$</b></pre>{CLOSING}\\x1b\\u202e" in page.text


@pytest.mark.parametrize("stage", ["nothing", "a start measure", "a cycle without a draft", "two cycles"])
def test_an_unfinished_run_has_a_report(tmp_path: Path, stage: str) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        if stage == "a start measure":
            write_evaluations(run, heldout=[make_measure("start", 0, 2.0)], judged=[])
        elif stage == "a cycle without a draft":
            record_learning(run, 1, drafts=0)
        elif stage == "two cycles":
            record_learning(run, 2)
    with Run.open(tmp_path / "r", writable=False) as run:
        text = Page(write_report(run)).text
    assert "This run has not ended" in text
    assert ("No cycle has been recorded yet" in text) == (stage in ("nothing", "a start measure"))
    assert ("The start model solves" in text) == (stage == "a start measure")
    assert ("Late: proposed in cycles 1 to 1" in text) == (stage == "two cycles")
    assert "nan" not in re.findall(r"\w+", text)


def test_it_says_what_the_records_say(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path), FACTS) as run:
        record_learning(run, 10, drafts=9)
        measures = [make_measure("start", 0, 2.2), make_measure("end", 10, 5.0)]
        write_evaluations(run, heldout=measures, judged=make_judged([0.6, 0.5, 0.3], 2))
        rejected = [draft.code for draft in run.iter_admissions() if draft.code]
        text = Page(write_report(run)).text
    assert "This run has not ended" not in text
    old, new = (f"{m['accuracy']:.3f} [{m['low']:.3f}, {m['high']:.3f}]" for m in measures)
    assert f"from {old} to {new}: the 95 % intervals do not overlap" in text
    assert f"{measures[1]['accuracy'] - measures[0]['accuracy']:+.3f} [" in text.split("Task by task")[1]
    assert "for it the proposals became harder" in text
    assert f"rejected {len(rejected)} of 90 drafts" in text
    early, late = text.split("Early: proposed in cycles 0 to 1")[1].split("Late: proposed in cycles 8 to 9")
    for part, cycles in ((early, "[01]"), (late, "[89]")):
        titles = re.findall(rf"(\w+), difficulty \d+, cycle {cycles}, solved in [1-7] of 8 episodes", part)
        assert sorted(titles) == sorted(KINDS)
    for name, seconds, share in (("model", 12, 48), ("learner", 8, 32), ("sandbox", 3, 12), ("other", 2, 8)):
        assert f"{name}{seconds}.0 s{share}.0%" in text
    assert "WITHOUT ANY ISOLATION" not in text
    assert "layersseccomp: strict, landlock: 4" in text
    assert "canary attacks containedfork: yes" in text


def test_it_claims_nothing_that_the_intervals_do_not_show(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        record_learning(run, 2)
        measures = [make_measure("start", 0, 2.2), make_measure("end", 2, 2.3)]
        write_evaluations(run, heldout=measures, judged=make_judged([0.5, 0.45]))
        text = Page(write_report(run)).text
        write_evaluations(run, heldout=measures, judged=make_judged([0.3, 0.6]))
        easier = Page(write_report(run)).text
    assert "overlap, so this alone does not show a change" in text
    assert "does not show that the proposals became harder or easier" in text
    assert "for it the proposals became easier" in easier


@pytest.mark.parametrize("where", ["asked", "found"])
def test_the_unsafe_executor_is_said_aloud(tmp_path: Path, where: str) -> None:
    overrides = ["sandbox.executor_type=unsafe"] if where == "asked" else []
    facts = {"backend": "unsafe"} if where == "found" else {}
    with Run.create(make_settings(tmp_path, *overrides), facts) as run:
        page = Page(write_report(run))
    assert ("div", {"class": "danger", "role": "alert"}) in page.elements
    assert page.text.index("WITHOUT ANY ISOLATION") < page.text.index("Held-out accuracy")


def test_a_damaged_evaluation_file_is_named(tmp_path: Path) -> None:
    with Run.create(make_settings(tmp_path)) as run:
        (run.path / "evaluation.json").write_text('{"heldout": [')
        with pytest.raises(UserError, match=r"evaluation\.json: not valid JSON"):
            write_report(run)
