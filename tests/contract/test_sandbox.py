"""What the sandbox promises to honest and clumsy programs."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spadelab.sandbox import Call, Child, Job, Limits, Outcome, Sandbox, SandboxUnavailable
from spadelab.sandbox.literals import parse_literal


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=2) as opened:
        yield opened


def run(sandbox: Sandbox, source: str, *arguments: str, **fields: object) -> list[Outcome]:
    calls = tuple(Call("f", text) for text in arguments or ("",))
    return sandbox.run(Job(source, calls, **fields))  # type: ignore[arg-type]


def test_results_keep_order_and_types(sandbox: Sandbox) -> None:
    jobs = [
        Job(f"def f(x):\n    return (x, {i}, 'a', None, 1.5, {{1: [b'x']}})\n", (Call("f", "[1]"),))
        for i in range(40)
    ]
    results = sandbox.map(jobs)
    assert [outcome.value for (outcome,) in results] == [
        f"([1], {i}, 'a', None, 1.5, {{1: [b'x']}})" for i in range(40)
    ]


def test_calls_of_a_job_share_one_child_and_jobs_share_none(sandbox: Sandbox) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    print(x)\n    return seen\n"
    outcomes = run(sandbox, source, "1", "'b'")
    assert [(o.value, o.stdout) for o in outcomes] == [("[1]", "1\n"), ("[1, 'b']", "b\n")]
    assert run(sandbox, source, "3")[0].value == "[3]"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:", "SyntaxError"),
        ("x = 1 / 0", "ZeroDivisionError"),
        ("import os", "ImportError"),
        ("import numpy.notthere", "ModuleNotFoundError"),
        ("raise SystemExit", "SystemExit"),
        ("\ud800", "UnicodeEncodeError"),
        ("x = '\\0'\0", "ValueError"),
    ],
)
def test_a_failed_load_is_the_outcome_of_every_call(sandbox: Sandbox, source: str, error: str) -> None:
    outcomes = run(sandbox, source, "1", "2")
    # Newer Pythons report a null byte as a syntax error.
    assert {(o.kind, "ValueError" if "null" in o.message else o.error) for o in outcomes} == {
        ("program_error", error)
    }
    assert len(outcomes) == 2


def test_a_call_that_kills_the_child_ends_the_remaining_ones(sandbox: Sandbox) -> None:
    source = "import random\ndef f(x):\n    if x == 2: random._os._exit(3)\n    return x\n"
    kinds = [(o.kind, o.value or o.error) for o in run(sandbox, source, "1", "2", "3")]
    assert kinds == [("value", "1"), ("crash", "exit code 3"), ("crash", "exit code 3")]


def test_an_exception_does_not_end_the_child(sandbox: Sandbox) -> None:
    outcomes = run(sandbox, "def f(x):\n    return 1 // x\n", "0", "1")
    assert [(o.error, o.value) for o in outcomes] == [("ZeroDivisionError", ""), ("", "1")]
    assert outcomes[0].message == "integer division or modulo by zero"


@pytest.mark.parametrize("arguments", ["1)\n(True", "x", "*[1]", "a=1", "1; 2", "__import__('os')"])
def test_argument_lists_are_literals(sandbox: Sandbox, arguments: str) -> None:
    (outcome,) = run(sandbox, "def f(*a):\n    return 1\n", arguments)
    assert (outcome.kind, outcome.error) == ("program_error", "NotAnArgumentList")


def test_import_errors_name_the_setting(sandbox: Sandbox) -> None:
    for module in ("os", "sys", "subprocess", "socket", "ctypes", "time", "threading", "torch"):
        (outcome,) = run(sandbox, f"def f():\n    import {module}\n")
        assert outcome.error == "ImportError"
        assert outcome.message.startswith(f"module {module!r} is not allowed in the sandbox; ")
        assert ("add it to sandbox.allowed_packages" in outcome.message) == (module == "torch")
        assert "sandbox.allowed_packages" in outcome.message


def test_the_usual_modules_work(sandbox: Sandbox) -> None:
    source = """
from __future__ import annotations
import math, itertools, functools, collections.abc, heapq, bisect, string, re, random, hashlib
import fractions, decimal
import statistics, operator, copy, typing, dataclasses, enum, abc, json, datetime
@dataclasses.dataclass(order=True)
class P:
    x: int = 1
class C(enum.Enum):
    A = 1
class N(typing.NamedTuple):
    y: int
