"""Which hints give the answer away."""

from __future__ import annotations

import pytest

from spadelab.environments.interactive.hints import MAX_HINT_CHARS, check_hint, judge_hint
from spadelab.environments.interactive.numerals import digits_for_words
from spadelab.environments.trials import Rejected

GRID = ["up", "up", "left", "down"]
GRID_SEEN = ["Moves: up, down, left, right. You are at (0, 0), the goal is (1, -1)."]
CALL = '{"arguments": {"colour": "vermilion", "level": 17}, "name": "paint"}'


@pytest.mark.parametrize(
    ("hint", "solution", "observations"),
    [
        ("The secret is 42.", ["42"], []),
        ("Try ４２ first.", ["42"], []),
        ("It is forty-two.", ["42"], []),
        ("It is Forty Two!", ["42"], []),
        ("One hundred and seven is close to it.", ["107"], []),
        ("答案是四十二。", ["42"], []),
        ("答案是四二。", ["42"], []),
        ("XLII, as the Romans said", ["42"], []),
        ("It is 101010 in bits", ["42"], []),
        ("0x2A", ["42"], []),
        ("4-2", ["42"], []),
        ("four, two", ["42"], []),
        ("٤٢", ["42"], []),
        ("④②", ["42"], []),
        ("Minus 7 is right", ["-7"], []),
        ("The word is swordfish", ["swordfish"], []),
        ("The word is SWORD-FISH", ["swordfish"], []),
        ("s w o r d f i s h", ["swordfish"], []),
        ("s.w.o.r.d", ["sword"], []),
        ("Read hsifdrows backwards", ["swordfish"], []),
        ("c3dvcmRmaXNo says it all", ["swordfish"], []),
        ("73776f726466697368", ["swordfish"], []),
        ("fjbeqsvfu turned by thirteen", ["swordfish"], []),
        ("The answer is B.", ["B"], ["A) cat B) dog C) cow"]),
        ("Pick option c", ["c"], []),
        ("Press 'a' now", ["a", "b"], ["a b c"]),
        ("First a, then c, then b.", ["a", "c", "b"], ["a b c"]),
        ("Go up, up, left", GRID, GRID_SEEN),
        ("Move left and down at the end", GRID, GRID_SEEN),
        ("Open door and then take lamp", ["look", "open door", "take lamp", "exit"], ["open door take lamp"]),
        ("Use the vermilion paint", [CALL], ["Tools: paint(colour, level)"]),
        ("A level of seventeen is needed", [CALL], ["Tools: paint(colour, level)"]),
        ("A hidden lever: pull xyzzy midway", ["look", "xyzzy", "leave"], ["look, leave"]),
        ("密码是芝麻开门，请记住", ["芝麻开门"], []),
    ],
)
def test_these_give_it_away(hint: str, solution: list[str], observations: list[str]) -> None:
    with pytest.raises(Rejected) as caught:
        check_hint(hint, [["something else"], solution], observations)
    assert caught.value.code == "hint_leak"


@pytest.mark.parametrize(
    "hint",
    [
        "```python\nx\n```",
        "Use def f(x): pass",
        "return a + b;",
        "answer = self.secret",
        "x=5",
        "Call max(values) on them",
        "self.secret holds it",
        "while n: n -= 1",
        "total += weight",
    ],
)
def test_these_are_code(hint: str) -> None:
    with pytest.raises(Rejected) as caught:
        check_hint(hint, [["swordfish"]], [])
    assert caught.value.code == "hint_code"


@pytest.mark.parametrize(
    ("hint", "solution", "observations"),
    [
        ("Halve the interval each time.", ["50", "25", "37"], ["A number from 1 to 100"]),
        ("The number is even and has two different digits.", ["42"], ["A number from 1 to 100"]),
        ("It lies between 40 and 45.", ["42"], ["A number from 1 to 100"]),
        ("It is above 420.", ["42"], []),
        ("First a wall, then a corner: keep to the edge.", ["b", "a"], ["a b c"]),
        ("A good idea is to count from the end.", ["A"], ["A) cat B) dog"]),
        ("Is a corner open? Then use it.", ["a"], ["a b c"]),
        ("The goal lies to the left of you, further down.", ["up", "up", "left", "down", "up"], GRID_SEEN),
        ("The element(s) that repeat come first.", ["7"], []),
        ("Return to the start when you are stuck.", ["xyzzy"], []),
        ("It concatenates two words.", ["cat"], []),
        ("The value f(x) grows with x.", ["13"], []),
        ("n 3 rises, m falls", ["c", "d"], ["c n+3 d m-1"]),
        ("先看最小的数。", ["42"], []),
        ("x rises y stays", ["a", "a"], ["a x+3 b y-2 | x 3 y 4"]),
        ("", ["42"], []),
    ],
)
def test_these_are_legal(hint: str, solution: list[str], observations: list[str]) -> None:
    assert judge_hint(hint, [solution], observations) == ""


def test_a_hint_has_a_length() -> None:
    assert not judge_hint("x " * (MAX_HINT_CHARS // 2), [["42"]], [])
    assert "301 characters" in judge_hint("x" * 301, [["42"]], [])


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("twenty one", "21"),
        ("two hundred and five", "205"),
        ("three thousand twelve", "3012"),
        ("four two", "4 2"),
        ("twenty thirty", "20 30"),
        ("十二", "12"),
        ("二百零五", "205"),
        ("三万", "30000"),
        ("often someone", "often someone"),
    ],
)
def test_numbers_in_words(words: str, digits: str) -> None:
    assert digits_for_words(words).split() == digits.split()
