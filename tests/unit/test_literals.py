"""Literals: exact round trips, and nothing but plain data gets through."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadelab.sandbox.literals import LiteralError, equal, parse_arguments, parse_literal, render

atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
)
keys = st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
@settings(max_examples=300, deadline=None)
def test_round_trip_keeps_types_and_values(value: object) -> None:
    text = render(value)
    again = parse_literal(text)
    assert equal(value, again)
    assert render(again) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "f()",
        "1+2",
        "1+2j",
        "3j",
        "...",
        "nan",
        "inf",
        "1e999",
        "-1e999",
        "--1",
        "-True",
        "-'a'",
        "[x for x in ()]",
        "f'{1}'",
        "{**{}}",
        "{[]}",
        "{[]: 1}",
        "[*()]",
        "set([1])",
        "frozenset()",
        "(y := 1)",
        "lambda: 1",
        "1 if 1 else 2",
        "__import__('os')",
        "1\n2",
        "a\x00",
        "\ud800",
        "'\ud800'",
        "[" * 150 + "]" * 150,
        "[" * 5000,
        "-" * 50000 + "1",
        "1" * 5000,
        "0x" + "f" * 5000,
        "1" + "+1" * 30000,
        "~1",
        "not 1",
    ],
)
def test_rejects_what_is_not_plain_data(text: str) -> None:
    with pytest.raises(LiteralError):
        parse_literal(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3, [1, 2]", (3, [1, 2])),
        ("", ()),
        ("(1, 2)", ((1, 2),)),
        ("1,", (1,)),
        ("-1, 'a)b'", (-1, "a)b")),
        ("1, # note", (1,)),
        ("{}, set()", ({}, set())),
    ],
)
def test_argument_lists(text: str, expected: tuple[object, ...]) -> None:
    assert equal(parse_arguments(text), expected)


@pytest.mark.parametrize(
    "text",
    [
        "1)\n(True",
        "1)(2",
        "1), (2",
        "1) + f(2",
        "*[1]",
        "a=1",
        "**{}",
        "x",
        "1 for x in y",
        "1)#",
        ",",
        "1;2",
    ],
)
def test_argument_list_tricks(text: str) -> None:
    with pytest.raises(LiteralError):
        parse_arguments(text)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, True, False),
        (1, 1.0, False),
        ([1], (1,), False),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0 + 1e-6, False),
        ({0.1 + 0.2}, {0.3}, True),
        ({1}, {True}, False),
        ({1: 0.1 + 0.2}, {1: 0.3}, True),
        ({1: 2, 3: 4}, {3: 4, 1: 2}, True),
        ({1: 2}, {True: 2}, False),
        (math.nan, math.nan, False),
        (math.inf, math.inf, False),
        ("a", b"a", False),
        (None, None, True),
        (object, object, False),
    ],
)
def test_equality_is_exact_in_type(left: object, right: object, same: bool) -> None:
    assert equal(left, right) is same


class Shouting(str):
    """A subclass whose methods would run if the encoder trusted it."""

    def __repr__(self) -> str:
        raise AssertionError("ran")


def test_render_refuses_what_is_not_exact() -> None:
    for value in (math.nan, math.inf, 1j, object(), Shouting("x"), [Shouting("x")], 1 << 20000):
        with pytest.raises(LiteralError):
            render(value)


def test_render_refuses_cycles_depth_and_bombs() -> None:
    loop: list[object] = []
    loop.append(loop)
    bomb: list[object] = [0]
    for _ in range(60):
        bomb = [bomb, bomb]
    for value in (loop, bomb, "a" * 100):
        with pytest.raises(LiteralError):
            render(value, limit=50)


def test_canonical_form() -> None:
    assert render({"b": {3, 20, 1}, "a": (1,)}) == "{'b': {1, 20, 3}, 'a': (1,)}"
    assert render([set(), {}, -0.0, "\n\ud800"]) == "[set(), {}, -0.0, '\\n\\ud800']"


def test_unknown_escapes_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_literal(r"'\d'") == "\\d"
