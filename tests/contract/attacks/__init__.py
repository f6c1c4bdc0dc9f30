"""Hostile programs by class. Each is harmless where it succeeds: a test of a wall must not need the wall."""

from __future__ import annotations

from collections.abc import Mapping

from . import chance, channel, files, network, packages, persistence, processes, resources, rewards
from .attack import Attack

CLASSES: Mapping[str, tuple[Attack, ...]] = {
    "files": files.ATTACKS,
    "network": network.ATTACKS,
    "processes": processes.ATTACKS,
    "resources": resources.ATTACKS,
    "channel": channel.ATTACKS,
    "persistence": persistence.ATTACKS,
    "rewards": rewards.ATTACKS,
    "chance": chance.ATTACKS,
    "packages": packages.ATTACKS,
}
