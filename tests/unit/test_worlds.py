"""The grammar of short environments: its text is what it plays, and difficulty is what it says."""

from __future__ import annotations

import random

import pytest

from spadelab.environments.interactive.contract import MAX_TURNS, SKILLS, read_manifest
from spadelab.environments.syntax import parse_program
from spadelab.learning.worldstart import world_pieces
from spadelab.models.tiny.tokenizer import build_tokenizer
from spadelab.models.tiny.worlds import KINDS, draw_world, kinds_of, nearest_length

WORLDS = [
    draw_world(name, length, random.Random(f"{name} {length}"))
    for name, kind in KINDS.items()
    for length in range(kind.shortest, kind.longest + 1)
]


def run(source: str, entry: str):
    # Text from the grammar, not from a model.
    scope: dict = {}
    exec(source, scope)
    return scope[entry]()


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.kind}{world.difficulty}")
def test_a_world_obeys_the_contract_and_its_text_is_what_it_plays(world):
    manifest = read_manifest(parse_program(world.source))
    assert (manifest.class_name, manifest.skill) == (world.entry, world.skill)
    assert world.difficulty <= manifest.max_turns <= MAX_TURNS and manifest.has_hint
    for seed in range(5):
        game, environment = world.play(seed), run(world.source, world.entry)
        assert environment.reset(seed=seed) == (game.opening, {})
        assert environment.hint() == game.hint
        actions = environment.solution()
        assert len(actions) == len(game.turns) == world.difficulty
        for turn in game.turns:
            observation, reward, terminated, truncated, _ = environment.step(turn.action)
            assert (observation, reward) == (turn.observation, turn.reward) and not truncated
        assert terminated and reward == 1.0 and sum(turn.reward for turn in game.turns) == 1.0
        assert environment.step(actions[-1])[1] == 0.0


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.kind}{world.difficulty}")
def test_odd_actions_never_raise_nor_win_and_turns_run_out(world):
    odd = ["", "²", "٣", "9" * 4000, "\x00", "north", "{}", "-1", "None", "a b", "\n", "数"]
    for seed in range(3):
        environment = world.instance()
        environment.reset(seed=seed)
        steps = [
            environment.step(random.Random(seed).choice(odd)) for _ in range(world.constants["MAX_TURNS"])
        ]
        assert all(not step[2] and step[1] == 0.0 for step in steps)
        assert [step[3] for step in steps] == [False] * (len(steps) - 1) + [True]


def test_worlds_are_short_in_tokens():
    tokenizer = build_tokenizer(world_pieces(), 512)
    for world in WORLDS:
        assert len(tokenizer(world.source).input_ids) <= 120
        game = world.play(1)
        assert all(len(tokenizer(turn.observation).input_ids) <= 40 for turn in game.turns)
        assert tokenizer.decode(tokenizer(world.source).input_ids) == world.source


def test_every_skill_has_worlds_of_every_length():
    for skill in SKILLS:
        for length in range(1, 13):
            for kind in kinds_of(skill, length):
                assert abs(nearest_length(kind, length) - length) <= 1


def test_the_space_is_large():
    stream = random.Random(1)
    for name, kind in KINDS.items():
        texts = {draw_world(name, kind.longest, stream).source for _ in range(200)}
        assert len(texts) >= 150, name


def test_chance_rarely_wins():
    stream = random.Random(2)
    for world in WORLDS:
        if world.kind == "guess":  # one in a few dozen numbers, several guesses
            continue
        wins = 0
        for seed in range(60):
            moves = sorted({turn.action for other in range(4) for turn in world.play(900 + other).turns})
            environment = world.instance()
            environment.reset(seed=seed)
            steps = [environment.step(stream.choice(moves)) for _ in range(world.constants["MAX_TURNS"])]
            wins += any(step[2] for step in steps)
        assert wins <= 0.25 * 60, world.source
