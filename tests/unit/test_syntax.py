"""Entry functions, static findings, and keys that see through renaming but not through meaning."""

from __future__ import annotations

import pytest

from spadelab.environments.syntax import (
    ProgramError,
    find_entry,
    find_forbidden,
    find_imports,
    parse_program,
    shape_key,
    task_key,
)

ALLOWED = {"math", "random", "datetime", "numpy"}

BASE = "def f(a, b):\n    c = a + 1\n    for i in range(b):\n        c += i\n    return c"
SAME = [
    "def f(x, y):\n    z = x + 1\n    for k in range(y):\n        z += k\n    return z",
    "def solve(a, b):\n    c = a + 1\n    for i in range(b):\n        c += i\n    return c",
    "# note\ndef f(a: int, b: int) -> int:\n    'Doc.'\n    c = a + 1  # x\n\n    for i in range(b): c += i\n"
    "    return c",
    "'Module.'\ndef f(b, a):\n    c = b + 1\n    for i in range(a):\n        c += i\n    return (c)",
]
OTHER = [
    "def f(a, b):\n    c = a + 2\n    for i in range(b):\n        c += i\n    return c",
    "def f(a, b):\n    c = b + 1\n    for i in range(a):\n        c += i\n    return c",
    "def f(a, b):\n    c = a + 1\n    for i in range(b):\n        c += i\n    return a",
    "def f(a, b):\n    c = a + True\n    for i in range(b):\n        c += i\n    return c",
    "def f(a, b):\n    c = a + 1.0\n    for i in range(b):\n        c += i\n    return c",
    "def f(a, b):\n    c = a + 1\n    for i in reversed(b):\n        c += i\n    return c",
    "def f(a, b):\n    c = a + 1\n    for i in range(b):\n        c += i\n    return c\ndef g(a): return 1",
]


@pytest.mark.parametrize("source", SAME)
def test_copies_have_the_key_of_the_original(source: str) -> None:
    assert shape_key(source) == shape_key(BASE)


@pytest.mark.parametrize("source", OTHER)
def test_other_programs_have_other_keys(source: str) -> None:
    assert shape_key(source) != shape_key(BASE)


PAIRS = [
    # the entry is part of the program, even when the trees agree
    ("def f(a): return 1\ndef g(a): return 2", "def h(a): return 1\ndef g(a): return 2", False),
    # scopes: one name in two functions, or two
    ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return x\ndef f(y): return g(y)", True),
    # a keyword in a call makes the parameter's name matter
    ("def g(x, y): return x - y\ndef f(a): return g(x=a, y=1)",
     "def g(y, x): return y - x\ndef f(a): return g(x=a, y=1)", False),
    # attributes and members of classes are names that can be reached as text
    ("class P:\n    x = 1\ndef f(a): return P.x", "class Q:\n    x = 1\ndef f(a): return Q.x", True),
    ("class P:\n    x = 1\ndef f(a): return P.x", "class P:\n    y = 1\ndef f(a): return P.y", False),
    # what a class binds is not seen by its methods
    ("x = 1\nclass P:\n    x = 2\n    def g(self): return x\ndef f(a): return P().g()",
     "y = 1\nclass P:\n    x = 2\n    def g(self): return y\ndef f(a): return P().g()", True),
    # comprehensions, lambdas, closures, walrus, except, match, import as, global
    ("def f(a): return [i for i in a if (j := i)]", "def f(b): return [x for x in b if (y := x)]", True),
    ("def f(a): return [i for i in a for k in i]", "def f(a): return [k for i in a for k in i]", False),
    ("def f(a): return (lambda x: x + a)(1)", "def f(b): return (lambda y: y + b)(1)", True),
    ("def f(a): return (lambda x: x + a)(1)", "def f(b): return (lambda b: b + b)(1)", False),
    ("def f(a):\n    def g():\n        nonlocal a\n        a = 1\n    g()\n    return a",
     "def f(b):\n    def h():\n        nonlocal b\n        b = 1\n    h()\n    return b", True),
    ("def f(a):\n    def g():\n        nonlocal a\n        a = 1\n    g()\n    return a",
     "def f(a):\n    def g():\n        b = 1\n    g()\n    return a", False),
    ("def f(a):\n    try: return a\n    except E as e: return e",
     "def f(a):\n    try: return a\n    except E as x: return x", True),
    ("def f(a):\n    match a:\n        case [x, *y]: return x\n        case {'k': v, **r}: return v, r",
     "def f(b):\n    match b:\n        case [p, *q]: return p\n        case {'k': w, **s}: return w, s",
     True),
    ("import math as m\ndef f(a): return m.pi", "import math as n\ndef f(a): return n.pi", True),
    ("import math as m\ndef f(a): return m.pi", "import cmath as m\ndef f(a): return m.pi", False),
    ("n = 0\ndef f(a):\n    global n\n    n += a\n    return n",
     "k = 0\ndef f(a):\n    global k\n    k += a\n    return k", True),
    ("n = 0\ndef f(a):\n    global n\n    n = a\n    return n",
     "n = 0\ndef f(a):\n    n = a\n    return n", False),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "same"), PAIRS)
