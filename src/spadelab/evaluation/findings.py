"""What the report is made of, gathered from a run's records in one pass over each table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spadelab.environments.interactive.session import WIN
from spadelab.errors import UserError
from spadelab.evaluation.statistics import Interval, wilson
from spadelab.evaluation.stretches import split
from spadelab.records import Environment
from spadelab.store.records_io import StoredCycle, StoredEpisode
from spadelab.store.run import Run

EVALUATION = "evaluation.json"
Series = tuple[Sequence[float], Sequence[float]]


@dataclass(slots=True)
class Rejection:
    """Drafts that one gate code stopped: how many, and the reason given to the first of them."""

    count: int
    reason: str


@dataclass(slots=True)
class Attempts:
    """The episodes of one environment in one cycle; the first right and the first wrong answer, if any."""

    wins: int = 0
    episodes: int = 0
    right: str | None = None
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A task of the run with what became of it in the cycle that brought it."""

    environment: Environment
    attempts: Attempts


@dataclass(slots=True)
class Findings:
    """`written[kind][cycle]` is the mean difficulty of the drafts admitted then; `heldout` and `judged`
    are lists of evaluation.json; `early` and `late` are cycle numbers, `late` empty before there are two;
    solve rates are those of the environments played then.
    """

    cycles: list[StoredCycle] = field(default_factory=list)
    early: Sequence[int] = ()
    late: Sequence[int] = ()
    drafts: int = 0
    written: dict[str, dict[int, float]] = field(default_factory=dict)
    rejections: dict[str, Rejection] = field(default_factory=dict)
    heldout: list[dict[str, Any]] = field(default_factory=list)
    judged: list[dict[str, Any]] = field(default_factory=list)
    early_rates: list[float] = field(default_factory=list)
    late_rates: list[float] = field(default_factory=list)
    early_examples: list[Example] = field(default_factory=list)
    late_examples: list[Example] = field(default_factory=list)

    @property
    def before(self) -> dict[str, Any] | None:
        """The first held-out measure."""
        return self.heldout[0] if self.heldout else None

    @property
    def after(self) -> dict[str, Any] | None:
        """The last held-out measure, None when there is only the first."""
        return self.heldout[-1] if len(self.heldout) > 1 else None

    @property
    def ended(self) -> bool:
        """Whether the last measure was taken after the last cycle, at the end of the run."""
        last = self.after
        return bool(last and self.cycles and last["label"] == "end" and last["cycle"] > self.cycles[-1].cycle)


def gather(run: Run) -> Findings:
    """Read everything that the report shows; works at any moment of a run."""
    findings = Findings(cycles=list(run.iter_cycles()))
    stretches = split([cycle.cycle for cycle in findings.cycles])
    if stretches:
        findings.early = stretches[0]
        findings.late = stretches[-1] if len(stretches) > 1 else ()
    answers = _collect_answers(run, {*findings.early, *findings.late})
    difficulties, played = {}, []
    for environment in run.iter_environments():
        difficulties[environment.id] = environment.difficulty
        attempts = answers.get(environment.id, {}).get(environment.born)
        if attempts:
            played.append(Example(environment, attempts))
    _read_admissions(run, difficulties, findings)
    findings.early_rates = _list_rates(answers, findings.early)
    findings.late_rates = _list_rates(answers, findings.late)
    findings.early_examples = _choose(played, findings.early)
    findings.late_examples = _choose(played, findings.late)
    evaluations = _read_evaluations(run)
    findings.heldout, findings.judged = evaluations["heldout"], evaluations["judged"]
    return findings


def kind_interval(entry: Mapping[str, Any], kind: str) -> Interval:
    """Accuracy of one task type with its Wilson interval."""
    tasks = entry["counts"][kind]
    return wilson(round(entry["kinds"][kind] * tasks), tasks)


def total_interval(entry: Mapping[str, Any]) -> Interval:
    """Accuracy of a held-out measure with its stored interval."""
    return Interval(entry["accuracy"], entry["low"], entry["high"])


def judged_interval(entry: Mapping[str, Any]) -> Interval:
    """Solve rate of the start model on one stretch with its stored interval."""
    return Interval(entry["start_solve_rate"], entry["low"], entry["high"])


