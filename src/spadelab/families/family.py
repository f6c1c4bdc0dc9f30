"""The interface between the loop and a family of environments."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch

from spadelab.config import RoleLimits, SandboxSettings, Settings
from spadelab.environments.programs import shape_key
from spadelab.environments.tasks import FAMILY as PROGRAMS
from spadelab.models.local import LocalModel
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation
from spadelab.rng import Streams
from spadelab.roles.proposer import Request
from spadelab.sandbox import Limits


class Stateful(Protocol):
    """What a checkpoint saves."""

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""


class Family(Stateful, Protocol):
    """How environments of one family are written, gated, played and demonstrated."""

    def seeds(self) -> list[Environment]:
        """Environments that are there before any was written: first examples of each kind."""

    def write(
        self, model: LocalModel, requests: Sequence[Request], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """One draft for each request, in order."""

    def admit(
        self, model: LocalModel, drafts: Sequence[Draft], known: Container[str], cycle: int, streams: Streams
    ) -> list[Admission]:
        """The gates, then the judge if there is one: an admission for each draft, in order."""

    def repair(
        self, model: LocalModel, failed: Sequence[Admission], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """Second attempts at rejected drafts; none where the family knows no repair."""

    def play(self, model: LocalModel, environments: Sequence[Environment], streams: Streams) -> list[Episode]:
        """`solver.rollouts` episodes of each environment, and as many of the hinted arm if there is one."""

    def copies(self, environments: Sequence[Environment]) -> Mapping[str, float]:
        """Share of the batch that are near copies of each, itself not counted, by id; 0 for ids not named."""

    def demonstrate(self, model: LocalModel, environment: Environment) -> Sequence[Generation]:
        """Right play of one instance as training sequences; none when it does not fit the context."""

    def remember(
        self,
        admissions: Sequence[Admission],
        environments: Sequence[Environment],
        solved: dict[str, tuple[int, int]],
    ) -> None:
        """Take notice of a finished cycle: what was rejected, and how often each environment was won."""


def program_limits(settings: Settings) -> Limits:
    """The limits of a program or an environment that the proposer wrote."""
    return _role_limits(settings.sandbox, settings.sandbox.proposer)


def play_limits(settings: Settings) -> Limits:
    """The limits of what runs while the solver plays: its answers to program tasks, else environments."""
    box = settings.sandbox
    return _role_limits(box, box.solver if settings.self_play.family == "programs" else box.proposer)


def _role_limits(box: SandboxSettings, role: RoleLimits) -> Limits:
    seconds = role.timeout_seconds or box.timeout_seconds
    return Limits(
        wall_seconds=seconds,
        cpu_seconds=role.cpu_seconds or box.cpu_seconds or seconds,
        memory_mb=role.memory_limit_mb or box.memory_limit_mb,
        output_bytes=role.output_bytes or box.output_bytes,
    )


def withhold(admission: Admission, withheld: Container[str]) -> Admission:
    """Refuse a draft that repeats something of the held-out benchmark."""
    environment = admission.environment
    if environment is None:
        return admission
    shapes = {environment.key} | (
        {shape_key(environment.source)} if environment.family == PROGRAMS else set()
    )
    if not any(shape in withheld for shape in shapes):
        return admission
    check = Check("held_out", False, "held_out", "the program is part of the held-out benchmark")
    return replace(admission, checks=(*admission.checks, check), environment=None)