def test_renaming_follows_scopes(left: str, right: str, same: bool) -> None:
    assert (shape_key(left) == shape_key(right)) is same


def test_the_task_key_adds_kind_and_inputs() -> None:
    keys = {task_key(kind, BASE, inputs) for kind in ("deduction", "abduction") for inputs in (["1"], ["2"])}
    assert len(keys) == 4
    assert task_key("deduction", SAME[0], ["1"]) == task_key("deduction", BASE, ["1"])


def test_keys_do_not_move_between_versions() -> None:
    # Stored runs are compared by key: a change of the normal form must be deliberate.
    assert shape_key("def f(a):\n    return a") == IDENTITY_KEY


IDENTITY_KEY = "2c94f53833afb589b3805e6f33cc6caa3948f2752cdbb26536921a2a293291b8"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(a): return a\ndef g(a): return a", "f"),
        ("def g(a): return a\ndef h(a): return a", "h"),
        ("def f(a): return 1\ndef f(a): return 2", "f"),
        ("async def f(a): return 1", None),
        ("f = lambda a: a", None),
        ("class A:\n    def f(self): return 1", None),
        ("", None),
    ],
)
def test_the_entry_function(source: str, name: str | None) -> None:
    entry = find_entry(parse_program(source))
    assert (entry.name if entry else None) == name


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import os\ndef f(a): return 1", "os"),
        ("def f(a):\n    import socket\n    return 1", "socket"),
        ("from os.path import join\ndef f(a): return 1", "os"),
        ("from . import x\ndef f(a): return 1", "relative"),
        ("def f(a): return eval('1')", "eval"),
        ("def f(a): return __import__('os')", "__import__"),
        ("def f(a): return open('/etc/passwd').read()", "open"),
        ("def f(a): return ().__class__.__bases__", "__bases__"),
        ("def f(a): return f.__globals__", "__globals__"),
        ("def f(a): return __builtins__", "__builtins__"),
        ("def f(a): return id(a)", "id"),
        ("import datetime\ndef f(a): return datetime.datetime.now().year", "clock"),
        ("from datetime import date\ndef f(a): return date.today().year", "clock"),
    ],
)
def test_forbidden_things_have_a_reason_with_a_line(source: str, word: str) -> None:
    reason = find_forbidden(parse_program(source), ALLOWED)
    assert word in reason and reason.startswith("line ")


@pytest.mark.parametrize(
    "source",
    [
        "import math, numpy.linalg\nfrom random import Random\ndef f(a): return math.pi",
        "def process_input(x): return x\ndef f(a): return process_input(a)",
        "def f(input): return input",
        "def open(x): return x\ndef f(a): return open(a)",
        "def f(a): return [id for id in a]",
        "class A:\n    def __init__(self): self.x = 1\ndef f(a): return type(A()).__name__, A().__dict__",
        "def f(a): return 'import os; eval(open)'",
    ],
)
def test_ordinary_programs_are_not_forbidden(source: str) -> None:
    assert find_forbidden(parse_program(source), ALLOWED) == ""


def test_imports_are_top_level_names() -> None:
    source = "import numpy.random as r, math\ndef f(a):\n    from random import random\n    return 1"
    assert find_imports(parse_program(source)) == {"numpy", "math", "random"}


@pytest.mark.parametrize(
    "source",
    ["def f(a:", "def f(a):\nreturn 1", "x = '\x00'", "x = '\ud800'", "(" * 300, "x = " + "-" * 3000 + "1",
     "x = " + "not " * 900 + "1", "x = " + "+".join("1" * 900), "if 1:\n pass\n" + "elif 1:\n pass\n" * 300,
     "x = " + "1" * 5000],
)  # fmt: skip
def test_what_cannot_be_parsed_is_one_typed_error(source: str) -> None:
    with pytest.raises(ProgramError):
        parse_program(source)


def test_the_deepest_program_that_parses_has_a_key() -> None:
    sums = next(n for n in range(200, 0, -1) if _parses("x = " + "+".join("1" * n)))
    branches = next(n for n in range(200, 0, -1) if _parses("if 1: pass\n" + "elif 1: pass\n" * n))
    assert sums > 100 and branches > 100
    shape_key("x = " + "+".join("1" * sums))
    shape_key("if 1: pass\n" + "elif 1: pass\n" * branches)


def _parses(source: str) -> bool:
    try:
        parse_program(source)
    except ProgramError:
        return False
    return True
