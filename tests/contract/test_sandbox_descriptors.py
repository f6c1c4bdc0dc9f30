"""A host that has no descriptors left says so, runs what it can, and goes on when there are some again."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from spadelab.sandbox import Call, Job, Limits, Sandbox, SandboxUnavailable

JOB = Job("def f():\n    return 1\n", (Call("f", ""),), Limits(memory_mb=64))


def count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptors_left() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Sandbox(workers=1, allowed_packages=(), canaries=False) as sandbox:
        sandbox.map([JOB] * 4)
        before = count()
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 40, hard))
        try:
            with pytest.raises(SandboxUnavailable, match="ulimit -n"):
                sandbox.open_many([JOB] * 200)
            kinds = {outcome.kind for (outcome,) in sandbox.map([JOB] * 20)}
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert kinds == {"value"} and count() <= before + 8
        assert sandbox.run(JOB)[0].value == "1"
