"""Program tasks from draft to score, by real execution: gates, formats, gold, verification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spadelab.environments.programs import (
    KINDS,
    GateSettings,
    ProgramError,
    admit,
    difficulty,
    gold,
    propose_text,
    slots,
    verify,
)
from spadelab.records import Admission, Draft, Environment
from spadelab.sandbox import Limits, Sandbox
from spadelab.sandbox.literals import render

LIMITS = Limits(wall_seconds=10.0, cpu_seconds=1.0)  # CPU time ends loops, whatever else the machine does
SETTINGS = GateSettings(limits=LIMITS)

TINY = """def f(a, b):
    a = (a + 3) % 10
    if a > 4: b = (b + 1) % 10
    a, b = b, a
    return (a, b)"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def write(program: str, *inputs: str, message: str = "") -> str:
    blocks = [f"```python\n{program}\n```", *(f"```input\n{text}\n```" for text in inputs)]
    return "\n".join([*blocks, f"```message\n{message}\n```"] if message else blocks)


def judge(sandbox: Sandbox, kind: str, text: str, gates: GateSettings = SETTINGS) -> Admission:
    (admission,) = admit([Draft("d", kind, text, 1.0)], sandbox, gates, known=())
    return admission


def make(sandbox: Sandbox, kind: str, program: str, *inputs: str, message: str = "") -> Environment:
    admission = judge(sandbox, kind, write(program, *inputs, message=message))
    assert admission.environment is not None, admission.checks[-1]
    return admission.environment


# --- traces, gold completions, slots ------------------------------------------------------------


def test_deduction_gold_is_the_trace_and_the_output(sandbox: Sandbox) -> None:
    environment = make(sandbox, "deduction", TINY, "3, 7")
    assert gold(environment) == (
        "    a = (a + 3) % 10 # a=6, b=7\n"
        "    if a > 4: b = (b + 1) % 10 # a=6, b=8\n"
        "    a, b = b, a # a=8, b=6\n"
        "<answer>(8, 6)</answer>"
    )
    assert environment.difficulty == len(environment.trace) == 3


def test_abduction_gold_is_the_trace_from_its_end(sandbox: Sandbox) -> None:
    environment = make(sandbox, "abduction", TINY, "3, 7")
    assert gold(environment) == (
        "# a=8, b=6\n"
        "    a, b = b, a # a=6, b=8\n"
        "    if a > 4: b = (b + 1) % 10 # a=6, b=7\n"
        "    a = (a + 3) % 10 # a=3, b=7\n"
        "<answer>3, 7</answer>"
    )


def test_statements_over_several_lines_and_loops(sandbox: Sandbox) -> None:
    program = (
        "def f(n, k=[1, 2], *rest, z=0, **more):\n    s = 0\n    for i in range(n):\n"
        "        if i > 0:\n            s += i\n    return s"
    )
    environment = make(sandbox, "deduction", program, "2")
    assert [line.strip() for line, _ in environment.trace] == [
        "s = 0", "for i in range(n):", "if i > 0:", "for i in range(n):", "if i > 0:", "s += i",
        "for i in range(n):",
    ]  # fmt: skip
    assert environment.trace[0][1] == "n=2, k=[1, 2], z=0, rest=(), more={}, s=0"
    assert environment.trace[-1][1] == "n=2, k=[1, 2], z=0, rest=(), more={}, s=1, i=1"
    backwards = gold(replace(environment, kind="abduction")).split("\n")
    assert backwards[-2:] == ["    s = 0 # n=2, k=[1, 2], z=0, rest=(), more={}", "<answer>2</answer>"]


def test_gold_without_a_trace_or_with_a_long_one_is_the_answer_alone(sandbox: Sandbox) -> None:
    environment = make(sandbox, "deduction", "def f(a): return a", "'x'")
    assert environment.difficulty == 0
    assert gold(environment) == "<answer>'x'</answer>"
    long = replace(environment, trace=(("    a = 1", "a=1"),) * 401)
    assert gold(long) == "<answer>'x'</answer>"
    assert len(gold(replace(long, trace=long.trace[:400])).split("\n")) == 401


