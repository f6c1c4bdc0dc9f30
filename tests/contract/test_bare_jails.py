"""A program that names no module runs in a jail without any, and cannot tell but by looking for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from spadelab.sandbox import Call, Job, Sandbox

PROGRAMS = """
def f(): return '{:>8.3f}|{!r:^9}'.format(3.14159, 'x') + f'{1_000_000:,}' + '%05d' % 42
def f(): return 'abc'.encode('utf-16').decode('utf-16') + 'x'.encode('latin-1').decode('ascii')
def f(): return 'stra\\xdfe'.upper() + '\\u0130'.lower() + chr(0x1F600)
def f(): return [int('\\u0663'), '\\u0967'.isdigit(), 'a\\u0301'.isidentifier()]
def f(): return divmod(7 ** 20000, 3 ** 9000)[0] % 10 ** 9, len(str(10 ** 4000))
def f(): return sorted({3, 1, 2}, key=lambda x: -x), max('ab', 'b', key=len), round(2.5), pow(3, -1, 7)
def f():
    class A: x: int = 1
    return isinstance(A(), A), A.__annotations__ == {'x': int}
def f():
    class A(BaseException): pass
    try: raise A('no') from ValueError()
    except A as e: return [str(e), repr(e.__cause__)]
def f():
    try: raise ExceptionGroup('g', [KeyError(1), KeyError(2)])
    except* KeyError as e: found = len(e.exceptions)
    return found
def f():
    match {'a': [1, 2, 3]}:
        case {'a': [first, *rest]}: return [first, rest]
def f():
    def g(): yield (yield 1)
    i = g()
    return [next(i), i.send(2), list(zip('ab', range(2), strict=True))]
def f():
    async def g(): return 5
    try: g().send(None)
    except StopIteration as e: return e.value
def f(): return list[int] == list[int], str(int | None), memoryview(b'ab').cast('B')[1], bytes.fromhex('ff')
def f(): return [*map(str, filter(None, range(4)))] + [*reversed('ab')] + [i for i, _ in enumerate('ab')]
def f(): print('hello', end='!'); return hash((1, 2.0)), complex(1, 2) ** 2 == -3 + 4j
def f(): return object().__reduce_ex__(2)[1][0].__name__
def f(): return 1 is 1
def f(): return '\\d'
def f(): return eval('1 + 1') + len(compile('x', '', 'eval').co_names)
def f(): return open('/etc/passwd')
def f(): return undefined
def f(): return [].pop()
def f(): return 1 / 0
def f(): return 'x' * 10 ** 6
def f():
    while True: [0] * 10 ** 8
"""
GENERIC = """
class A[T]:
    def first(self, x: T) -> T:
        return x
def f():
    return A[int]().first(3)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, canaries=False) as sandbox:
        yield sandbox


def test_bare_jails_answer_as_full_ones(sandbox: Sandbox) -> None:
    programs = ["def f():" + rest for rest in PROGRAMS.split("\ndef f():")[1:]]
    bare = [Job(source, (Call("f", ""),)) for source in programs]
    full = [Job(source + "\n# import", (Call("f", ""),)) for source in programs]
    assert all(sandbox._choose(job).bare for job in bare)
    assert not any(sandbox._choose(job).bare for job in full)
    found = [replace(outcome, seconds=0) for (outcome,) in sandbox.map(bare)]
    assert found == [replace(outcome, seconds=0) for (outcome,) in sandbox.map(full)]
    assert [outcome.kind for outcome in found] == ["value"] * 19 + ["program_error"] * 4 + [
        "output_limit",
        "memory",
    ]


def test_what_c_code_imports_unasked_is_there(sandbox: Sandbox) -> None:
    named = Job("def f():\n    return '\\N{GREEK SMALL LETTER PI}'\n", (Call("f", ""),))
    generic = Job(GENERIC, (Call("f", ""),))
    foreign = Job("def f():\n    \u03c0 = 3\n    return \u03c0\n", (Call("f", ""),))
    assert not any(sandbox._choose(job).bare for job in (named, generic, foreign))
    assert [outcome.value for (outcome,) in sandbox.map([named, foreign])] == ["'\u03c0'", "3"]
    if sys.version_info >= (3, 12):
        assert sandbox.run(generic)[0].value == "3"


def test_an_import_that_the_text_hides_is_refused(sandbox: Sandbox) -> None:
    source = "def f(name):\n    return eval('__imp' + 'ort__')(name).__name__\n"
    outcomes = [
        sandbox.run(Job(source, (Call("f", repr(name)),)))[0] for name in ("os", "socket", "statistics")
    ]
    # The last is allowed, but it is not there, and no file can be read.
    assert [outcome.error for outcome in outcomes] == ["ImportError", "ImportError", "PermissionError"]
