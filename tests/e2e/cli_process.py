"""Starting the command line as a process of its own, as a user does."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "spadelab")
# A run of seconds.
SMALL = (
    "--set=self_play.tasks_per_round=6",
    "--set=solver.rollouts=2",
    "--set=evaluation.tasks=12",
    "--set=run.checkpoint_every=2",
)


def spadelab(
    *arguments: str | Path, cwd: Path, prefix: tuple[str, ...] = (), limit: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command; `limit`: the largest file it may write, in bytes."""

    def confine() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [*prefix, *COMMAND, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=confine,
    )


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a user's error."""
    assert result.returncode == 2, (result.returncode, result.stderr)
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    (sentence,) = [line for line in lines if line.startswith("error: ")]
    assert lines[-1] == sentence
    return sentence