def f():
    d = datetime.datetime.strptime('2020-01-02', '%Y-%m-%d')
    return [P(2).x, C.A.value, N(3).y, str(decimal.Decimal('1.1') + 1), d.day,
            d.strftime('%Y'), hashlib.sha256(b'').hexdigest()[:4], str(fractions.Fraction(1, 3)),
            random.Random(1).randint(0, 99), statistics.mean([1, 2, 3])]
"""
    assert run(sandbox, source)[0].value == "[2, 1, 3, '2.1', 2, '2020', 'e3b0', '1/3', 17, 2]"


def test_hash_seeds_differ_and_are_stable(sandbox: Sandbox) -> None:
    source = "def f():\n    return hash('spade')\n"
    values = [{run(sandbox, source, hash_seed=seed)[0].value for _ in range(6)} for seed in (0, 1)]
    assert len(values[0]) == len(values[1]) == 1
    assert values[0] != values[1]


def test_unseeded_randomness_follows_the_stream(sandbox: Sandbox) -> None:
    source = "import random\ndef f():\n    return random.random()\n"
    jobs = [Job(source, (Call("f", ""),), stream=number) for number in range(10)]
    once, again = (sandbox.map(jobs) for _ in range(2))
    assert [o.value for (o,) in once] == [o.value for (o,) in again]
    assert len({outcome.value for (outcome,) in once}) == 10


def test_numpy_and_sympy(sandbox: Sandbox) -> None:
    source = """
import numpy as np
import sympy
def f(a):
    x = sympy.Symbol('x')
    roots = [str(r) for r in sympy.solve(x**2 - 2, x)]
    return [np.sort(np.array(a)).tolist(), float(np.linalg.det(np.eye(2))), roots,
            str(sympy.factor(x**2 - 1)), str(sympy.integrate(sympy.sin(x) * sympy.exp(x), x)),
            np.fft.fft([1, 1]).real.tolist()]
def g():
    return float(np.random.rand())
"""
    (outcome,) = run(sandbox, source, "[3, 1]", limits=Limits(memory_mb=512, wall_seconds=30))
    assert outcome.value.startswith("[[1, 3], 1.0, ['-sqrt(2)', 'sqrt(2)'], '(x - 1)*(x + 1)', "), outcome
    jobs = [Job(source, (Call("g", ""),), stream=number) for number in (0, 1, 2, 0)]
    assert len({outcome.value for (outcome,) in sandbox.map(jobs)}) == 3


def test_a_package_that_is_not_installed_is_said_at_the_start() -> None:
    with pytest.raises(SandboxUnavailable, match=r"sandbox.allowed_packages names 'nowhere'"):
        Sandbox(workers=1, allowed_packages=("numpy", "nowhere"), canaries=False)


TRACED = """
def g(x):
    y = x * 2
    return y
def f(a, b):
    a = (a + 3) % 10
    if a > 3: b = (b + 1) % 10
    for i in range(2):
        b += i
    z = [g(v) for v in (1,)]
    a, b = (b,
            a)
    h = len
    return (a, b)
"""


def test_trace(sandbox: Sandbox) -> None:
    (outcome,) = sandbox.run(Job(TRACED, (Call("f", "1, 2", trace=True),)))
    assert outcome.value == "(4, 4)"
    assert outcome.trace == (
        ("    a = (a + 3) % 10", "a=4, b=2"),
        ("    if a > 3: b = (b + 1) % 10", "a=4, b=3"),
        ("    for i in range(2):", "a=4, b=3, i=0"),
        ("        b += i", "a=4, b=3, i=0"),
        ("    for i in range(2):", "a=4, b=3, i=1"),
        ("        b += i", "a=4, b=4, i=1"),
        ("    for i in range(2):", "a=4, b=4, i=1"),
        ("    y = x * 2", "x=1, y=2"),
        ("    z = [g(v) for v in (1,)]", "a=4, b=4, i=1, z=[2]"),
        ("    a, b = (b,", "a=4, b=4, i=1, z=[2]"),
        ("    h = len", "a=4, b=4, i=1, z=[2], h=<builtin_function_or_method>"),
    )


def test_trace_is_bounded(sandbox: Sandbox) -> None:
    source = "def f():\n    x = 'a' * 1500\n    for i in range(5000):\n        y = x\n    return 1\n"
    (outcome,) = sandbox.run(Job(source, (Call("f", "", trace=True),), Limits(wall_seconds=30)))
    assert (outcome.value, len(outcome.trace)) == ("1", 1000)
    assert outcome.trace[-1][1] == "..."


COUNTER = "n = 0\ndef step(x):\n    global n\n    n += x\n    return n\n"


def test_a_child_keeps_its_state(sandbox: Sandbox) -> None:
    with sandbox.open(COUNTER) as child, sandbox.open(COUNTER) as other:
        assert [child.call(Call("step", "2")).value for _ in range(3)] == ["2", "4", "6"]
        assert other.call(Call("step", "1")).value == "1"
        pairs: list[tuple[Child, Call]] = [(child, Call("step", "1")), (other, Call("step", "1"))]
        assert [o.value for o in sandbox.call_many(pairs)] == ["7", "2"]
        assert [o.value for o in child.call_all([Call("step", "0")] * 3)] == ["7"] * 3


def test_a_dead_child_repeats_its_last_outcome(sandbox: Sandbox) -> None:
    with sandbox.open("def f():\n    while True: pass\n", Limits(wall_seconds=0.3)) as child:
        assert child.call(Call("f", "")).kind == "wall_timeout"
        assert child.call(Call("f", "")).kind == "wall_timeout"
    with sandbox.open("def f(:") as child:
        assert child.call(Call("f", "")).error == "SyntaxError"


def test_answering_ahead_is_noticed(sandbox: Sandbox) -> None:
    source = """
