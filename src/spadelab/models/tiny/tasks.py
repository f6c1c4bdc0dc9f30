"""Synthetic environments from the grammar: warm-start data and the held-out benchmark."""

from __future__ import annotations

import hashlib
import random

from spadelab.environments.tasks import make_environment
from spadelab.models.tiny.grammar import Program, State, random_inputs, random_program
from spadelab.records import Environment

INDUCTION_PAIRS = 8
# One program in this many is kept away from every warm start, for held-out tasks. Single statements are
# never kept away: they are the atoms, and a model that has not seen an atom cannot compose it.
RESERVED_SHARE = 16


def is_reserved(program: Program) -> bool:
    """Whether a program belongs to the held-out side, decided by its text alone."""
    if len(program.statements) < 2:
        return False
    return hashlib.sha256(program.source.encode()).digest()[0] % RESERVED_SHARE == 0


def draw_program(length: int, stream: random.Random, reserved: bool) -> Program:
    """A random program of `length` statements from the held-out side or from the other one."""
    while True:
        program = random_program(length, stream)
        if length < 2 or is_reserved(program) == reserved:
            return program


def synthetic_environment(kind: str, program: Program, inputs: list[State], key: str = "") -> Environment:
    """The environment of a grammar program; `inputs` beyond the first matter to induction only."""
    if kind != "induction":
        inputs = inputs[:1]
    states = program.states(*inputs[0])
    trace = tuple(
        (statement.text, f"a={a}, b={b}")
        for statement, (a, b) in zip(program.statements, states[1:], strict=True)
    )
    return make_environment(
        kind,
        program.source,
        tuple(f"{a}, {b}" for a, b in inputs),
        tuple("({}, {})".format(*program.output(a, b)) for a, b in inputs),
        trace,
        program.message,
        key,
        0,
    )


def draw_environment(kind: str, length: int, stream: random.Random, reserved: bool = False) -> Environment:
    """A random environment of `length` statements."""
    program = draw_program(length, stream, reserved)
    return synthetic_environment(kind, program, random_inputs(INDUCTION_PAIRS, stream))
