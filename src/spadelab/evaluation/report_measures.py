"""The report's sections on measures: held-out accuracy, and the difficulty of the proposals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spadelab.evaluation import plots
from spadelab.evaluation.findings import (
    Findings,
    judged_interval,
    kind_interval,
    series_by_kind,
    total_interval,
)
from spadelab.evaluation.report_template import Html, figure, paragraph, section, table, text
from spadelab.evaluation.statistics import Interval, t_interval


def write_interval(interval: Interval) -> str:
    """An interval as text."""
    return f"[{interval.low:.3f}, {interval.high:.3f}]"


def show_heldout(findings: Findings) -> Html:
    """Accuracy on the held-out set before and after."""
    title = "Held-out accuracy"
    before, after = findings.before, findings.after
    if before is None:
        return section(title, paragraph("Not measured yet."))
    old, new = _intervals(before), _intervals(after) if after else {}
    cells = [len(levels) for levels in before["cells"].values()]
    per_cell = round(before["tasks"] / max(1, len(cells)) / max(1, *cells)) if cells else 0
    parts = [
        paragraph(_judge_heldout(before, after)),
        figure(
            plots.plot_accuracy(old, new),
            "One greedy answer a task, to tasks fixed by seed before the run; lines: 95 % Wilson intervals.",
        ),
        _tabulate_heldout(old, new, after),
        figure(
            plots.plot_levels(before["cells"], after["cells"] if after else {}),
            f"By difficulty level; a point stands for at least {per_cell} tasks, so single points scatter.",
        ),
    ]
    if len(findings.heldout) > 2:
        points = [(entry["cycle"], total_interval(entry)) for entry in findings.heldout]
        parts.append(
            figure(plots.plot_heldout(points), "Each measure during the run with its 95 % interval.")
        )
    return section(title, *parts)


def _intervals(entry: Mapping[str, Any]) -> dict[str, Interval]:
    """Accuracy of all tasks and of each type."""
    return {"overall": total_interval(entry), **{kind: kind_interval(entry, kind) for kind in entry["kinds"]}}


def _tabulate_heldout(
    old: Mapping[str, Interval], new: Mapping[str, Interval], after: Mapping[str, Any] | None
) -> Html:
    rows = []
    for name, interval in old.items():
        row = [name, f"{interval.estimate:.3f} {write_interval(interval)}"]
        if name in new:
            later = new[name]
            row += [
                f"{later.estimate:.3f} {write_interval(later)}",
                f"{later.estimate - interval.estimate:+.3f}",
                "yes" if interval.overlaps(later) else "no",
            ]
        rows.append([text(cell) for cell in row])
    header = ["tasks", "start"] + ([f"{after['label']}", "change", "intervals overlap"] if after else [])
    return table(header, rows)


def _judge_heldout(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> str:
    old = total_interval(before)
    start = f"{old.estimate:.3f} {write_interval(old)}"
    faults = sum(entry["faults"] for entry in (before, after) if entry)
    remark = f" {faults} answers ended by a fault and count as wrong." if faults else ""
    if after is None:
        return f"The start model solves {start} of {before['tasks']} held-out tasks.{remark}"
    new = total_interval(after)
    if not old.overlaps(new):
        verdict = "the 95 % intervals do not overlap"
    else:
        verdict = "the 95 % intervals overlap, so this alone does not show a change"
    return (
        f"On {after['tasks']} held-out tasks the solver went from {start} to {new.estimate:.3f} "
        f"{write_interval(new)}: {verdict}.{_compare_pairs(before, after)}{remark}"
    )


def _compare_pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The paired change, where the answers to each task were kept."""
    pairs = list(zip(before.get("correct", ()), after.get("correct", ()), strict=False))
    if len(pairs) < 2 or len(pairs) != after["tasks"]:
        return ""
    change = t_interval([new - old for old, new in pairs])
    return f" Task by task the change is {change.estimate:+.3f} [{change.low:+.3f}, {change.high:+.3f}]."


def show_difficulty(findings: Findings) -> Html:
    """Difficulty of the proposals: as written, as aimed at, and for the frozen start model."""
    title = "Difficulty of the proposals"
    targets = series_by_kind(findings.cycles, "target")
    written = {kind: (list(found), list(found.values())) for kind, found in findings.written.items()}
    if not written and not targets:
        return section(title, paragraph("No draft was admitted yet."))
    parts = [
        figure(
            plots.plot_difficulty(written, targets),
            "Statements executed on the first input, mean of the drafts admitted in a cycle, and the target "
            "that follows the solve rate. A share of the drafts is asked for below the target (replay).",
        )
    ]
    if findings.judged:
        names = [f"{entry['from']}–{entry['to']}" for entry in findings.judged]
        rates = [judged_interval(entry) for entry in findings.judged]
        written_means = [entry["difficulty"] for entry in findings.judged]
        parts += [
            paragraph(_judge_judged(rates)),
            figure(
                plots.plot_judged(names, written_means, rates),
                "Samples of admitted proposals of equal stretches of the run, equally many of each task "
                "type, answered greedily once by the model that the run started from. Falling means harder.",
            ),
        ]
    else:
        parts.append(paragraph("The proposals have not been judged by the start model yet."))
    return section(title, *parts)


def _judge_judged(rates: Sequence[Interval]) -> str:
    first, last = rates[0], rates[-1]
    if len(rates) == 1:
        verdict = "there is only one stretch to judge"
    elif first.overlaps(last):
        verdict = (
            "the 95 % intervals overlap, so this does not show that the proposals became harder or easier"
        )
    else:
        verdict = f"for it the proposals became {'harder' if last.estimate < first.estimate else 'easier'}"
    return (
        f"The frozen start model solves {first.estimate:.3f} {write_interval(first)} of the first stretch's "
        f"proposals and {last.estimate:.3f} {write_interval(last)} of the last's: {verdict}."
    )
