"""Gates for interactive environments: what a draft must survive, cheapest first.

parse, static and stored run nothing. Then every draft is asked in a fresh process for its instances,
solutions and hints, after a few senseless turns. The solutions are played in two more, by the calls of real
play; one of them goes on with the probes, whole episodes in one call. Where nothing met a fault, a fourth
repeats some of the probes by the calls of real play, and is then asked again. No process is played after it
was asked for a solution. The remaining gates read what was seen; the first that fails ends the draft.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from spadelab.environments.candidates import Candidate, list_importable
from spadelab.environments.interactive import verdicts
from spadelab.environments.interactive.contract import FAMILY, Manifest
from spadelab.environments.interactive.inquiry import Inquiry
from spadelab.environments.interactive.novelty import environment_key
from spadelab.environments.interactive.static import check_source, extract_source
from spadelab.environments.interactive.verdicts import Evidence
from spadelab.environments.syntax import hash_text
from spadelab.environments.trials import Rejected
from spadelab.records import Admission, Demonstration, Draft, Environment, Turn
from spadelab.sandbox import Limits, Sandbox

ODD_SEEDS = (0, 1, 2, 42, 2**31 - 1)
FURTHER_SEEDS = 19
"""Seeds beyond the gate seeds, played at random: those that look odd, and so many more."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Bounds on drafts.

    `seeds`: gate seeds, at least 2, derived from the source. `max_trivial_rate`: the win rate, in [0, 1],
    that players who do not look may have. `random_plays`: random episodes on each further seed, at least 2
    for both kinds. `limits` bound one play; the probes, some hundred episodes in a process, get ten times
    its CPU time.
    """

    max_source_chars: int = 20_000
    seeds: int = 4
    max_trivial_rate: float = 0.25
    random_plays: int = 2
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True)
class _Candidate(Candidate):
    source: str = ""
    manifest: Manifest | None = None
    key: str = ""


def admit(
    drafts: Sequence[Draft], sandbox: Sandbox, settings: GateSettings, known: Container[str], cycle: int = 0
) -> list[Admission]:
    """Judge drafts; one admission each, in order, with an environment where every gate passed.

    `known` holds the keys of stored environments; the second of two copies in the batch is rejected as
    well. Codes "jail_died" and "unavailable" are failures of the machinery, not of the draft.
    """
    candidates = [_Candidate(draft) for draft in drafts]
    for candidate in candidates:
        candidate.pass_gate("parse", lambda c=candidate: _extract(c))  # type: ignore[misc]
    return _judge(candidates, sandbox, settings, known, cycle)


def judge_source(source: str, sandbox: Sandbox, settings: GateSettings) -> Admission:
    """Judge one module, given as it stands."""
    candidate = _Candidate(Draft("source", "", source, 0.0), source=source)
    return _judge([candidate], sandbox, settings, (), 0)[0]


def make_seeds(source: str, count: int, start: int = 0) -> list[int]:
    """Gate seeds (31 bits) that the source cannot know, since they are made of it."""
    hashes = (hashlib.sha256(f"{i} {source}".encode()).digest() for i in range(start, start + count))
    return [int.from_bytes(digest[:4]) >> 1 for digest in hashes]


def _judge(
    candidates: Sequence[_Candidate],
    sandbox: Sandbox,
    settings: GateSettings,
    known: Container[str],
    cycle: int,
) -> list[Admission]:
    importable = list_importable(sandbox)
    for candidate in candidates:
        _pass_static(candidate, importable, settings, known)
    living = [candidate for candidate in candidates if candidate.alive]
    inquiries = [_inquire(candidate, settings) for candidate in living]
    for plan, read in (
        (Inquiry.ask, Inquiry.hear),
        (Inquiry.play, Inquiry.watch),
        (Inquiry.repeat, Inquiry.match),
    ):
        jobs = [plan(inquiry) for inquiry in inquiries]
        results = iter(sandbox.map([job for some in jobs for job in some]))
        for inquiry, some in zip(inquiries, jobs, strict=True):
            read(inquiry, [next(results) for _ in some])
    taken: set[str] = set()
    for candidate, inquiry in zip(living, inquiries, strict=True):
        _pass_executed(candidate, inquiry.evidence, settings, taken)
        if candidate.alive:
            candidate.environment = _make_environment(candidate, inquiry.evidence, cycle)
    return [candidate.admission() for candidate in candidates]


def _extract(candidate: _Candidate) -> None:
    candidate.source = extract_source(candidate.draft.text)


def _pass_static(
    candidate: _Candidate, importable: Container[str], settings: GateSettings, known: Container[str]
) -> None:
    def check_static() -> None:
        candidate.manifest = check_source(candidate.source, importable, settings.max_source_chars)

    def check_stored() -> None:
        candidate.key = environment_key(candidate.source)
        if candidate.key in known:
            raise Rejected("duplicate", "the same environment is stored already")

    candidate.pass_gate("static", check_static)
    candidate.pass_gate("stored", check_stored)


def _inquire(candidate: _Candidate, settings: GateSettings) -> Inquiry:
    assert candidate.manifest is not None
    limits = replace(
        settings.limits,
        cpu_seconds=10 * settings.limits.cpu_seconds,
        output_bytes=max(1 << 20, settings.limits.output_bytes),
    )
    seeds = make_seeds(candidate.source, settings.seeds)
    further = [*ODD_SEEDS, *make_seeds(candidate.source, FURTHER_SEEDS, settings.seeds)]
    return Inquiry(candidate.source, candidate.manifest, seeds, further, settings.random_plays, limits)


def _pass_executed(
    candidate: _Candidate, evidence: Evidence, settings: GateSettings, taken: set[str]
) -> None:
    def check_novel() -> None:
        if candidate.key in taken:
            raise Rejected("duplicate", "the same environment was written before in this batch")
        taken.add(candidate.key)

    seconds = evidence.seconds
    candidate.pass_gate("loads", lambda: verdicts.check_load(evidence), seconds["ask"])
    candidate.pass_gate("contract", lambda: verdicts.check_contract(evidence), seconds["probes"])
    candidate.pass_gate("deterministic", lambda: verdicts.check_determinism(evidence), seconds["again"])
    candidate.pass_gate("solvable", lambda: verdicts.check_solvable(evidence), seconds["alone"])
    candidate.pass_gate("seeds", lambda: verdicts.check_seeds(evidence))
    candidate.pass_gate("nontrivial", lambda: verdicts.check_nontrivial(evidence, settings.max_trivial_rate))
    candidate.pass_gate("robust", lambda: verdicts.check_robust(evidence))
    candidate.pass_gate("rewards", lambda: verdicts.check_rewards(evidence))
    candidate.pass_gate("hint", lambda: verdicts.check_hints(evidence))
    candidate.pass_gate("novel", check_novel)


def _make_environment(candidate: _Candidate, evidence: Evidence, cycle: int) -> Environment:
    manifest = evidence.manifest
    demonstrations = tuple(
        Demonstration(
            session.seed,
            session.opening,
            tuple(Turn(step.action, step.observation, step.reward) for step in session.steps),
            instance.hint,
        )
        for session, instance in zip(evidence.alone, evidence.instances, strict=True)
    )
    turns = sum(len(demonstration.turns) for demonstration in demonstrations)
    return Environment(
        id=hash_text(candidate.source),
        key=candidate.key,
        family=FAMILY,
        kind=manifest.skill,
        source=candidate.source,
        inputs=(),
        outputs=(),
        difficulty=max(1, round(turns / len(demonstrations))),
        message=manifest.summary,
        born=cycle,
        name=manifest.name,
        entry=manifest.class_name,
        turns=manifest.max_turns,
        action_format=manifest.action_format,
        demonstrations=demonstrations,
        luck=verdicts.measure_luck(evidence),
    )
