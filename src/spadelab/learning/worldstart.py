"""Conversations that start the bundled models of interactive self-play: worlds written and worlds played.

The proposer writes worlds of up to LONGEST turns, the solver plays short ones: writing is easier than
solving, and that gap is what self-play closes.
"""

from __future__ import annotations

import random

from spadelab.environments.interactive.contract import SKILLS
from spadelab.models.local import Message
from spadelab.models.tiny.worlds import KINDS, LONGEST, draw_world, kinds_of, nearest_length, pieces
from spadelab.roles.briefing import InteractiveRequest, demonstrate, interactive_prompt
from spadelab.roles.composition import fixed_pieces

STYLE = "compact"
PROMPTS = "compact_interactive"
# Most turns of the worlds that the solver is started on; a kind that has no shorter ones starts at its
# shortest.
SOLVER_LENGTH = 3
HINTED_SHARE = 0.2
EXAMPLE_SHARE = 0.8
SOLVER_SHARE = 0.7
SEEDS = 2**31


def world_pieces() -> list[str]:
    """What the tokenizer of these models keeps whole."""
    return [*fixed_pieces(PROMPTS), "```python\n", "```", "\n\nHint: ", *pieces(), *SKILLS]


def world_solver_conversation(stream: random.Random) -> list[Message]:
    """A short world played by its own solution, sometimes with its hint."""
    kind = stream.choice(list(KINDS))
    length = nearest_length(kind, stream.randint(1, SOLVER_LENGTH))
    game = draw_world(kind, length, stream).play(stream.randrange(SEEDS))
    return demonstrate(game, "text", STYLE, hinted=stream.random() < HINTED_SHARE)


def world_proposer_conversation(stream: random.Random) -> list[Message]:
    """A request for a world and a world that fulfils it; the example shown is another world, or none."""
    request = draw_request(stream)
    kind = stream.choice(kinds_of(request.kind, request.difficulty))
    world = draw_world(kind, nearest_length(kind, request.difficulty), stream)
    return [
        {"role": "user", "content": interactive_prompt(request, STYLE)},
        {"role": "assistant", "content": f"```python\n{world.source}\n```"},
    ]


def draw_request(stream: random.Random, skill: str = "", difficulty: int = 0) -> InteractiveRequest:
    """A request, of random skill and difficulty where none is given; its example has the same skill."""
    skill = skill or stream.choice(SKILLS)
    difficulty = difficulty or stream.randint(1, LONGEST)
    example = ""
    if stream.random() < EXAMPLE_SHARE:
        length = stream.randint(1, LONGEST)
        kind = stream.choice(kinds_of(skill, length))
        example = draw_world(kind, nearest_length(kind, length), stream).source
    return InteractiveRequest(skill, difficulty, example=example)


def world_shared_conversation(stream: random.Random) -> list[Message]:
    """A conversation of either role."""
    solver = stream.random() < SOLVER_SHARE
    return world_solver_conversation(stream) if solver else world_proposer_conversation(stream)
