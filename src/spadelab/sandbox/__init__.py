"""Runs untrusted Python: see `Sandbox`. Everything that crosses its border is literal text."""

from .canaries import CanaryResult, self_test
from .jobs import Call, Job, Limits, Outcome, SandboxUnavailable
from .sandbox import Child, Sandbox

__all__ = [
    "Call",
    "CanaryResult",
    "Child",
    "Job",
    "Limits",
    "Outcome",
    "Sandbox",
    "SandboxUnavailable",
    "self_test",
]