def share_times(cycles: Sequence[StoredCycle]) -> dict[str, float]:
    """Wall-clock seconds of the cycles in model, learner, sandbox and elsewhere."""
    totals = {
        part: sum(float(cycle.timings.get(part, 0.0)) for cycle in cycles)
        for part in ("model", "learner", "sandbox")
    }
    elapsed = float(cycles[-1].timings.get("elapsed", 0.0)) if cycles else 0.0
    return {**totals, "other": max(0.0, elapsed - sum(totals.values()))}


def series(cycles: Sequence[StoredCycle], name: str) -> Series:
    """A metric over the cycles that have it: cycle numbers and values."""
    points = [(c.cycle, c.metrics[name]) for c in cycles if c.metrics.get(name) is not None]
    return [cycle for cycle, _ in points], [value for _, value in points]


def series_by_kind(cycles: Sequence[StoredCycle], name: str) -> dict[str, Series]:
    """A metric that has one value for each task type, as one series a type."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for cycle in cycles:
        for kind, value in cycle.metrics.get(name, {}).items():
            places, values = found.setdefault(kind, ([], []))
            places.append(cycle.cycle)
            values.append(value)
    return dict(sorted(found.items()))


def _collect_answers(run: Run, cycles: set[int]) -> dict[str, dict[int, Attempts]]:
    """What became of each environment in each of these cycles in which it was played."""
    found: dict[str, dict[int, Attempts]] = {}
    for episode in run.iter_episodes():
        if episode.cycle in cycles and not episode.fault and episode.arm == "plain":
            attempts = found.setdefault(episode.environment, {}).setdefault(episode.cycle, Attempts())
            attempts.episodes += 1
            if episode.reward >= WIN:
                attempts.wins += 1
                attempts.right = show_play(episode) if attempts.right is None else attempts.right
            else:
                attempts.wrong = show_play(episode) if attempts.wrong is None else attempts.wrong
    return found


def show_play(episode: StoredEpisode) -> str:
    """What the solver wrote; over several turns with the observations between."""
    if not episode.opening:
        return episode.text
    turns = [f"> {turn.reply}\n{turn.observation}" for turn in episode.turns]
    return "\n".join([episode.opening, *turns])


def _list_rates(answers: Mapping[str, Mapping[int, Attempts]], stretch: Sequence[int]) -> list[float]:
    cycles = set(stretch)
    return [
        attempts.wins / attempts.episodes
        for by_cycle in answers.values()
        for cycle, attempts in by_cycle.items()
        if cycle in cycles
    ]


def _read_admissions(run: Run, difficulties: Mapping[str, int], findings: Findings) -> None:
    written: dict[str, dict[int, list[int]]] = {}
    for draft in run.iter_admissions():
        findings.drafts += 1
        if draft.code:
            found = findings.rejections.setdefault(draft.code, Rejection(0, draft.reason))
            found.count += 1
        elif draft.environment:
            values = written.setdefault(draft.kind, {}).setdefault(draft.cycle, [])
            values.append(difficulties[draft.environment])
    findings.written = {
        kind: {cycle: sum(values) / len(values) for cycle, values in found.items()}
        for kind, found in sorted(written.items())
    }


def _choose(played: Sequence[Example], stretch: Sequence[int]) -> list[Example]:
    """One task of each type that was born in the stretch: of median difficulty, on the frontier if any is."""
    cycles = set(stretch)
    born = [example for example in played if example.environment.born in cycles]
    chosen = []
    for kind in sorted({example.environment.kind for example in born}):
        group = [example for example in born if example.environment.kind == kind]
        frontier = [example for example in group if 0 < example.attempts.wins < example.attempts.episodes]
        ranked = sorted(frontier or group, key=lambda e: (e.environment.difficulty, e.environment.id))
        chosen.append(ranked[len(ranked) // 2])
    return chosen


def _read_evaluations(run: Run) -> dict[str, list[dict[str, Any]]]:
    """The two lists of evaluation.json, empty where they are not there yet. UserError when it is damaged."""
    path = run.path / EVALUATION
    try:
        stored = json.loads(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error}); remove it to report without measures.") from None
    return {name: list(stored.get(name) or []) for name in ("heldout", "judged")}
