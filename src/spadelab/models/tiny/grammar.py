"""The synthetic programs that the bundled models are warm-started on.

A small, real subset of Python: straight-line functions over two decimal digits with modular
arithmetic, swaps, minima and one-line conditionals. The result is a pair of digits, so that a
guess is right once in a hundred. Every statement carries its own meaning as a plain function:
nothing here executes program text.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

State = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a program: its source, the word a message uses for it, its effect on (a, b)."""

    text: str
    word: str
    apply: Callable[[int, int], State]


@dataclass(frozen=True, slots=True)
class Program:
    """A function `f(a, b)` of straight-line statements that returns `(a, b)`."""

    statements: tuple[Statement, ...]

    @property
    def source(self) -> str:
        """The program as Python text, without a trailing newline."""
        body = "\n".join(statement.text for statement in self.statements)
        return f"def f(a, b):\n{body}\n    return (a, b)"

    @property
    def message(self) -> str:
        """What an induction task may say of the program: the kinds of its steps in order."""
        return ", ".join(statement.word for statement in self.statements)

    def states(self, a: int, b: int) -> list[State]:
        """The state before the first statement and after each one."""
        states = [(a, b)]
        for statement in self.statements:
            states.append(statement.apply(*states[-1]))
        return states

    def output(self, a: int, b: int) -> State:
        """The pair that `f(a, b)` returns."""
        return self.states(a, b)[-1]


def _pick(first: bool, a: int, b: int) -> tuple[int, int]:
    return (a, b) if first else (b, a)


def _on(first: bool, change: Callable[[int, int], int]) -> Callable[[int, int], State]:
    """Lift `change(own, other) -> own` to the state, for variable a (first) or b."""

    def apply(a: int, b: int) -> State:
        own, other = _pick(first, a, b)
        return _pick(first, change(own, other) % 10, other)

    return apply


def constant_steps(v: str, c: int) -> list[Statement]:
    """Steps on variable `v` with one constant digit `c`."""
    first = v == "a"
    return [
        Statement(f"    {v} = ({v} + {c}) % 10", f"{v} plus", _on(first, lambda x, _: x + c)),
        Statement(f"    {v} = ({v} - {c}) % 10", f"{v} minus", _on(first, lambda x, _: x - c)),
        Statement(f"    {v} = ({v} * {c}) % 10", f"{v} times", _on(first, lambda x, _: x * c)),
    ]


def plain_steps(v: str) -> list[Statement]:
    """Steps on variable `v` without a constant."""
    o, first = ("b", True) if v == "a" else ("a", False)
    return [
        Statement(f"    {v} = ({v} + {o}) % 10", f"{v} plus {o}", _on(first, lambda x, y: x + y)),
        Statement(f"    {v} = ({v} - {o}) % 10", f"{v} minus {o}", _on(first, lambda x, y: x - y)),
        Statement(f"    {v} = 9 - {v}", f"{v} flip", _on(first, lambda x, _: 9 - x)),
        Statement(f"    {v} = max({v}, {o})", f"{v} max", _on(first, max)),
        Statement("    a, b = b, a", "swap", lambda a, b: (b, a)),
    ]


def branch_steps(v: str, c: int, d: int) -> list[Statement]:
    """One-line conditionals: variable `v` against digit `c`, then a step of size `d`."""
    o, first = ("b", True) if v == "a" else ("a", False)
    return [
        Statement(
            f"    if {v} > {c}: {v} = ({v} + {d}) % 10",
            f"if {v} plus",
            _on(first, lambda x, _: x + d if x > c else x),
        ),
        Statement(
            f"    if {o} > {c}: {v} = ({v} + {d}) % 10",
            f"if {o} {v} plus",
            _on(first, lambda x, y: x + d if y > c else x),
        ),
    ]


def random_statement(stream: random.Random) -> Statement:
    """Draw one statement: 60 % with a constant, 25 % without, 15 % conditional."""
    v = stream.choice("ab")
    kind = stream.random()
    if kind < 0.6:
        plus, minus, _ = constant_steps(v, stream.randint(1, 9))
        if stream.random() < 0.25:
            return constant_steps(v, stream.choice((3, 7, 9)))[2]
        return stream.choice((plus, minus))
    if kind < 0.85:
        return stream.choice(plain_steps(v))
    return stream.choice(branch_steps(v, stream.randint(1, 8), stream.randint(1, 9)))


def random_program(length: int, stream: random.Random) -> Program:
    """Draw a program of `length` different statements.

    Different, because a trace is written by looking up the statement after the one just echoed, and a
    statement that stands twice makes that ambiguous.
    """
    statements: dict[str, Statement] = {}
    while len(statements) < length:
        statement = random_statement(stream)
        statements.setdefault(statement.text, statement)
    return Program(tuple(statements.values()))


def random_inputs(count: int, stream: random.Random) -> list[State]:
    """`count` distinct pairs of digits."""
    return [divmod(code, 10) for code in stream.sample(range(100), count)]


def vocabulary() -> list[str]:
    """The pieces of code that the tokenizer keeps whole, in a fixed order."""
    pieces: list[str] = []
    for v in "ab":
        for statement in constant_steps(v, 0):
            pieces.append(statement.text.split("0")[0])
        pieces += [statement.text for statement in plain_steps(v)]
        pieces += [statement.text.split("0")[0] for statement in branch_steps(v, 0, 0)]
        pieces += [f": {v} = ({v} + ", f"    if {v} > "]
        words = [s.word for s in constant_steps(v, 0) + plain_steps(v) + branch_steps(v, 0, 0)]
        pieces += words
    pieces += [") % 10\n", ") % 10 # a=", ") % 10", " # a=", ", b=", "def f(a, b):\n", "    return (a, b)"]
    return list(dict.fromkeys(piece for piece in pieces if piece))
