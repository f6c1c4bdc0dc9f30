"""The report of a run: one self-contained HTML file, written at any moment of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spadelab.config import Settings
from spadelab.evaluation.findings import Findings, gather, judged_interval, total_interval
from spadelab.evaluation.report_measures import show_difficulty, show_heldout, write_interval
from spadelab.evaluation.report_sections import show_cycles, show_examples, show_rejections, show_times
from spadelab.evaluation.report_template import (
    Html,
    code,
    element,
    link,
    page,
    paragraph,
    section,
    table,
    text,
    tile,
)
from spadelab.families.family import play_limits, program_limits
from spadelab.sandbox import Limits
from spadelab.store.files import write_file
from spadelab.store.run import Run

REPORT = "report.html"
UNSAFE = (
    "WARNING: this run executed programs written by a model WITHOUT ANY ISOLATION (the unsafe executor). "
    "They could read, change and send everything that the user who ran it could. Do not trust the machine, "
    "nor the figures below."
)
FACT_NAMES = {"canaries": "canary attacks contained"}
FILES = (
    ("data/sft.jsonl", "supervised fine-tuning: right answers as `messages`"),
    ("data/preferences.jsonl", "preference pairs: `prompt`, `chosen`, `rejected`"),
    ("models", "the trained models as ordinary model folders"),
    ("settings.json", "the resolved settings; they start this run again"),
    ("evaluation.json", "the held-out and judged measures"),
    ("metrics.jsonl", "the metrics of every cycle"),
    ("log.txt", "the log"),
)


def write_report(run: Run) -> Path:
    """Write report.html into the run's folder and return its path.

    Works for a run without a cycle, one that is still going on, and one that ended. Everything that
    a model wrote is escaped, and the file loads nothing from elsewhere. Raises UserError when
    evaluation.json is damaged or the disk is full.
    """
    findings, settings = gather(run), run.settings
    title = f"{settings.run.name} – spadelab run"
    body = [
        *_open(run, findings),
        show_heldout(findings),
        show_difficulty(findings),
        show_cycles(findings, settings.solver.rollouts),
        show_rejections(findings),
        show_examples(findings, settings.solver.prompts),
        show_times(findings),
        _show_sandbox(run),
        _show_settings(run),
        _show_files(run.path),
        element("footer", text(f"spadelab {run.versions.get('spadelab', '')}, report of {run.path.name}")),
    ]
    path = run.path / REPORT
    write_file(path, page(title, *body).encode())
    return path


def is_unsafe(settings: Settings, facts: Mapping[str, Any]) -> bool:
    """Whether programs ran without a jail, by what was asked for or by what was found."""
    return "unsafe" in (settings.sandbox.executor_type, facts.get("backend"))


def _open(run: Run, findings: Findings) -> list[Html]:
    """Title, warnings and the figures to remember."""
    settings, cycles = run.settings, findings.cycles
    sharing = "one shared model" if settings.shared_model else "two models"
    lead = (
        f"{settings.self_play.mode} with {sharing}: solver {settings.solver_model}, proposer "
        f"{settings.proposer.model}; seed {settings.run.seed}, {len(cycles)} cycles"
    )
    parts = [element("h1", text(settings.run.name)), paragraph(lead, "lead")]
    if is_unsafe(settings, run.facts):
        parts.append(element("div", text(UNSAFE), class_="danger", role="alert"))
    if not findings.ended:
        parts.append(
            element(
                "div",
                text("This run has not ended: the report shows what is recorded so far."),
                class_="notice",
            )
        )
    parts.append(element("div", *_tiles(findings), class_="tiles"))
    return parts


def _tiles(findings: Findings) -> list[Html]:
    before, after, judged = findings.before, findings.after, findings.judged
    nothing = "not measured yet"
    if before and after:
        held = tile(
            f"{before['accuracy']:.3f} → {after['accuracy']:.3f}",
            "held-out accuracy",
            f"now {write_interval(total_interval(after))}",
        )
    else:
        held = tile(
            f"{before['accuracy']:.3f}" if before else "–", "held-out accuracy", nothing * (not before)
        )
    if judged:
        rates = f"{judged[0]['start_solve_rate']:.3f} → {judged[-1]['start_solve_rate']:.3f}"
        note = f"last {write_interval(judged_interval(judged[-1]))}"
        judging = tile(rates, "start model on the proposals", note)
    else:
        judging = tile("–", "start model on the proposals", nothing)
    cycles = findings.cycles
    admitted = findings.drafts - sum(found.count for found in findings.rejections.values())
    valid = tile(
        f"{admitted / findings.drafts:.1%}" if findings.drafts else "–",
        "valid drafts",
        f"{admitted:,} of {findings.drafts:,}",
    )
    seconds = float(cycles[-1].timings.get("spent", 0.0)) if cycles else 0.0
    computing = tile(f"{seconds:,.0f} s", "computing", f"{len(cycles)} cycles")
    return [held, judging, valid, computing]


def _show_sandbox(run: Run) -> Html:
    facts, box = run.facts, run.settings.sandbox
    parts = []
    if is_unsafe(run.settings, facts):
        parts.append(element("div", text(UNSAFE), class_="danger"))
    rows = [
        ("asked for", box.executor_type),
        *((FACT_NAMES.get(name, name), _show_fact(value)) for name, value in facts.items()),
    ]
    rows.append(("limits of the proposer's code", _show_limits(program_limits(run.settings))))
    rows.append(("limits in play", _show_limits(play_limits(run.settings))))
    if not facts:
        parts.append(paragraph("The run holds no facts about its sandbox."))
    return section("Sandbox", *parts, table((), [[text(name), text(value)] for name, value in rows]))


def _show_limits(limits: Limits) -> str:
    return (
        f"{limits.wall_seconds:g} s, {limits.cpu_seconds:g} s of CPU time, {limits.memory_mb} MiB, "
        f"{limits.output_bytes:,} printed characters"
    )


def _show_fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_show_fact(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _show_settings(run: Run) -> Html:
    s = run.settings
    rows = {
        "difficulty": f"starts at {s.self_play.initial_difficulty}, moves by {s.self_play.step:g}",
        "solve rates wanted": f"{s.self_play.low:g} to {s.self_play.high:g}, {s.self_play.replay:.0%} replay",
        "a cycle": f"{s.self_play.tasks_per_round} drafts, {s.solver.rollouts} episodes a task",
        "credit": f"proposer {s.credit.proposer_reward} / {s.credit.proposer_advantage}, "
        f"solver {s.credit.advantage}",
        "training": f"{s.training.method}, learning rate {s.training.learning_rate:g}, gold weight "
        f"{s.training.gold_weight:g} on {s.training.gold_tasks} tasks",
        "held-out": f"{s.evaluation.tasks} tasks, seed {s.evaluation.seed}",
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
    }
    everything = element(
        "details", element("summary", text("all settings")), code(s.model_dump_json(indent=2))
    )
    return section("Settings", table((), [[text(k), text(v)] for k, v in rows.items()]), everything)


def _show_files(folder: Path) -> Html:
    rows = [[link(name), text(what)] for name, what in FILES if (folder / name).exists()]
    missing = [name for name, _ in FILES if not (folder / name).exists()]
    note = paragraph(f"Not written yet: {', '.join(missing)}.") if missing else Html("")
    return section("Files of this run", table((), rows), note)
