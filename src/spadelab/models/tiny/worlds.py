"""Short environments from a grammar: what the bundled models of interactive self-play are started on.

A world is a kind (registers, dials, grid, coins, guess, series, suspects) with constants drawn at random.
Its text obeys the environment contract; its difficulty, the number of turns that its own solution
takes, is exact by construction.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

from spadelab.models.tiny.engine import Engine
from spadelab.models.tiny.machines import Coins, Dials, Grid, Registers
from spadelab.models.tiny.riddles import Guess, Series, Suspects
from spadelab.records import Demonstration, Turn

Constants = dict[str, object]
LONGEST = 12
"""Most turns of a solution in the grammar."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of world: its skill, wordings of its summary, difficulties, and how its constants are drawn."""

    engine: type[Engine]
    skill: str
    summaries: tuple[str, ...]
    shortest: int
    longest: int
    draw: Callable[[int, random.Random], Constants]


@dataclass(frozen=True, slots=True)
class World:
    """A kind with its constants; `source` is a module that obeys the contract."""

    kind: str
    constants: Mapping[str, object]

    @property
    def source(self) -> str:
        """The module's text, without a trailing newline."""
        engine = KINDS[self.kind].engine
        lines = [f"    {name} = {_literal(value)}\n" for name, value in self.constants.items()]
        return "".join(
            [f"import random\nclass {engine.__name__}Env:\n", *lines, *methods(self.kind)]
        ).rstrip()

    @property
    def entry(self) -> str:
        """The name of the class."""
        return KINDS[self.kind].engine.__name__ + "Env"

    @property
    def skill(self) -> str:
        """The skill's slug."""
        return KINDS[self.kind].skill

    @property
    def difficulty(self) -> int:
        """Turns that the world's own solution takes, the same on every seed."""
        length = self.constants["LENGTH"]
        assert isinstance(length, int)
        return length

    def instance(self) -> Engine:
        """A new object of the class that `source` describes."""
        base = KINDS[self.kind].engine
        engine: Engine = type(base.__name__, (base,), dict(self.constants))()
        return engine

    def play(self, seed: int) -> Demonstration:
        """What the world's own solution does and sees on a seed."""
        engine = self.instance()
        opening, _ = engine.reset(seed=seed)
        hint = engine.hint()
        turns = tuple(Turn(action, *engine.step(action)[:2]) for action in engine.solution())
        return Demonstration(seed, opening, turns, hint)


@cache
def methods(kind: str) -> tuple[str, ...]:
    """The text of a kind's methods, the inherited ones included, without blank lines."""
    functions = {**vars(Engine), **vars(KINDS[kind].engine)}
    return tuple(inspect.getsource(f) for f in functions.values() if inspect.isfunction(f))


def draw_world(kind: str, length: int, stream: random.Random) -> World:
    """A random world of a kind whose solution takes `length` turns.

    Raises ValueError when the kind has no such length.
    """
    chosen = KINDS[kind]
    if not chosen.shortest <= length <= chosen.longest:
        raise ValueError(f"{kind} has lengths {chosen.shortest} to {chosen.longest}, not {length}")
    slack = stream.randint(1, 2) if length > 3 else length - 2
    return World(
        kind,
        {
            "NAME": kind,
            "SUMMARY": stream.choice(chosen.summaries),
            "SKILL": chosen.skill,
            "MAX_TURNS": length + max(0, slack),
            "ACTION_FORMAT": "text",
            "LENGTH": length,
            **chosen.draw(length, stream),
        },
    )


def kinds_of(skill: str, length: int) -> list[str]:
    """The kinds of a skill that have worlds of `length` turns, or come nearest to it."""
    gaps = {
        name: abs(nearest_length(name, length) - length)
        for name, kind in KINDS.items()
        if kind.skill == skill
    }
    return [name for name, gap in gaps.items() if gap == min(gaps.values())]


def nearest_length(kind: str, length: int) -> int:
    """The length nearest to `length` that a kind has."""
    return max(KINDS[kind].shortest, min(KINDS[kind].longest, length))


