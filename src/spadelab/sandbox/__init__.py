"""Runs untrusted Python: see `Sandbox`. Everything that crosses its border is literal text."""

from .canaries import CanaryResult, self_test
from .factory import make_sandbox
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
    "make_sandbox",
    "self_test",
]