def test_slots_show_what_the_kind_may_see_and_nothing_else(sandbox: Sandbox) -> None:
    assert slots(make(sandbox, "deduction", TINY, "3, 7")) == {"program": TINY, "input": "3, 7"}
    assert slots(make(sandbox, "abduction", TINY, "3, 7")) == {"program": TINY, "output": "(8, 6)"}
    induction = make(
        sandbox, "induction", TINY, "3, 7", "1,1", "0, 5\n4, 4", "9, 9", message="Add, then swap."
    )
    assert slots(induction) == {"pairs": "3, 7 -> (8, 6)\n1, 1 -> (1, 4)", "message": "Add, then swap."}
    assert len(induction.inputs) == 5 and induction.visible == 2
    assert gold(induction) == f"<answer>\n{TINY}\n</answer>"


@pytest.mark.parametrize("kind", KINDS)
def test_the_proposers_text_reads_back_as_the_same_task(kind: str, sandbox: Sandbox) -> None:
    inputs = ("3, 7", "4, 4") if kind == "induction" else ("3, 7",)
    environment = make(sandbox, kind, TINY, *inputs, message="Swap them.\nTwice?")
    again = judge(sandbox, kind, propose_text(environment)).environment
    assert again == environment


def test_the_entry_may_have_another_name_with_helpers_and_classes(sandbox: Sandbox) -> None:
    program = (
        "import math\nclass Box:\n    def __init__(self, x): self.x = x\n"
        "def double(x):\n    y = 2 * x\n    return y\n"
        "def solve(a):\n    b = double(a)\n    return math.gcd(Box(b).x, 12)"
    )
    environment = make(sandbox, "deduction", program, "9")
    assert environment.outputs == ("6",)
    (score,) = verify([(replace(environment, kind="abduction"), "<answer>3</answer>")], sandbox, LIMITS)
    assert score.outcome == "correct"


def test_difficulty_counts_executed_statements(sandbox: Sandbox) -> None:
    assert difficulty(TINY, "3, 7", sandbox) == 3
    assert difficulty("def f(n):\n    for i in range(n): pass\n    return n", "5", sandbox) >= 5
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        difficulty("def f(n):\n    return 1 / n", "0", sandbox)


# --- gates --------------------------------------------------------------------------------------

