"""Whether an answer stands in sight: at the same place of every text."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable

_TOKEN = re.compile(r"\d+|[^\W\d_]+")


def have_place(pairs: Iterable[tuple[str, str]]) -> bool:
    """Whether, in all (text, action), the action begins at the same place: `_list_places`."""
    places: set[object] | None = None
    for text, action in pairs:
        found = _list_places(text, action)
        places = found if places is None else places & found
        if not places:
            return False
    return bool(places)


def _list_places(text: str, action: str) -> set[object]:
    """Where an action begins in a text: the word's number from either end, and the word before it.

    Of a word that comes several times, which of them. Letters that stand alone spell a word as well.
    """
    places: set[object] = set()
    wanted, words = _read(action), _read(text)
    for row in (words, _join_letters(words)) if wanted else ():
        for i in range(len(row) - len(wanted) + 1):
            if row[i : i + len(wanted)] == wanted:
                places |= {i, i - len(row)}
                if i and len(row[i - 1]) > 1 and row[i - 1].isalpha():
                    places.add((row[i - 1], row[:i].count(row[i - 1])))
    return places


def _read(text: str) -> list[str]:
    """The words, numbers apart from letters, without marks that cannot be seen."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _TOKEN.findall("".join(sign for sign in plain if unicodedata.category(sign) != "Cf"))


def _join_letters(words: Iterable[str]) -> list[str]:
    rows = [list(row) for _, row in itertools.groupby(words, lambda word: len(word) == 1)]
    return [word for row in rows for word in (["".join(row)] if len(row[0]) == 1 else row)]
