"""The report's sections on what happened: cycles, rejected drafts, example tasks, times."""

from __future__ import annotations

from spadelab.evaluation import plots
from spadelab.evaluation.findings import (
    Example,
    Findings,
    series,
    series_by_kind,
    share_times,
)
from spadelab.evaluation.report_template import (
    Html,
    bar,
    code,
    element,
    figure,
    join,
    labelled,
    paragraph,
    section,
    shares,
    table,
    text,
)
from spadelab.records import Environment
from spadelab.roles.solver import solver_prompt

TIME_COLOURS = {"model": "#1f5fa8", "learner": "#2f8552", "sandbox": "#c2571a", "other": "#a3adba"}


def show_cycles(findings: Findings, rollouts: int) -> Html:
    """Solve rates, valid drafts and rewards over cycles; solve rates, of `rollouts`, early and late."""
    title = "The run, cycle by cycle"
    if not findings.cycles:
        return section(title, paragraph("No cycle has been recorded yet."))
    valid, obeyed, reward = (series(findings.cycles, name) for name in ("valid", "obeyed", "proposer_reward"))
    stretch = f"cycles {findings.early[0]}–{findings.early[-1]}"
    if findings.late:
        stretch += f" (early) and {findings.late[0]}–{findings.late[-1]} (late)"
    return section(
        title,
        figure(
            plots.plot_progress(series_by_kind(findings.cycles, "solve_rate"), valid, obeyed, reward),
            "Each cycle, faint, and the running mean over a twentieth of the run. Solve rates are of the "
            "tasks played at the difficulty of that moment: flat at a rising difficulty is progress.",
        ),
        figure(
            plots.plot_histogram(findings.early_rates, findings.late_rates, rollouts),
            f"Solve rates of the tasks played in {stretch}. Only tasks strictly between 0 and 1 tell the "
            "policy gradient something.",
        ),
    )


def show_rejections(findings: Findings) -> Html:
    """Rejected drafts by reason."""
    title = "Rejected drafts"
    if not findings.rejections:
        return section(title, paragraph("No draft was rejected."))
    ranked = sorted(findings.rejections.items(), key=lambda item: (-item[1].count, item[0]))
    most, total = ranked[0][1].count, sum(found.count for found in findings.rejections.values())
    rows = [
        [text(name), text(f"{found.count:,}"), text(f"{found.count / findings.drafts:.2%}"),
         bar(found.count / most), text(found.reason[:200])]
        for name, found in ranked
    ]  # fmt: skip
    share = total / findings.drafts
    return section(
        title,
        paragraph(f"The gates rejected {total:,} of {findings.drafts:,} drafts ({share:.1%})."),
        table(("reason", "drafts", "share of all", "", "for example"), rows),
    )


def show_examples(findings: Findings, prompts: str) -> Html:
    """One task of each type from early and from late in the run."""
    parts = []
    for name, cycles, examples in (
        ("Early", findings.early, findings.early_examples),
        ("Late", findings.late, findings.late_examples),
    ):
        if not cycles:
            continue
        parts.append(element("h3", text(f"{name}: proposed in cycles {cycles[0]} to {cycles[-1]}")))
        parts += [_show_example(example, prompts) for example in examples]
        if not examples:
            parts.append(paragraph("No new task was played in these cycles."))
    if not parts:
        return section("Example tasks", paragraph("No task has been played yet."))
    lead = "Of each task type the one of median difficulty, among those solved sometimes where there are any."
    return section("Example tasks", paragraph(lead), *parts)


def _show_example(example: Example, prompts: str) -> Html:
    environment = example.environment
    left = [labelled("program", code(environment.source)), *_show_truth(environment, prompts)]
    right = [
        labelled("a right answer", code(example.attempts.right, "right"))
        if example.attempts.right is not None
        else paragraph("No episode was right.", "label"),
        labelled("a wrong answer", code(example.attempts.wrong, "wrong"))
        if example.attempts.wrong is not None
        else paragraph("No episode was wrong.", "label"),
    ]
    wins = f"solved in {example.attempts.wins} of {example.attempts.episodes} episodes"
    name = f"{environment.kind}, difficulty {environment.difficulty}, cycle {environment.born}, {wins}"
    columns = [element("div", *left), element("div", *right)]
    title = element("b", text(name))
    return element("div", title, element("div", *columns, class_="columns"), class_="example")


def _show_truth(environment: Environment, prompts: str) -> list[Html]:
    """What execution recorded: outputs, or the play of the environment's own solution."""
    if environment.demonstrations:
        demonstration = environment.demonstrations[0]
        turns = [f"> {turn.action}\n{turn.observation}" for turn in demonstration.turns]
        play = "\n".join([demonstration.opening, *turns])
        return [labelled("its own solution, as played by execution", code(play))]
    pairs = zip(environment.inputs, environment.outputs, strict=True)
    calls = "\n".join(f"{given} -> {output}" for given, output in pairs)
    return [
        labelled("inputs and outputs, by execution", code(calls)),
        labelled("question, as the solver sees it", code(solver_prompt(environment, prompts))),
    ]


def show_times(findings: Findings) -> Html:
    """Where the time went."""
    title = "Where the time went"
    times = share_times(findings.cycles)
    total = sum(times.values())
    if not total:
        return section(title, paragraph("No time has been recorded yet."))
    rows = [
        [text(name), text(f"{seconds:,.1f} s"), text(f"{seconds / total:.1%}")]
        for name, seconds in times.items()
    ]
    parts = [(name, seconds / total, TIME_COLOURS[name]) for name, seconds in times.items()]
    legend = join(
        [
            element(
                "span", Html(f'<span class="bar" style="width: 10px; background: {colour}"></span> {name}')
            )
            for name, colour in TIME_COLOURS.items()
        ],
        " &ensp; ",
    )
    note = (
        "Wall-clock seconds of the cycles in model (both roles sampling), learner, sandbox, and elsewhere. "
        "Measuring on the held-out set and writing records are not included."
    )
    return section(
        title, shares(parts), element("p", legend), table(("part", "time", "share"), rows), paragraph(note)
    )
