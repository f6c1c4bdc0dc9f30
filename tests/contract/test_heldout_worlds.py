"""The held-out suite: admitted by every gate, as long as it says, and apart from the grammar."""

from __future__ import annotations

import random
from collections import Counter

from spadelab.environments.interactive.contract import SKILLS
from spadelab.environments.interactive.gates import GateSettings, admit
from spadelab.environments.interactive.novelty import environment_key
from spadelab.evaluation.heldout_worlds import DRAWN_WORLDS, draw_heldout, load_heldout
from spadelab.models.tiny.worlds import KINDS, draw_world
from spadelab.records import Draft

SUITE = load_heldout()
KEYS = frozenset(environment.key for environment in SUITE)


def test_size_levels_and_skills():
    assert len(SUITE) >= 16
    levels = Counter({2: 1, 3: 2, 5: 3, 6: 3}.get(e.difficulty, 4) for e in SUITE)
    assert set(levels) == {1, 2, 3, 4} and min(levels.values()) >= 4
    assert {environment.kind for environment in SUITE} == set(SKILLS)
    assert len(KEYS) == len(SUITE)


def test_the_drawn_suite_is_fixed_even_and_never_twice_the_same():
    drawn = draw_heldout()
    assert drawn == draw_heldout()
    assert len({e.key for e in drawn} | KEYS) == len(drawn) + len(SUITE)
    cells = Counter((e.entry, e.difficulty) for e in drawn)
    assert set(cells.values()) == {DRAWN_WORLDS} and len(cells) == 31


def test_every_gate_admits_the_suite_at_the_difficulty_it_says(sandbox):
    drafts = [Draft(e.name, e.kind, f"```python\n{e.source}\n```", e.difficulty) for e in SUITE]
    for environment, admission in zip(SUITE, admit(drafts, sandbox, GateSettings(), ()), strict=True):
        assert admission.environment is not None, (environment.name, admission.checks[-1])
        found = admission.environment
        assert (found.difficulty, found.key, found.entry, found.turns, found.kind) == (
            environment.difficulty,
            environment.key,
            environment.entry,
            environment.turns,
            environment.kind,
        )


def test_every_gate_admits_the_grammar_at_the_difficulty_asked(sandbox):
    stream = random.Random(7)
    worlds = [
        draw_world(name, length, stream)
        for name, kind in KINDS.items()
        for length in range(kind.shortest, kind.longest + 1)
    ]
    drafts = [Draft(str(i), w.skill, f"```python\n{w.source}\n```", 0) for i, w in enumerate(worlds)]
    admissions = admit(drafts, sandbox, GateSettings(), KEYS)
    rejected = [(w.kind, a.checks[-1]) for w, a in zip(worlds, admissions, strict=True) if not a.environment]
    assert len(rejected) <= 0.03 * len(worlds), rejected
    for world, admission in zip(worlds, admissions, strict=True):
        assert admission.environment is None or admission.environment.difficulty == world.difficulty


def test_the_grammar_never_writes_a_world_of_the_suite():
    stream = random.Random(8)
    for name, kind in KINDS.items():
        for _ in range(20):
            world = draw_world(name, stream.randint(kind.shortest, kind.longest), stream)
            assert environment_key(world.source) not in KEYS
