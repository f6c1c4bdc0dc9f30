"""What a hint may say: it helps, but it is no code and gives no answer away.

An instance's solution is its list of actions. A hint may not name
- the only action, the first one or the last one,
- an action that no observation shows (a hidden value),
- two actions in a row, in their order,
- any of this spelled, spaced out, reversed, or encoded.
A number counts as a whole number, in digits or words. A text of one or two characters ("a", "up") occurs in
almost any sentence, so it counts only where it is quoted, announced ("the answer is B") or listed with the
next one ("a, then b").
"""

from __future__ import annotations

import base64
import codecs
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence

from spadelab.environments.interactive.numerals import digits_for_words, other_forms
from spadelab.environments.trials import Rejected

MAX_HINT_CHARS = 300

_SHORT = 2
_CODE = re.compile(
    r"```|~~~|\bdef\s+\w+\s*\(|\blambda\b[^.]*:|\bimport\s+\w+\s*$|^\s*(?:return|import|from|for|while|if)\b.*[:\]);]\s*$"
    r"|[\w\]]\s*(?:[-+*/%&|^:<>]|//|\*\*)?==?\s*[\w\"'\[({-]|\b(?:self|random|math)\.\w|\b[A-Za-z_]\w+\((?!e?s\))",
    re.MULTILINE,
)
_TOKEN = re.compile(r"[^\W_]+")
_FIGURES = re.compile(r"\d+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ANNOUNCED = (
    r"\b(?:answer|choose|option|pick|press|play|type|say|enter|letter|reply|write|select|is|action)\b"
)


def judge_hint(hint: str, solutions: Sequence[Sequence[str]], observations: Sequence[str]) -> str:
    """Why a hint is illegal, "" when it is legal.

    `solutions` are lists of actions none of which it may give away, `observations` what the solver sees.
    """
    try:
        check_hint(hint, solutions, observations)
    except Rejected as rejected:
        return rejected.reason
    return ""


def check_hint(hint: str, solutions: Sequence[Sequence[str]], observations: Sequence[str]) -> None:
    """Raise Rejected with code "hint_long", "hint_code" or "hint_leak"."""
    if len(hint) > MAX_HINT_CHARS:
        raise Rejected(
            "hint_long", f"the hint has {len(hint)} characters, at most {MAX_HINT_CHARS} are allowed"
        )
    if _CODE.search(unicodedata.normalize("NFKC", hint)):
        raise Rejected("hint_code", "the hint contains code: write it in plain words")
    for solution in solutions:
        leaked = _find_leak(hint, solution, observations)
        if leaked:
            raise Rejected("hint_leak", f"the hint gives the answer away: it contains {leaked[:60]!r}")


def _find_leak(hint: str, solution: Sequence[str], observations: Sequence[str]) -> str:
    words = _tokens(hint)
    pieces = [_pieces(action) for action in solution]
    for index, parts in enumerate(pieces):
        outer = index in (0, len(pieces) - 1)
        for piece in parts:
            if _names(hint, words, piece) and (outer or not _is_shown(piece, observations)):
                return piece
    texts = [_tokens(piece) for parts in pieces for piece in parts]
    for first, second in itertools.pairwise(texts):
        if first and second and _contains(_without_joints(words), [*first, *second]):
            return " ".join([*first, *second])
    for secret in [*solution, "".join(solution), " ".join(solution), ",".join(solution)]:
        if _is_encoded(hint, words, secret):
            return f"{secret} in another form"
    return ""


def _is_shown(piece: str, observations: Sequence[str]) -> bool:
    return set(_tokens(piece)) <= {token for text in observations for token in _tokens(text)}


def _pieces(action: str) -> list[str]:
    """The parts of an action that tell something: of a tool call the values of its arguments."""
    try:
        call = json.loads(action)
    except (ValueError, RecursionError):
        return [action]
    if not isinstance(call, dict):
        return [action]
    values = list(_leaves(call.get("arguments", call)))
    return values or [str(call.get("name", action))]


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(digits_for_words(unicodedata.normalize("NFKC", text).casefold()))


def _names(hint: str, words: list[str], piece: str) -> bool:
    plain = unicodedata.normalize("NFKC", piece).strip()
    tokens = _tokens(piece)
    if not tokens:  # only signs, such as "+": they count in quotes
        return bool(plain) and bool(re.search(rf"[\"'`“‘]{re.escape(plain)}[\"'`”’]", hint))
    text = "".join(tokens)
    if _NUMBER.fullmatch(digits_for_words(plain.casefold())):
        forms = other_forms(int(text)) if len(tokens) == 1 and len(text) < 12 and int(text) else []
        figures = _FIGURES.findall(" ".join(words))
        spelled = len(text) > 1 and (text in _spaced(words) or text == "".join(figures))
        return _contains(words, tokens) or text in figures or spelled or any(form in words for form in forms)
    if len(text) <= _SHORT and text.isascii():
        quoted = rf"[\"'`“‘(\[]\s*{re.escape(plain)}\s*[\"'`”’)\]]"
        told = rf"{_ANNOUNCED}\W+(?i:{re.escape(plain)})(?![\w'’]|\s+[a-z])"
        capital = plain.isupper() and plain not in ("A", "I")
        return any(
            re.search(pattern, hint)
            for pattern in (quoted, f"(?i:{told.replace('(?i:', '(?:')})", *[rf"\b{plain}\b"] * capital)
        )
    if not text.isascii() and len(text) > 1:
        return text in "".join(words)  # scripts without spaces
    return _contains(words, tokens) or text in _spaced(words) or (len(text) > 5 and text in "".join(words))


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(list(words[i : i + len(wanted)]) == list(wanted) for i in range(len(words) - len(wanted) + 1))


def _without_joints(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in ("then", "and", "next", "after", "that", "by", "followed")]


def _spaced(words: Sequence[str]) -> str:
    """Letters that stand alone, joined: "s w o r d" and "s-w-o-r-d" spell a word."""
    return "".join(word if len(word) == 1 else " " for word in words)


def _is_encoded(hint: str, words: list[str], secret: str) -> bool:
    text = "".join(_tokens(secret))
    if len(text) < 2:
        return False
    raw = secret.strip().encode()
    forms = {form for plain in (raw, raw.lower(), raw.upper()) for form in (plain, base64.b64encode(plain))}
    encoders = (base64.b64encode, base64.b32encode, base64.b85encode)
    coded = {encode(form).decode().rstrip("=") for form in forms for encode in encoders}
    if any(code in hint if len(code) > 3 else code in hint.split() for code in coded):
        return True
    if _contains(words, [str(ord(sign)) for sign in text]):
        return True
    letters = "".join(words)
    turned = text[::-1]
    codes = [codecs.encode(text, "rot13"), raw.hex(), text.encode().hex()]
    if turned != text and (
        turned in words or turned in _spaced(words) or (len(turned) > 3 and turned in letters)
    ):
        return len(text) > 2
    return len(text) > 2 and any(code in letters for code in codes if not code.isdigit() or len(code) > 3)
