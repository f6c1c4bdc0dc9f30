"""Documents that ground the proposer: a folder of texts or a JSONL file, in a shuffled order."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

from spadelab.errors import UserError
from spadelab.rng import Streams

SUFFIXES = (".txt", ".md")
CHARS_PER_WORD = 10
_WIDE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")


class Corpus:
    """The documents of `path`, each once in a pass, every pass in an order that follows from `seed`.

    A folder gives its .txt and .md files, also those in folders below it; any other path is JSONL with
    the document in the field "text" or, as in SPADE's corpora, "orig_doc". Everything is read once at
    the start, so that a broken document ends a run before it begins, and again when it is taken: only
    places are kept. Raises UserError naming file and line.
    """

    def __init__(self, path: str | None, seed: int = 0) -> None:
        self.path, self.seed = path, seed
        self._places = _index(Path(path)) if path else []
        self._taken = 0
        self._pass, self._order = -1, [0]

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._places)

    def next(self, limit_words: int) -> str:
        """The next document, cut to `limit_words` words and to ten times as many characters.

        In scripts without spaces (Chinese, Japanese) each character is a word. "" without a corpus.
        """
        if not self._places:
            return ""
        number, position = divmod(self._taken, len(self._places))
        if number != self._pass:
            stream = Streams(self.seed).python(f"corpus pass {number}")
            self._pass, self._order = number, stream.sample(range(len(self)), len(self))
        self._taken += 1
        return _cut(_read(*self._places[self._order[position]]), limit_words)

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {"documents": len(self), "taken": self._taken}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`. Raises UserError when the corpus has another number of documents now."""
        if state["documents"] != len(self):
            raise UserError(
                f"{self.path or 'corpus'}: the run began with {state['documents']} documents and there are "
                f"{len(self)} now; put the corpus back as it was."
            )
        self._taken = state["taken"]


def _index(path: Path) -> list[tuple[Path, int, int]]:
    """(file, line, offset) of every document; line 0: the whole file is one."""
    try:
        if path.is_dir():
            files = sorted(f for f in path.rglob("*") if f.suffix.lower() in SUFFIXES and f.is_file())
            places = [(file, 0, 0) for file in files]
        else:
            places, offset = [], 0
            with path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        places.append((path, number, offset))
                    offset += len(line)
    except OSError as error:
        raise UserError(f"{path}: the corpus cannot be read ({error.strerror}).") from None
    places = [place for place in places if _read(*place)]
    if not places:
        raise UserError(
            f"{path}: the corpus holds no text; it must be a folder of .txt or .md files, or JSONL."
        )
    return places


def _read(file: Path, line: int, offset: int) -> str:
    try:
        with file.open("rb") as content:
            content.seek(offset)
            text = (content.readline() if line else content.read()).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{file}: the document cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        where = f"{file}, line {line}" if line else str(file)
        raise UserError(f"{where}: byte {error.start} is not UTF-8; save it as UTF-8 text.") from None
    return (_parse(file, line, text) if line else text).strip()


def _parse(file: Path, line: int, text: str) -> str:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}, line {line}: this is not JSON ({error}).") from None
    record = record if isinstance(record, dict) else {}
    document = record.get("orig_doc", record.get("text"))
    if not isinstance(document, str):
        raise UserError(f'{file}, line {line}: there is no text in a field "text" or "orig_doc".')
    return document


def _cut(text: str, limit_words: int) -> str:
    words = islice(_WORD.finditer(text), max(0, limit_words - 1), None)
    last = next(words, None)
    end = last.end() if last and limit_words > 0 else len(text)
    return text[:end][: limit_words * CHARS_PER_WORD].rstrip()