TALL = "def f(a):\n    return a\n" + "# x\n" * 2000
LOOP = "def f(a):\n    for i in range({0}): a += 1\n    return a"
LOOP_BELOW = "def f(a):\n    for i in range({0}):\n        a += 1\n    return a"
COUNTER = "n = []\ndef f(a):\n    n.append(a)\n    return len(n)"
CHINESE = "def f(a):\n    '中文'\n    变 = a[::-1]\n    return 变"
GATES: list[tuple[str, str, str]] = [
    ("deduction", "no program here", "no_program"),
    ("deduction", "<think>```python\ndef f(a): return a\n```\n```input\n1\n```", "no_program"),
    ("deduction", "```python\ndef f(a): return a\n", "no_program"),
    ("deduction", write("def f(a): return a"), "no_input"),
    ("deduction", write("def f(a): return a", " "), "no_input"),
    ("deduction", write("def f(a): return a", "1", "2"), "several_inputs"),
    ("abduction", write("def f(a): return a", "1\n2"), "several_inputs"),
    ("deduction", write("def f(a): return a", "x"), "bad_arguments"),
    ("deduction", write("def f(a): return a", "a=1"), "bad_arguments"),
    ("deduction", write("def f(*a): return a", "*[1]"), "bad_arguments"),
    ("deduction", write("def f(a): return a", "1) or (2"), "bad_arguments"),
    ("deduction", write("def f(a): return a", "open('x')"), "bad_arguments"),
    ("deduction", write("def f(a): return a", "# nothing"), "bad_arguments"),
    ("deduction", write(TALL, "1"), "too_long"),
    ("deduction", write("def f(a): return 1", repr("x" * 500)), "too_long"),
    ("deduction", write("def f(a): return 1", repr("x" * 50000)), "too_long"),
    ("deduction", write("def f(a) return a", "1"), "syntax"),
    ("deduction", write("def f(a): return 'x\x0c'", "1"), "syntax"),
    ("deduction", write("a = 1", "1"), "no_function"),
    ("deduction", write("f = lambda a: a", "1"), "no_function"),
    ("deduction", write("import socket\ndef f(a): return a", "1"), "forbidden"),
    ("deduction", write("def f(a): return '</answer>'", "1"), "forbidden"),
    ("deduction", write("def f(a): return a", "'<answer>'"), "forbidden"),
    ("deduction", write("def f(a): return '</' + 'answer>'", "1"), "forbidden"),
    ("deduction", write("def f(a):\n    b = '</' + 'think>'\n    return 1", "1"), "forbidden"),
    ("deduction", write("def f(a, b): return a", "1"), "exception"),
    ("deduction", write("def f(a): return f(a)", "1"), "exception"),
    ("deduction", write("def f(a): return 9 ** 9999", "1"), "not_literal"),
    ("deduction", write("def f(a):\n    print('x' * 100000)\n    return a", "1"), "output_too_long"),
    ("deduction", write(LOOP.format(150), "1"), ""),
    ("deduction", write(LOOP_BELOW.format(100), "1"), "too_difficult"),
    ("deduction", write(LOOP.format(10**6), "1"), "too_difficult"),
    ("induction", write("def f(a): return a", "1"), "too_few_inputs"),
    ("induction", write("def f(a): return a", "1", "1 ,", " 1"), "too_few_inputs"),
    ("induction", write("def f(a): return a", "1", "x"), "bad_arguments"),
    ("induction", write("def f(a): return a", "\n".join(map(str, range(3000)))), "too_long"),
    ("induction", write("def f(a): return 7", "1", "2"), "constant_induction"),
    ("induction", write("def f(a): return a if a < 3 else 7", "1", "2", "8", "9"), "constant_induction"),
    ("induction", write("def f(a): return 1 / a", "1", "0"), "exception"),
    ("induction", write("def f(a): return a or None", "1", "0"), "none"),
    ("induction", write(COUNTER, "1", "2", "3"), "non_deterministic"),
    ("induction", write("def f(a): return a", "1\n2\n3"), ""),
    ("induction", write("def f(a): return a", "[1,\n2]", "3"), ""),
    ("deduction", write("def f(a): return a", "[1,\n2],"), ""),
    ("deduction", write("def f(a, b): return b, a", "'深度', {'ключ': (1,)}"), ""),
    ("deduction", write(CHINESE, "'你好 \\n\\\\ \\u2028'"), ""),
    ("deduction", write("def f(a): return -a", "10 ** 2"), "bad_arguments"),
    ("deduction", write("def f(a): return -a", "1" + "0" * 300), ""),
    ("deduction", write("def f(a): return [[[[[[a]]]]]]", "[[[[[[]]]]]]"), ""),
    ("deduction", write("def f(a):\n    import random\n    return random.Random(a).random()", "1"), ""),
    ("deduction", write("def f(a): return input(a)", "1"), "forbidden"),
    ("deduction", "Plan: swap.\n<think>hm</think>\n" + write("def f(a): return a", "1") + "\nDone.", ""),
]  # fmt: skip


def test_every_gate_has_its_code_and_its_reason(sandbox: Sandbox) -> None:
    drafts = [Draft(str(n), kind, text, 1.0) for n, (kind, text, _) in enumerate(GATES)]
    admissions = admit(drafts, sandbox, SETTINGS, known=(), cycle=3)
    found = [admission.rejection for admission in admissions]
    wanted = [code for *_, code in GATES]
    assert found == wanted
    for admission in admissions:
        *before, last = admission.checks
        assert all(check.passed and not check.code and not check.reason for check in before)
        assert last.passed is (admission.environment is not None) is (not last.code)
        assert last.passed or last.reason[0].isalpha()
        assert all(check.seconds >= 0 for check in admission.checks)
        if admission.environment:
            assert (admission.environment.born, admission.environment.family) == (3, "programs")
    executed = next(check for check in admissions[-1].checks if check.gate == "executes")
    assert executed.seconds > 0


def test_a_trace_that_was_cut_is_never_taken_for_a_whole_one(sandbox: Sandbox) -> None:
    generous = GateSettings(limits=LIMITS, max_difficulty=5000)
    assert judge(sandbox, "deduction", write(LOOP.format(3000), "1"), generous).rejection == "too_difficult"
    assert judge(sandbox, "deduction", write(LOOP.format(400), "1"), generous).environment is not None


