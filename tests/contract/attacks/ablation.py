"""Jails with single layers taken out, to show that the attacks notice.

Production code has no switch for this: the command line of a jail is rewritten here.
"""

from __future__ import annotations

import ast
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from spadelab.sandbox import Limits, Outcome
from spadelab.sandbox.backends import Flavour, Launch, find_bwrap, launch_bwrap, launch_plain
from spadelab.sandbox.channel import Switchboard, fork_ahead
from spadelab.sandbox.jail import Jail

from .attack import Attack

_ALLOW_EVERYTHING = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
_PATCHES = {
    "landlock": "import jail.kernel; jail.kernel.restrict_files = lambda: 1",
    "rlimits": "import jail.zygote; jail.zygote._set_limits = lambda *limits: None",
}


@contextmanager
def weaken(*missing: str) -> Iterator[Jail]:
    """A jail without these layers: "child filter", "zygote filter", "namespaces", "landlock", "rlimits"."""
    flavour = Flavour(0)
    bare = "namespaces" in missing
    launch = launch_plain("landlock", flavour) if bare else launch_bwrap(find_bwrap()[0], flavour)
    jail = Jail(_rewrite(launch, missing))
    try:
        yield jail
    finally:
        jail.close()


def _rewrite(launch: Launch, missing: Sequence[str]) -> Launch:
    *front, boot, folder, text = launch.command
    config = ast.literal_eval(text)
    config["filters"] = tuple(
        _ALLOW_EVERYTHING if layer in missing else code
        for layer, code in zip(("zygote filter", "child filter"), config["filters"], strict=True)
    )
    patches = "; ".join(patch for layer, patch in _PATCHES.items() if layer in missing)
    start = "from jail.zygote import main"
    assert start in boot
    boot = boot.replace(start, f"{patches or 'pass'}; {start}")
    return replace(launch, command=(*front, boot, folder, repr(config)))


def run(jail: Jail, attack: Attack, limits: Limits | None = None) -> Outcome:
    """The outcome of one attack in a jail that no pool owns."""
    (channel,) = fork_ahead(jail, limits or attack.limits)
    channel.open(attack.job.source, attack.job.calls)
    board = Switchboard()
    board.add(channel)
    while len(board):
        board.wait()
    (outcome,) = channel.outcomes
    channel.close()
    return outcome


def runs_on(jail: Jail, attack: Attack, seconds: float) -> bool:
    """Whether the attack still runs after `seconds` when no deadline is kept."""
    (channel,) = fork_ahead(jail, Limits(wall_seconds=3600, cpu_seconds=3600))
    channel.open(attack.job.source, attack.job.calls)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        channel.pump()
        time.sleep(0.01)
    alive = not channel.done
    channel.close()
    return alive
