"""The executor truth table (vectors/executor_cases.json): every case as concrete programs and answers.

`sound_expected` is the truth. Each case is written out at least once, most of them in variants, and the
list of cases is compared with the file so that none is forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spadelab.environments.programs import GateSettings, admit, verify
from spadelab.environments.tasks import make_environment
from spadelab.records import Draft, Environment
from spadelab.sandbox import Limits, Sandbox

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "vectors" / "executor_cases.json").read_text())
}
LIMITS = Limits(wall_seconds=10.0, cpu_seconds=1.0)  # CPU time ends loops, whatever else the machine does
SETTINGS = GateSettings(limits=LIMITS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def write(body: str, head: str = "") -> str:
    return f"{head}def f(a):\n    " + body.replace("\n", "\n    ")


# (case, program, input, codes that are right; "" is admitted)
PROPOSALS: list[tuple[str, str, str, set[str]]] = [
    ("EX-01", "def f(a): return a", '"Hello"', {""}),
    ("EX-02", write("raise Exception('x')"), "1", {"exception"}),
    ("EX-02", write("raise Warning('x')"), "1", {"exception"}),
    ("EX-02", "class Odd(BaseException): pass\n" + write("raise Odd"), "1", {"exception"}),
    ("EX-03", write("raise ValueError('x')"), "1", {"exception"}),
    ("EX-03", "raise ValueError('at import')\n" + write("return a"), "1", {"exception"}),
    ("EX-04", write("raise StopIteration"), "1", {"exception"}),
    ("EX-04", write("raise KeyboardInterrupt"), "1", {"exception"}),
    ("EX-04", write("raise GeneratorExit"), "1", {"exception"}),
    ("EX-05", write("import sys\nsys.exit()"), "1", {"forbidden"}),
    ("EX-05", write("raise SystemExit"), "1", {"exit"}),
    ("EX-05", write("raise SystemExit(0)"), "1", {"exit"}),
    ("EX-05", write("exit()"), "1", {"forbidden"}),
    ("EX-07", write("import os\nos._exit(0)"), "1", {"forbidden"}),
    ("EX-07", write("random._os._exit(0)", "import random\n"), "1", {"exit"}),
    ("EX-07", write("random._os._exit(7)", "import random\n"), "1", {"exit"}),
    ("EX-08", write("import os\nreturn os.urandom(4)"), "1", {"forbidden"}),
    ("EX-08", write("return random._urandom(4)", "import random\n"), "1", {"non_deterministic"}),
    ("EX-09", write("return numpy.random.randint(0, 2)", "import numpy\n"), "1",
     {"non_deterministic", "not_literal"}),
    ("EX-09", write("return int(numpy.random.randint(0, 2))", "import numpy\n"), "1", {"non_deterministic"}),
    ("EX-09", write("return int(default_rng().integers(0, 2))", "from numpy.random import default_rng\n"),
     "1", {"non_deterministic"}),
    ("EX-09", write("return random.random()", "import random\n"), "1", {"non_deterministic"}),
    ("EX-09", write("return random.SystemRandom().randint(0, 9)", "import random\n"), "1",
     {"non_deterministic"}),
    ("EX-11", write("return hash(a)"), '"abc"', {"non_deterministic"}),
    ("EX-11", write("return id([])"), '"abc"', {"forbidden"}),
    ("EX-11", write("return str(object())"), '"abc"', {"non_deterministic"}),
    ("EX-12", write("return list(set(a))"), '"abcdefgh"', {"non_deterministic"}),
    ("EX-12", write("return {k: 1 for k in set(a)}"), '"abcdefgh"', {"non_deterministic"}),
    ("EX-12", write("return set(a)"), '"abcdefgh"', {""}),
    ("EX-12", write("return sorted(set(a))"), '"abcdefgh"', {""}),
    ("EX-13", write("return float('nan')"), "1", {"nan"}),
    ("EX-13", write("return [1, {'x': float('nan')}]"), "1", {"nan"}),
    ("EX-13", write("return float('inf') * a"), "1", {"nan"}),
    ("EX-14", write("return (x for x in [1])"), "1", {"not_literal"}),
    ("EX-14", write("yield a"), "1", {"not_literal"}),
    ("EX-14", write("return map(str, [a])"), "1", {"not_literal"}),
    ("EX-15", write("return lambda: 1"), "1", {"not_literal"}),
    ("EX-15", write("return [f]"), "1", {"not_literal"}),
    ("EX-15", "class A: pass\n" + write("return A()"), "1", {"not_literal"}),
    ("EX-15", "class S(str): pass\n" + write("return S('x')"), "1", {"not_literal"}),
    ("EX-15", "class I(int):\n    def __repr__(self): return '6'\n" + write("return [I(5)]"), "1",
     {"not_literal"}),
    ("EX-15", write("return 1j"), "1", {"not_literal"}),
    ("EX-15", write("return decimal.Decimal(1)", "import decimal\n"), "1", {"not_literal"}),
    ("EX-17", write("return None"), "1", {"none"}),
    ("EX-17", write("a += 1"), "1", {"none"}),
    ("EX-17", write("return (None, a)"), "1", {""}),
    ("EX-18", write("import time\nreturn time.time()"), "1", {"forbidden"}),
    ("EX-18", "import time\n" + write("return a"), "1", {"forbidden"}),
    ("EX-18", write("return datetime.datetime.now().isoformat()", "import datetime\n"), "1", {"forbidden"}),
    ("EX-19", write("import os\nreturn os.getcwd()"), "1", {"forbidden"}),
    ("EX-19", write("return random._os.listdir('/')", "import random\n"), "1", {"exception"}),
    ("EX-20", write("return __import__('subprocess').check_output(['echo','hi'])"), "1", {"forbidden"}),
    ("EX-20", write("b = [c for c in vars(type)['__subcl' + 'asses__'](object)]\nreturn b"), "1",
     {"forbidden"}),
    ("EX-20", write("return random._os.popen('echo hi').read()", "import random\n"), "1", {"exception"}),
    ("EX-20", write("return random._os.fork()", "import random\n"), "1", {"exception"}),
    ("EX-21", write("return open('/etc/hostname').read()"), "1", {"forbidden"}),
    ("EX-21", write("return random._os.open('/etc/passwd', 0)", "import random\n"), "1", {"exception"}),
    ("EX-21", write("return getattr(__builtins__, 'op' + 'en')('/etc/passwd').read()"), "1", {"forbidden"}),
    ("EX-22", write("with open('x', 'w') as file:\n    return file.write('x')"), "1", {"forbidden"}),
    ("EX-22", write("return random._os.open('x', 65)", "import random\n"), "1", {"exception"}),
    ("EX-23", write("while True: pass"), "1", {"timeout"}),
    ("EX-24", write("while True:\n    try:\n        while True: pass\n    except: pass"), "1", {"timeout"}),
    ("EX-24", write("while True:\n    try:\n        raise SystemExit\n    except BaseException: pass"), "1",
     {"timeout"}),
    ("EX-25", write("b = [0] * (2 * 10 ** 9 // 8)\nreturn len(b)"), "1", {"memory"}),
    ("EX-25", write("b = bytearray(2 * 10 ** 9)\nreturn len(b)"), "1", {"memory"}),
    ("EX-25", write("b = 'x'\nwhile True:\n    b += b"), "1", {"memory"}),
    ("EX-27", write("return list(range(a))"), "500", {"output_too_long"}),
    ("EX-27", write("return 'x' * a"), "10000000", {"output_too_long"}),
    ("EX-27", write("return list(range(a))"), "50", {""}),
    ("EX-28", "def process_input(x):\n    return x + 1\n" + write("return process_input(a)"), "1", {""}),
    ("EX-28", "class Box:\n    def __init__(self, x):\n        self.x = x\n" + write("return Box(a).x"), "1",
     {""}),
    ("EX-28", write("print('input(')\nreturn a"), "1", {""}),
    ("EX-42", write("return ''"), "1", {""}),
]  # fmt: skip

PLUS = ("def f(a):\n    return a + 1", "5", "6")
FIVE = ("def f(a):\n    return 5", "1", "6")
TRICK = "type('X',(),{'__eq__':lambda s,o:True})()"

# (case, kind, program and input and stored output, answer, reward)
ANSWERS: list[tuple[str, str, tuple[str, str, str], str, float]] = [
    ("EX-29", "abduction", PLUS, "9", 0.0),
    ("EX-29", "abduction", PLUS, "5", 1.0),
    ("EX-29", "abduction", PLUS, "5,", 1.0),
    ("EX-29", "abduction", PLUS, " 5 ", 1.0),
    ("EX-29", "abduction", ("def f(a):\n    return a * a", "3", "9"), "-3", 1.0),
    ("EX-29", "abduction", PLUS, "5.0", 0.0),
    ("EX-30", "abduction", PLUS, "1) or (True", 0.0),
    ("EX-30", "abduction", PLUS, "1)\n(True", 0.0),
    ("EX-30", "abduction", PLUS, "5) == 6 or f(5", 0.0),
    ("EX-30", "abduction", PLUS, "5)#", 0.0),
    ("EX-30", "abduction", PLUS, "*[5]", 0.0),
    ("EX-30", "abduction", PLUS, "a=5", 0.0),
    ("EX-30", "abduction", PLUS, "**{'a': 5}", 0.0),
    ("EX-30", "abduction", PLUS, "5, 6", 0.0),
    ("EX-30", "abduction", PLUS, "", 0.0),
    ("EX-30", "abduction", PLUS, "2 + 3", 0.0),
    ("EX-31", "abduction", FIVE, "print(True)", 0.0),
    ("EX-31", "abduction", FIVE, "1", 0.0),
    ("EX-31", "abduction", ("def f(a):\n    print('True')\n    return a", "1", "6"), "2", 0.0),
    ("EX-33", "deduction", PLUS, TRICK, 0.0),
    ("EX-33", "abduction", PLUS, TRICK, 0.0),
    ("EX-33", "deduction", PLUS, "6", 1.0),
    ("EX-33", "deduction", PLUS, "\n 6 \n", 1.0),
    ("EX-33", "deduction", PLUS, "'6'", 0.0),
    ("EX-33", "deduction", PLUS, "9" * 5000, 0.0),
    ("EX-33", "deduction", PLUS, "[" * 3000, 0.0),
    ("EX-34", "deduction", PLUS, "f(5)", 0.0),
    ("EX-34", "deduction", PLUS, "5 + 1", 0.0),
    ("EX-35", "deduction", PLUS, "[__import__('builtins').__dict__.update(pwned=1), 6][1]", 0.0),
    ("EX-35", "deduction", PLUS, "(x := 6)", 0.0),
    ("EX-36", "deduction", ("def f(a):\n    return True", "1", "True"), "1", 0.0),
    ("EX-36", "deduction", ("def f(a):\n    return 1", "1", "1"), "True", 0.0),
    ("EX-36", "deduction", ("def f(a):\n    return 1", "1", "1"), "1.0", 0.0),
    ("EX-36", "deduction", ("def f(a):\n    return [1, (2,)]", "1", "[1, (2,)]"), "[True, (2,)]", 0.0),
    ("EX-36", "deduction", ("def f(a):\n    return [1, (2,)]", "1", "[1, (2,)]"), "[1, [2]]", 0.0),
    ("EX-37", "deduction", ("def f(a):\n    return 0.1 + 0.2", "1", "0.30000000000000004"), "0.3", 1.0),
    ("EX-37", "deduction", ("def f(a):\n    return 0.1 + 0.2", "1", "0.30000000000000004"), "0.3001", 0.0),
    ("EX-37", "abduction", ("def f(a):\n    return a + 0.2", "0.1", "0.3"), "0.1", 1.0),
    ("EX-38", "deduction", ("def f(a):\n    return 0", "1", "nan"), "nan", 0.0),
    ("EX-38", "deduction", ("def f(a):\n    return 0", "1", "0.0"), "nan", 0.0),
    ("EX-42", "deduction", ("def f(a):\n    return 0", "1", ""), "''", 0.0),
    ("EX-42", "abduction", ("def f(a):\n    return ''", "1", ""), "1", 0.0),
    ("EX-42", "deduction", ("def f(a):\n    return ''", "1", "''"), "''", 1.0),
]

EQUAL_OBJECT = "class X:\n    def __eq__(self, other): return True\n    __hash__ = None\n"

# (case, the answer program, reward); hidden pairs: 3 -> 4 and 4 -> 5
INDUCTIONS: list[tuple[str, str, float]] = [
    ("EX-39", EQUAL_OBJECT + "def f(a): return X()", 0.0),
    ("EX-39", "class I(int):\n    def __eq__(self, o): return True\ndef f(a): return I(0)", 0.0),
    ("EX-39", "class S(str):\n    def __eq__(self, o): return True\n    __hash__ = str.__hash__\n"
     "def f(a): return S('4')", 0.0),
    ("EX-39", "class M(type):\n    __eq__ = lambda s, o: True\n    __hash__ = None\n"
     "class X(metaclass=M): pass\ndef f(a): return X", 0.0),
    ("EX-39", EQUAL_OBJECT + "def f(a): return [X()]", 0.0),
    ("EX-39", "def f(a): return a + 1", 1.0),
    ("EX-39", "```python\ndef g(x):\n    return x + 1\n```", 1.0),
    ("EX-39", "def f(a): return a + 1 if a < 4 else 0", 0.0),
    ("EX-39", "def f(a): return str(a + 1)", 0.0),
    ("EX-39", "def f(a):\n    print(a + 1)", 0.0),
    ("EX-39", "import builtins\nbuiltins.len = lambda x: 6\ndef f(a): return a + 1", 0.0),
    ("EX-41", "import subprocess\ndef f(a): return a + 1", 0.0),
    ("EX-41", "def f(a):\n    import os\n    return a + 1", 0.0),
    ("EX-41", "import random\ndef f(a):\n    return a + 1 if random._os.system('true') == 0 else 0", 0.0),
    ("EX-41", "import random\ndef f(a):\n    return a + 1 if random._os.system('true') != 0 else 0", 1.0),
    ("EX-41", "def f(a):\n    raise SystemExit(0)", 0.0),
    ("EX-41", "import random\ndef f(a): random._os._exit(0)", 0.0),
]  # fmt: skip


def test_no_case_is_forgotten() -> None:
    written = {row[0] for rows in (PROPOSALS, ANSWERS, INDUCTIONS) for row in rows}
    assert written == set(CASES)


@pytest.fixture(scope="module")
def proposed(sandbox: Sandbox) -> list[str]:
    """All proposals in one batch: what one program does must not reach the next."""
    drafts = [
        Draft(str(n), "deduction", f"```python\n{program}\n```\n```input\n{given}\n```", 1.0)
        for n, (_, program, given, _) in enumerate(PROPOSALS)
    ]
    return [admission.rejection for admission in admit(drafts, sandbox, SETTINGS, known=())]


@pytest.mark.parametrize(
    "number", range(len(PROPOSALS)), ids=[f"{c}-{n}" for n, (c, *_) in enumerate(PROPOSALS)]
)
def test_proposals(number: int, proposed: list[str]) -> None:
    case, program, _, codes = PROPOSALS[number]
    assert proposed[number] in codes, program
    expected = CASES[case]["sound_expected"]
    if expected.startswith("valid") and not expected.startswith("valid with") and len(codes) == 1:
        assert codes == {""}, "the table says valid"


def task(kind: str, program: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Environment:
    return make_environment(kind, program, inputs, outputs, (), "", program, 0)


@pytest.mark.parametrize(("case", "kind", "parts", "answer", "reward"), ANSWERS)
def test_answers(
    case: str, kind: str, parts: tuple[str, str, str], answer: str, reward: float, sandbox: Sandbox
) -> None:
    program, given, output = parts
    environment = task(kind, program, (given,), (output,))
    (score,) = verify([(environment, f"<answer>{answer}</answer>")], sandbox, LIMITS)
    assert (score.reward, score.outcome == "correct") == (reward, reward == 1.0)
    assert score.fault is (score.outcome == "bad_task")
    import builtins

    assert not hasattr(builtins, "pwned"), "the answer ran in this process"


@pytest.mark.parametrize(("case", "program", "reward"), INDUCTIONS)
def test_inductions(case: str, program: str, reward: float, sandbox: Sandbox) -> None:
    environment = task("induction", "def f(a): return a + 1", ("1", "2", "3", "4"), ("2", "3", "4", "5"))
    (score,) = verify([(environment, f"<answer>\n{program}\n</answer>")], sandbox, LIMITS)
    assert (score.reward, score.fault) == (reward, False)


def test_a_stored_task_without_output_is_a_fault_and_not_a_zero(sandbox: Sandbox) -> None:
    environment = task("deduction", PLUS[0], ("5",), ("",))
    (score,) = verify([(environment, "<answer>''</answer>")], sandbox, LIMITS)
    assert score.fault and score.outcome == "bad_task"


def test_an_exit_is_seen_at_once_and_not_at_the_time_limit(sandbox: Sandbox) -> None:
    program = write("random._os._exit(0)", "import random\n")
    draft = Draft("x", "deduction", f"```python\n{program}\n```\n```input\n1\n```", 1.0)
    start = time.perf_counter()
    (admission,) = admit([draft], sandbox, GateSettings(limits=Limits(wall_seconds=20.0)), known=())
    assert admission.rejection == "exit"
    assert time.perf_counter() - start < 10.0