def test_an_unknown_kind_is_the_callers_error(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="deduction"):
        judge(sandbox, "code_o", write("def f(a): return a", "1"))


def test_copies_are_rejected_in_the_batch_and_against_the_store(sandbox: Sandbox) -> None:
    texts = [
        write("def f(a):\n    b = a\n    return b", "1"),
        write("def g(x):\n    'Copy.'\n    y = x  # renamed\n    return y", "1,"),
        write("def f(a):\n    b = a\n    return b", "2"),
        write("def f(a):\n    return 1 / 0", "1"),
        write("def f(a):\n    return 1 / 0", "1"),
    ]
    drafts = [Draft(str(n), "deduction", text, 1.0) for n, text in enumerate(texts)]
    before = sandbox.executions
    first = admit(drafts, sandbox, SETTINGS, known=())
    assert [a.rejection for a in first] == ["", "duplicate", "", "exception", "exception"]
    assert sandbox.executions - before == 8, "equal drafts run once, every program twice"
    keys = {a.environment.key for a in first if a.environment}
    before = sandbox.executions
    second = admit(drafts[:3], sandbox, SETTINGS, known=keys)
    assert [a.rejection for a in second] == ["duplicate"] * 3
    assert sandbox.executions == before
    other = admit([Draft("x", "abduction", texts[0], 1.0)], sandbox, SETTINGS, known=keys)
    assert other[0].environment is not None


def test_induction_keeps_the_first_pairs_and_hides_the_second_half(sandbox: Sandbox) -> None:
    text = write("def f(a): return a * a", *(str(n) for n in range(14)))
    environment = judge(sandbox, "induction", text).environment
    assert environment is not None
    assert environment.inputs == tuple(map(str, range(10))) and environment.visible == 5
    assert "36" not in slots(environment)["pairs"]


# --- verification -------------------------------------------------------------------------------


def test_verification_outcomes_in_one_batch(sandbox: Sandbox) -> None:
    deduction = make(sandbox, "deduction", TINY, "3, 7")
    abduction = make(sandbox, "abduction", "def f(a):\n    while a < 0: pass\n    return 6 // a", "2")
    induction = make(sandbox, "induction", TINY, "3, 7", "1, 1", "0, 5", "4, 4")
    attempts = [
        (deduction, "<think>8?</think><answer>(8, 6)</answer>", "correct"),
        (deduction, "<answer>(8, 7)</answer>", "wrong"),
        (deduction, "<answer>[8, 6]</answer>", "wrong"),
        (deduction, "<answer>(8, True)</answer>", "wrong"),
        (deduction, "(8, 6)", "no_answer"),
        (deduction, "<think><answer>(8, 6)</answer>", "no_answer"),
        (deduction, "<answer>(8, a)</answer>", "not_literal"),
        (deduction, "<answer>" + "8" * 30000 + "</answer>", "too_long"),
        (abduction, "<answer>2</answer>", "correct"),
        (abduction, "<answer>3</answer>", "wrong"),
        (abduction, "<answer>0</answer>", "program_error"),
        (abduction, "<answer>1, 2</answer>", "program_error"),
        (abduction, "<answer>-1</answer>", "wall_timeout|cpu_timeout"),
        (abduction, "<answer>a</answer>", "bad_arguments"),
        (induction, f"<answer>{TINY}</answer>", "correct"),
        (induction, "<answer>def f(a, b): return (8, 6)</answer>", "wrong"),
        (induction, "<answer>def f(a, b) return</answer>", "program_error"),
        (induction, "<answer>x = 1</answer>", "program_error"),
        (induction, "<answer>def f(a, b): return open('/etc/passwd').read()</answer>", "program_error"),
        (induction, "<answer>def f(a, b):\n    while True: pass</answer>", "wall_timeout|cpu_timeout"),
        (induction, "<answer>def f(a, b): return 'x' * 10 ** 7</answer>", "output_limit"),
        (induction, "<answer>def f(a, b): return [0] * 10 ** 9</answer>", "memory"),
    ]
    scores = verify([(environment, text) for environment, text, _ in attempts], sandbox, LIMITS)
    for score, (_, text, outcome) in zip(scores, attempts, strict=True):
        assert score.outcome in outcome.split("|"), text[:80]
        assert score.reward == (1.0 if outcome == "correct" else 0.0) and not score.fault
        assert score.outcome in ("correct", "wrong") or score.reason