def pieces() -> list[str]:
    """The fixed text of all worlds for the tokenizer: whole lines of code, and the words around constants."""
    stream = random.Random(0)
    found = ["import random\n", " | ", " goal ", " open ", "no ", "\n", '"\n', "    "]
    for name, kind in KINDS.items():
        found.append(f"class {kind.engine.__name__}Env:\n")
        lines = [line for text in methods(name) for line in text.splitlines()]
        found += [*(line + "\n" for line in lines), lines[-1]]
        for _ in range(40):
            world = draw_world(name, max(4, kind.shortest), stream)
            for constant, value in world.constants.items():
                texts = constant in ("NAME", "SUMMARY", "SKILL", "ACTION_FORMAT", "SHOW", "SIGN")
                found.append(f"    {constant} = {_literal(value)}\n" if texts else f"    {constant} = ")
            demonstration = world.play(0)
            found += [demonstration.hint] if name != "registers" else []
    found += [" left", " rises", " falls", " stays", " also ", " not ", " to "]
    found += ["mod ", "who", "still ", "left ", "coins ", "guess", "next", "x+", "x-", "y+", "y-", "z+", "z-"]
    return list(dict.fromkeys(found))


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _draw_registers(length: int, stream: random.Random) -> Constants:
    names = "xyz"[: stream.choice((1, 2, 2, 2, 2, 3))]
    sides = [name + sign for name in names for sign in "+-"]
    sides += [stream.choice(sides) for _ in range({1: 3, 2: stream.choice((0, 0, 1)), 3: 0}[len(names)])]
    ops: list[str] = []
    for side in sides:
        ops.append(stream.choice([op for op in (f"{side}{d}" for d in range(1, 10)) if op not in ops]))
    stream.shuffle(ops)
    sign = stream.choice((" to ", " -> "))
    return {"RULES": " ".join(ops), "START": stream.choice((9, 9, 20)), "SIGN": sign}


def _draw_dials(length: int, stream: random.Random) -> Constants:
    modulus = stream.choice((2, 3, 4))
    least = max(4, length // (modulus - 1) + 1)
    spread = stream.choice(((1,), (1,), (2,), (1, 2), (1, 3), (3,)))
    size = stream.randint(least, max(least, 9))
    start = stream.randint(0, 26 - size)
    return {"KEYS": ascii_lowercase[start : start + size], "MODULUS": modulus, "SPREAD": spread}


def _draw_grid(length: int, stream: random.Random) -> Constants:
    letters = stream.choice(("udlr", "nsew", "wsda", "kjlh"))
    slanted = (((1, 1), (1, -1)), ((0, 1), (1, 1)), ((1, 2), (1, 0)), ((2, 1), (1, 2)))
    straight = ((0, stream.choice((1, 1, 2, 3))), (stream.choice((1, 1, 2, 3)), 0))
    first, second = straight if stream.random() < 0.9 else stream.choice(slanted)
    vectors = [first, (-first[0], -first[1]), second, (-second[0], -second[1])]
    moves = " ".join(f"{a} {x} {y}" for a, (x, y) in zip(letters, vectors, strict=True))
    return {"MOVES": moves, "WALLS": stream.choice((30, 40, 50, 60))}


def _draw_coins(length: int, stream: random.Random) -> Constants:
    coins, bag, least = [stream.choice((1, 1, 1, 2))], 3, stream.randint(4, 5)
    while len(coins) < least or bag < length + 1:
        ratio = stream.choice((2, 2, 3, 3, 4, 5))
        coins.append(coins[-1] * ratio)
        bag += ratio - 1
    show = stream.choice(("left {left}", "{left} left", "still {left}"))
    return {"COINS": tuple(coins), "SHOW": show}


def _draw_guess(length: int, stream: random.Random) -> Constants:
    return {"TOP": stream.randint(2**length - 1, 2 ** (length + 1) - 2)}


def _draw_series(length: int, stream: random.Random) -> Constants:
    modulus = stream.randint(6, 10)
    return {"PERIOD": stream.randint(2, 5), "SHIFT": stream.choice((0, 0, 1, 2, 3, 4)), "MODULUS": modulus}


def _draw_suspects(length: int, stream: random.Random) -> Constants:
    return {"NAMES": "".join(sorted(stream.sample("abcdefghijkl", stream.randint(4, 8))))}


KINDS: dict[str, Kind] = {
    "registers": Kind(
        Registers,
        "mathematical_reasoning",
        ("Bring the registers to their goals.", "Add letter by letter.", "Reach the numbers."),
        2,
        LONGEST,
        _draw_registers,
    ),
    "dials": Kind(
        Dials,
        "causal_inference",
        ("Turn the dials to the goal.", "One dial moves others.", "Undo what the dials did."),
        2,
        LONGEST,
        _draw_dials,
    ),
    "grid": Kind(
        Grid,
        "spatial_reasoning",
        ("Walk to the goal.", "Find a way between walls.", "Cross the grid."),
        2,
        LONGEST,
        _draw_grid,
    ),
    "coins": Kind(
        Coins,
        "optimization",
        ("Pay with few coins.", "Pay exactly.", "Use the fewest coins."),
        2,
        LONGEST,
        _draw_coins,
    ),
    "guess": Kind(
        Guess,
        "logical_deduction",
        ("Find the hidden number.", "Close in on the number.", "Guess in few turns."),
        5,
        7,
        _draw_guess,
    ),
    "series": Kind(
        Series,
        "pattern_recognition",
        ("Continue the series.", "Say the next digit.", "Find the pattern."),
        2,
        LONGEST,
        _draw_series,
    ),
    "suspects": Kind(
        Suspects,
        "logical_deduction",
        ("Find who is left.", "Clear the suspects.", "Who was it?"),
        2,
        LONGEST,
        _draw_suspects,
    ),
}
