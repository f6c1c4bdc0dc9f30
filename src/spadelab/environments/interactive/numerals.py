"""Numbers in words, English and Chinese, as digits; and in other notations."""

from __future__ import annotations

import re
import unicodedata

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}
_VALUES = {word: i for i, word in enumerate(_SMALL.split())} | {
    word: 10 * i for i, word in enumerate(_TENS.split(), 2)
}
_ENGLISH = re.compile(
    rf"\b(?:{'|'.join([*_VALUES, 'hundred'])})(?:[\s-]+(?:and\s+)?(?:{'|'.join([*_VALUES, *_SCALES])}))*\b"
)
_WORD = re.compile("|".join(_SMALL.split()[:10]))
_GLUED = re.compile(rf"\b(?:{_WORD.pattern}){{2,}}\b")

# fmt: off
_ROMAN = {
    "m": 1000, "cm": 900, "d": 500, "cd": 400, "c": 100, "xc": 90, "l": 50, "xl": 40, "x": 10, "ix": 9,
    "v": 5, "iv": 4, "i": 1,
}
# fmt: on
_FIGURES = {
    sign: i
    for signs in ("零一二三四五六七八九", "〇壹贰叁肆伍陆柒捌玖", "零壹貳參肆伍陸柒捌玖")
    for i, sign in enumerate(signs)
} | {"两": 2, "兩": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "拾": 10, "佰": 100, "仟": 1000, "萬": 10_000}
_CHINESE = re.compile(f"[{''.join([*_FIGURES, *_POWERS])}]+")


def digits_for_words(text: str) -> str:
    """Text in lower case with "forty-two" as "42", "四十二" as "42", "四二", "٤٢" or "➃➁" as "42"."""
    text = "".join(str(unicodedata.digit(sign)) if sign.isdigit() else sign for sign in text)
    text = _GLUED.sub(lambda match: " ".join(_WORD.findall(match[0])), text)
    text = _ENGLISH.sub(lambda match: f" {_read_english(match[0])} ", text)
    return _CHINESE.sub(lambda match: f" {_read_chinese(match[0])} ", text)


def other_forms(number: int) -> list[str]:
    """A positive number in lower case in other notations: binary, octal, hexadecimal, Roman."""
    forms = [bin(number), oct(number), hex(number)]
    if number > 7:
        forms.append(f"{number:b}")
    roman, rest = "", number
    for letters, value in _ROMAN.items():
        roman += letters * (rest // value)
        rest %= value
    return [*forms, roman] if 1 < len(roman) < 16 else forms


def _read_english(words: str) -> str:
    """The number, or several one after the other ("four two" is 4 2)."""
    numbers: list[str] = []
    total = group = 0
    room = -1  # what may still be added to the group: less than this
    for word in re.findall(r"[a-z]+", words):
        if word == "and":
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            group = max(group, 1) * scale
            room = scale
            if scale >= 1000:
                total, group = total + group, 0
            continue
        value = _VALUES[word]
        if room >= 0 and not 0 < value < room:
            numbers.append(str(total + group))
            total = group = 0
        group += value
        room = 10 if value >= 20 else 0
    return " ".join([*numbers, str(total + group)])


def _read_chinese(signs: str) -> str:
    if not any(sign in _POWERS for sign in signs):
        return "".join(str(_FIGURES[sign]) for sign in signs)
    total = group = figure = 0
    for sign in signs:
        if sign in _FIGURES:
            figure = _FIGURES[sign]
        elif _POWERS[sign] == 10_000:
            total, group, figure = (total + group + figure) * 10_000, 0, 0
        else:
            group, figure = group + (figure or 1) * _POWERS[sign], 0
    return str(total + group + figure)
