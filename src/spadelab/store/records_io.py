"""Records to database rows and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from spadelab.records import Admission, Environment, Episode, Turn
from spadelab.store.files import encode_json


@dataclass(frozen=True, slots=True)
class StoredCycle:
    """One cycle's metrics, and the durations (seconds) that are not compared between runs."""

    cycle: int
    metrics: dict[str, Any]
    timings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredAdmission:
    """A draft as it is kept: `code` and `reason` of the gate that stopped it, "" when admitted.

    `checks` has gate, passed, code and reason of each gate that ran; `environment` is an id.
    """

    cycle: int
    position: int
    draft: str
    kind: str
    asked: float
    code: str
    reason: str
    environment: str | None
    text: str
    checks: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as it is kept: the texts without their token ids; `tokens` counts those.

    A single-turn episode has no `opening` and no `turns`: its prompt follows from the environment.
    """

    cycle: int
    position: int
    environment: str
    kind: str
    outcome: str
    reward: float
    fault: bool
    reason: str
    finish: str
    tokens: int
    text: str
    seed: int
    arm: str
    opening: str
    turns: tuple[Turn, ...]


def encode_admission(cycle: int, position: int, admission: Admission) -> dict[str, Any]:
    """The row of the admissions table. Durations of checks go to `timings`, which is not compared."""
    checks = [asdict(check) for check in admission.checks]
    timings = [check.pop("seconds") for check in checks]
    failed = next((check for check in admission.checks if not check.passed), None)
    return {
        "cycle": cycle,
        "position": position,
        "draft": admission.draft.id,
        "kind": admission.draft.kind,
        "asked": admission.draft.asked,
        "code": admission.rejection,
        "reason": _clean(failed.reason) if failed else "",
        "environment": admission.environment.id if admission.environment else None,
        "text": _clean(admission.draft.text),
        "checks": encode_json(checks),
        "timings": encode_json(timings),
    }


def encode_environment(cycle: int, position: int, environment: Environment) -> dict[str, Any]:
    """The row of the environments table: searchable columns and the whole record as JSON."""
    return {
        "cycle": cycle,
        "position": position,
        "id": environment.id,
        "key": environment.key,
        "family": environment.family,
        "kind": environment.kind,
        "difficulty": environment.difficulty,
        "content": encode_json(asdict(environment)),
    }


def encode_episode(cycle: int, position: int, episode: Episode) -> dict[str, Any]:
    """The row of the episodes table."""
    return {
        "cycle": cycle,
        "position": position,
        "environment": episode.environment,
        "kind": episode.kind,
        "outcome": episode.score.outcome,
        "reward": episode.score.reward,
        "fault": episode.score.fault,
        "reason": _clean(episode.score.reason),
        "finish": episode.generation.finish,
        "tokens": len(episode.generation.ids),
        "text": _clean(episode.generation.text),
        "seed": episode.seed,
        "arm": episode.arm,
        "opening": _clean(episode.opening),
        "turns": encode_json([asdict(turn) for turn in episode.turns]),
    }


def decode_episode(row: dict[str, Any]) -> StoredEpisode:
    """The episode of a row of the episodes table."""
    return StoredEpisode(**{**row, "turns": msgspec.convert(json.loads(row["turns"]), tuple[Turn, ...])})


def decode_environment(content: str) -> Environment:
    """The record that `encode_environment` wrote."""
    # json, not msgspec's parser: texts may hold lone surrogates, which only json reads.
    return msgspec.convert(json.loads(content), Environment)


def _clean(text: str) -> str:
    # A text column is UTF-8, which cannot express a lone surrogate that a program printed.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