import random
os = random._os
def f():
    frame = os.sys._getframe()
    while 'identifier' not in frame.f_locals: frame = frame.f_back
    text = '{"id": "%s", "kind": "value", "value": "7"}' % frame.f_locals['identifier']
    os.write(3, len(text).to_bytes(4, 'little') + text.encode())
    return 8
"""
    with sandbox.open(source) as child:
        first = child.call(Call("f", ""))
        time.sleep(0.05)
        assert "protocol_error" in (first.kind, child.call(Call("f", "")).kind)


def test_wall_limit_holds_for_each_call_and_not_for_the_sum(sandbox: Sandbox) -> None:
    source = "import itertools\ndef f():\n    return sum(1 for _ in range(400000))\n"
    outcomes = run(sandbox, source, *[""] * 12, limits=Limits(wall_seconds=2.0, cpu_seconds=60))
    assert {outcome.kind for outcome in outcomes} == {"value"}


WORKING = """
def f():
    for _ in range(40_000_000):
        pass
    return 'done'
"""


def test_a_dead_jail_is_replaced_and_its_job_retried() -> None:
    with Sandbox(workers=1, canaries=False) as opened:
        (jail,) = opened._pool.jails()
        killer = threading.Timer(0.2, os.kill, (jail.zygote, 9))
        killer.start()
        (outcome,) = run(opened, WORKING, limits=Limits(wall_seconds=60, cpu_seconds=60))
        killer.join()
        assert (outcome.kind, outcome.value) == ("value", "'done'")
        assert run(opened, "def f():\n    return 1\n")[0].value == "1"
        assert opened._pool.jails() != [jail] and opened.executions == 2


def count_descriptors(sandbox: Sandbox) -> int:
    return len(list(Path("/proc/self/fd").iterdir())) - sandbox._pool.count_spare()


def test_no_descriptor_leaks(sandbox: Sandbox) -> None:
    bad = [Job("def f():\n    while True: pass\n", (Call("f", ""),), Limits(wall_seconds=0.05))] * 3
    good = [Job("def f():\n    return 1\n", (Call("f", ""),))] * 30
    sandbox.map(good)
    before = count_descriptors(sandbox)
    for _ in range(3):
        sandbox.map(bad + good)
    assert count_descriptors(sandbox) == before


def test_counters_and_facts(sandbox: Sandbox) -> None:
    before = sandbox.executions, sandbox.seconds
    run(sandbox, "def f():\n    return 1\n")
    assert sandbox.executions == before[0] + 1 and sandbox.seconds > before[1]
    facts = json.loads(json.dumps(sandbox.facts()))
    assert facts["backend"] in ("bubblewrap", "landlock") and facts["uid"] != 0
    assert facts["layers"]["seccomp"] == "strict" and len(facts["canaries"]) >= 12


def test_every_outcome_is_plain_data(sandbox: Sandbox) -> None:
    (outcome,) = run(sandbox, "def f():\n    return {'b': {2, 1}, 'a': set()}\n")
    assert outcome.value == "{'b': {1, 2}, 'a': set()}"
    assert parse_literal(outcome.value) == {"b": {1, 2}, "a": set()}
    assert json.dumps(dataclasses.asdict(outcome))
