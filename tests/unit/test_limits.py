"""Which limits hold for whose code."""

from __future__ import annotations

import pytest

from spadelab.config import load_settings
from spadelab.families.family import play_limits, program_limits
from spadelab.sandbox import Limits


def test_without_overrides_both_roles_have_the_limits_of_the_sandbox() -> None:
    settings, _ = load_settings(None)
    assert program_limits(settings) == play_limits(settings) == Limits(5.0, 5.0, 256, 65536)
    settings, _ = load_settings(None, ["sandbox.timeout_seconds=9", "sandbox.output_bytes=2048"])
    assert program_limits(settings) == play_limits(settings) == Limits(9.0, 9.0, 256, 2048)
    settings, _ = load_settings(None, ["sandbox.cpu_seconds=2"])
    assert program_limits(settings) == Limits(5.0, 2.0, 256, 65536)


@pytest.mark.parametrize(("family", "player"), [("programs", "solver"), ("interactive", "proposer")])
def test_each_role_may_have_its_own(family: str, player: str) -> None:
    """What runs in play is the solver's where it answers with code, an environment where it acts in one."""
    solver = {"timeout_seconds": 1.0, "cpu_seconds": 0.5, "memory_limit_mb": 64, "output_bytes": 1024}
    overrides = [f"sandbox.solver.{name}={value}" for name, value in solver.items()]
    settings, _ = load_settings(
        None, [f"self_play.family={family}", *overrides, "sandbox.proposer.timeout_seconds=7"]
    )
    wanted = {"solver": Limits(1.0, 0.5, 64, 1024), "proposer": Limits(7.0, 7.0, 256, 65536)}
    assert program_limits(settings) == wanted["proposer"]
    assert play_limits(settings) == wanted[player]
