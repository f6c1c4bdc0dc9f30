"""The grammar's own meaning of a statement must be Python's."""

import random

from spadelab.models.tiny.grammar import branch_steps, constant_steps, plain_steps, random_program
from spadelab.models.tiny.tasks import draw_environment, draw_program, is_reserved


def run(source: str, a: int, b: int) -> tuple[int, int]:
    # Text from the grammar, not from a model: the one kind of program that is run outside a jail.
    scope: dict = {}
    exec(source, scope)
    return scope["f"](a, b)


def test_every_statement_means_what_python_says():
    statements = [s for v in "ab" for c in range(10) for s in constant_steps(v, c)]
    statements += [s for v in "ab" for s in plain_steps(v)]
    statements += [s for v in "ab" for c in range(1, 9) for d in range(1, 10) for s in branch_steps(v, c, d)]
    for statement in statements:
        scope: dict = {}
        exec(f"def f(a, b):\n{statement.text}\n    return (a, b)", scope)
        for a in range(10):
            for b in range(10):
                assert scope["f"](a, b) == statement.apply(a, b), statement.text


def test_programs_mean_what_python_says():
    stream = random.Random(1)
    for _ in range(200):
        program = random_program(stream.randint(1, 12), stream)
        assert run(program.source, 3, 8) == program.output(3, 8)


def test_held_out_side_is_disjoint_above_the_atoms():
    stream = random.Random(2)
    for length in range(2, 8):
        for _ in range(50):
            assert not is_reserved(draw_program(length, stream, reserved=False))
            assert is_reserved(draw_program(length, stream, reserved=True))


def test_no_answer_can_be_guessed():
    stream = random.Random(3)
    answers = {draw_environment("deduction", 4, stream).outputs[0] for _ in range(2000)}
    assert len(answers) > 90  # of one hundred pairs of digits
