"""Drafts on their way through the gates of any family."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from spadelab.environments.trials import Rejected
from spadelab.records import Admission, Check, Draft, Environment
from spadelab.sandbox import Sandbox
from spadelab.sandbox.preload import list_allowed


@dataclass(slots=True)
class Candidate:
    """A draft with the gates it met so far."""

    draft: Draft
    checks: list[Check] = field(default_factory=list)
    environment: Environment | None = None

    @property
    def alive(self) -> bool:
        """Whether no gate has failed."""
        return not self.checks or self.checks[-1].passed

    def pass_gate(self, gate: str, check: Callable[[], None], seconds: float = 0.0) -> None:
        """Run one gate unless an earlier one failed; `seconds` is work already done for it."""
        if not self.alive:
            return
        start = time.perf_counter()
        code = reason = ""
        try:
            check()
        except Rejected as rejected:
            code, reason = rejected.code, rejected.reason
        seconds += time.perf_counter() - start
        self.checks.append(Check(gate, not code, code, reason, seconds))

    def admission(self) -> Admission:
        """The verdict."""
        return Admission(self.draft, tuple(self.checks), self.environment)


def list_importable(sandbox: Sandbox) -> frozenset[str]:
    """Top-level modules that programs may import."""
    packages = sandbox.facts()["allowed_packages"]
    return list_allowed(packages)