def test_equal_answers_to_one_task_are_executed_once(sandbox: Sandbox) -> None:
    environment = make(sandbox, "abduction", TINY, "3, 7")
    before = sandbox.executions
    answers = ["3, 7", "3,7", " 3, 7,", "3, 8", "3, 8"]
    scores = verify([(environment, f"<answer>{a}</answer>") for a in answers], sandbox, LIMITS)
    assert [score.reward for score in scores] == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert sandbox.executions - before == 2
    assert verify([], sandbox, LIMITS) == []


SPY = """def f(a):
    wanted = str({wanted})
    try:
        raise ValueError
    except ValueError as error:
        frame = getattr(error.__traceback__, 'tb_' + 'frame')
    while frame := getattr(frame, 'f_' + 'back'):
        if wanted in str(getattr(frame, 'f_' + 'locals')):
            return a * 1000003
    return 0"""


@pytest.mark.parametrize(("wanted", "reward"), [("a", 1.0), ("a * 1000003", 0.0)])
def test_the_child_of_an_induction_answer_sees_inputs_and_never_outputs(
    wanted: str, reward: float, sandbox: Sandbox
) -> None:
    environment = make(sandbox, "induction", "def f(a): return a * 1000003", "71", "72", "70003", "70004")
    answer = f"<answer>{SPY.format(wanted=wanted)}</answer>"
    (score,) = verify([(environment, answer)], sandbox, LIMITS)
    assert score.reward == reward, "the spy finds the arguments in the frames, so it would find outputs"


# --- properties ---------------------------------------------------------------------------------

atoms = st.integers(-50, 50) | st.booleans() | st.text(max_size=4) | st.floats(-9, 9, allow_nan=False)
values = (
    atoms
    | st.lists(atoms, max_size=3)
    | st.tuples(atoms)
    | st.dictionaries(st.text(max_size=2), atoms, max_size=2)
)
operations = st.sampled_from(
    [
        "    a = (a, {c})",
        "    b = [b, a, {c}]",
        "    a, b = b, a",
        "    if isinstance(a, int): b = a",
        "    for i in range(3):\n        b = (i, b)",
        "    while isinstance(a, tuple) and a:\n        a = a[0]",
        "    b = helper(a)",
        "    a = {{'k': a,\n         'n': {c}}}",
    ]
)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[str, list[str]]:
    lines = [draw(operations).format(c=draw(st.integers(0, 9))) for _ in range(draw(st.integers(0, 5)))]
    source = "\n".join(
        ["def helper(x):", "    y = [x]", "    return y", "def f(a, b=3):", *lines, "    return [a, b]"]
    )
    count = draw(st.integers(2, 4))
    inputs = [", ".join(map(render, draw(st.lists(values, min_size=1, max_size=2)))) for _ in range(count)]
    return source, inputs


@given(st.lists(tasks(), min_size=8, max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gold_is_always_correct_and_drafts_read_back(
    sandbox: Sandbox, written: list[tuple[str, list[str]]]
) -> None:
    drafts = [
        Draft("p", kind, write(source, *(inputs if kind == "induction" else inputs[:1])), 1.0)
        for source, inputs in written
        for kind in KINDS
    ]
    roomy = GateSettings(limits=LIMITS, max_output_chars=4000)
    admissions = admit(drafts, sandbox, roomy, known=())
    allowed = {"", "duplicate", "too_few_inputs", "constant_induction"}
    assert {a.rejection for a in admissions} <= allowed
    environments = [a.environment for a in admissions if a.environment]
    scores = verify([(e, gold(e)) for e in environments], sandbox, LIMITS)
    assert [s.outcome for s in scores] == ["correct"] * len(environments)
    again = admit([Draft("p", e.kind, propose_text(e), 1.0) for e in environments], sandbox, roomy, known=())
    assert [a.environment for a in again] == environments
