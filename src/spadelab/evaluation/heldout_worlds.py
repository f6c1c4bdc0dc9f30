"""The held-out suites of interactive environments, never trained on.

One is written by hand, in four levels, from two turns to far beyond the bundled models' warm start. Its
observations and actions look like those of the grammar (`models/tiny/worlds.py`), so that a bundled model
can play them; constants, combinations and some of the structure (rings, transfers, locks, moves to the left)
are not in it. The other is drawn from the grammar by a fixed seed: what was learned shows there first.
"""

from __future__ import annotations

import ast
import hashlib
import random
from pathlib import Path

from spadelab.environments.interactive.contract import FAMILY, read_manifest
from spadelab.environments.interactive.novelty import environment_key
from spadelab.environments.syntax import parse_program
from spadelab.models.tiny.worlds import KINDS, draw_world
from spadelab.records import Environment

DRAWN_SEED = 20261129
DRAWN_LENGTHS = (2, 4, 6, 8, 10)
# Different environments of each kind and length, one instance of each: more instances of fewer
# environments would say less about the kind.
DRAWN_WORLDS = 8
WORLDS = Path(__file__).parent / "worlds"


def load_heldout() -> list[Environment]:
    """The suite in the order of level and name; `difficulty` is the number of turns of the solution."""
    files = sorted(file for file in WORLDS.glob("*.py") if not file.name.startswith("_"))
    return [_load(file.read_text(encoding="utf-8")) for file in files]


def draw_heldout() -> list[Environment]:
    """The drawn suite: DRAWN_WORLDS different ones of every kind, at each of DRAWN_LENGTHS that it has."""
    stream, suite = random.Random(DRAWN_SEED), dict[str, Environment]()
    for name, kind in KINDS.items():
        for length in DRAWN_LENGTHS:
            if kind.shortest <= length <= kind.longest:
                end = len(suite) + DRAWN_WORLDS
                while len(suite) < end:
                    world = _load(draw_world(name, length, stream).source, length)
                    suite.setdefault(world.key, world)
    return list(suite.values())


def _load(source: str, length: int = 0) -> Environment:
    tree = parse_program(source)
    manifest = read_manifest(tree)
    return Environment(
        id=hashlib.sha256(source.encode()).hexdigest(),
        key=environment_key(source),
        family=FAMILY,
        kind=manifest.skill,
        source=source,
        inputs=(),
        outputs=(),
        difficulty=length or _read_length(tree),
        message=manifest.summary,
        name=manifest.name,
        entry=manifest.class_name,
        turns=manifest.max_turns,
        action_format=manifest.action_format,
    )


def _read_length(tree: ast.Module) -> int:
    """The constant LENGTH: how many turns the environment's own solution takes on every seed."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="LENGTH")], value=ast.Constant(value=int(length))):
                return length
    raise ValueError("an environment of the held-out suite does not say its LENGTH")
