"""What a bundled model of interactive self-play can do: environments won, drafts admitted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spadelab.command.measuring import describe
from spadelab.config import Settings
from spadelab.environments.interactive.contract import SKILLS
from spadelab.environments.interactive.gates import GateSettings, admit
from spadelab.evaluation.heldout import build_benchmark, evaluate
from spadelab.learning.worldstart import STYLE, draw_request
from spadelab.models.local import LocalModel
from spadelab.models.tiny.worlds import KINDS, LONGEST, draw_world
from spadelab.play.interactive import Instance, play_instances
from spadelab.records import Admission, Draft
from spadelab.rng import Streams
from spadelab.roles.briefing import interactive_prompt
from spadelab.sandbox import Limits, Sandbox

# Drafts of each skill and difficulty, worlds of each kind and length, and instances of each of those.
DRAFTS, WORLDS, INSTANCES = 8, 4, 4


def score_worlds(
    model: LocalModel, role: str, settings: Settings, sandbox: Sandbox, limits: Limits
) -> dict[str, Any]:
    """Held-out accuracy and win rates in the grammar where the role solves, drafts where it proposes."""
    scores = dict[str, Any]()
    if role != "world-proposer":
        benchmark = build_benchmark(settings)
        scores["solver"] = describe(role, evaluate(model, benchmark, settings, sandbox, limits))
        scores["grammar"] = score_playing(model, settings, sandbox, limits)
    if role != "world-solver":
        scores["proposer"] = score_writing(model, settings, sandbox, limits)
    return scores


def score_playing(
    model: LocalModel, settings: Settings, sandbox: Sandbox, limits: Limits, worlds: int = WORLDS
) -> dict[str, dict[str, float]]:
    """Win rate of sampled play by kind of world and by length of the solution."""
    streams = Streams(settings.evaluation.seed)
    draws = streams.python("worlds")
    drafts = [
        Draft(kind, about.skill, f"```python\n{draw_world(kind, length, draws).source}\n```", length)
        for kind, about in KINDS.items()
        for length in range(about.shortest, about.longest + 1)
        for _ in range(worlds)
    ]
    admitted = [
        (admission.draft.id, admission.environment)
        for admission in admit(drafts, sandbox, GateSettings(limits=limits), ())
        if admission.environment is not None
    ]
    instances = [Instance(e, draws.getrandbits(31)) for _, e in admitted for _ in range(INSTANCES)]
    generator = streams.torch("worlds played")
    episodes = play_instances(model, instances, settings.solver, sandbox, limits, generator)
    wins: dict[str, dict[str, list[bool]]] = {kind: {} for kind in KINDS}
    for i, (kind, environment) in enumerate(admitted):
        won = [e.score.outcome == "correct" for e in episodes[i * INSTANCES : (i + 1) * INSTANCES]]
        wins[kind].setdefault(str(environment.difficulty), []).extend(won)
    return {kind: {length: sum(w) / len(w) for length, w in rows.items()} for kind, rows in wins.items()}


def score_writing(
    model: LocalModel, settings: Settings, sandbox: Sandbox, limits: Limits, drafts: int = DRAFTS
) -> dict[str, dict[str, float]]:
    """By skill over all difficulties of the warm start, and over all skills as "all": see `share`."""
    streams, role = Streams(settings.evaluation.seed), settings.proposer
    draws = streams.python("requests")
    requests = [
        draw_request(draws, skill, difficulty)
        for skill in SKILLS
        for difficulty in range(1, LONGEST + 1)
        for _ in range(drafts)
    ]
    prompts = [interactive_prompt(request, STYLE) for request in requests]
    groups = model.generate(
        prompts, 1, role.max_new_tokens, role.temperature, streams.torch("worlds written")
    )
    written = [
        Draft(str(i), request.kind, group[0].text, request.difficulty)
        for i, (request, group) in enumerate(zip(requests, groups, strict=True))
    ]
    admissions = admit(written, sandbox, GateSettings(limits=limits), ())
    table = {"all": share(admissions, settings.credit.obey_tolerance)}
    for skill in SKILLS:
        own = [admission for admission in admissions if admission.draft.kind == skill]
        table[skill] = share(own, settings.credit.obey_tolerance)
    return table


def share(admissions: Iterable[Admission], tolerance: int) -> dict[str, float]:
    """Number of drafts, share of admitted ones, and the share of these that obey.

    An environment obeys when its measured difficulty is within `tolerance` of what was asked.
    """
    judged = list(admissions)
    written = [(a.environment, a.draft.asked) for a in judged if a.environment is not None]
    obeyed = sum(abs(environment.difficulty - asked) <= tolerance for environment, asked in written)
    return {
        "drafts": len(judged),
        "valid": len(written) / len(judged),
        "obeyed": obeyed / max(1, len(written)),
    }
