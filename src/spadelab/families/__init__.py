"""Families of environments: what the loop needs to know of each, behind one interface."""

from __future__ import annotations

from spadelab.config import Settings
from spadelab.families.family import Family
from spadelab.families.interactive import InteractiveFamily
from spadelab.families.programs import ProgramFamily
from spadelab.sandbox import Sandbox

__all__ = ["Family", "make_family"]


def make_family(settings: Settings, sandbox: Sandbox) -> Family:
    """The family that the settings name."""
    kinds: dict[str, type[ProgramFamily] | type[InteractiveFamily]] = {
        "programs": ProgramFamily,
        "interactive": InteractiveFamily,
    }
    return kinds[settings.self_play.family](settings, sandbox)
