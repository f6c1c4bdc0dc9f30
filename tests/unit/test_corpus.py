"""Documents in a shuffled, resumable order; broken ones named by file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadelab.errors import UserError
from spadelab.roles.corpus import CHARS_PER_WORD, Corpus

WIDE = 10**6


def write_jsonl(path: Path, *records: object) -> str:
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
    return str(path)


def take(corpus: Corpus, n: int) -> list[str]:
    return [corpus.next(WIDE) for _ in range(n)]


def test_without_a_corpus_there_is_no_document() -> None:
    corpus = Corpus(None)
    assert corpus.next(10) == "" and len(corpus) == 0
    corpus.restore(corpus.state())
    assert corpus.next(10) == ""


def test_a_folder_gives_each_text_once_a_pass_in_an_order_of_the_seed(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for i in range(12):
        (tmp_path / ("deep/er" if i % 2 else ".") / f"{i}.{'md' if i % 3 else 'TXT'}").write_text(
            f"document {i}\n"
        )
    (tmp_path / "picture.png").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.txt").write_text(" \n")
    corpus = Corpus(str(tmp_path), seed=1)
    first, second = take(corpus, 12), take(corpus, 12)
    assert sorted(first) == sorted(second) == sorted(f"document {i}" for i in range(12))
    assert first != second
    assert take(Corpus(str(tmp_path), seed=1), 24) == first + second
    assert take(Corpus(str(tmp_path), seed=2), 12) != first


def test_jsonl_has_one_document_a_line(tmp_path: Path) -> None:
    records = [{"text": "eins"}, {"orig_doc": "zwei 二", "text": "no"}, {"text": "\ufeffdrei\u2028\x85 line"}]
    path = write_jsonl(tmp_path / "a.jsonl", *records)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("\r\n\n   \n" + json.dumps({"text": "vier", "n": 1}) + "\n" + json.dumps({"text": " "}))
    assert sorted(take(Corpus(path), 4)) == sorted(["eins", "zwei 二", "\ufeffdrei\u2028\x85 line", "vier"])


@given(st.integers(0, 25), st.integers(1, 25))
def test_the_state_continues_where_it_was_taken(
    tmp_path_factory: pytest.TempPathFactory, a: int, b: int
) -> None:
    path = write_jsonl(tmp_path_factory.getbasetemp() / "s.jsonl", *({"text": str(i)} for i in range(7)))
    corpus = Corpus(path, seed=3)
    take(corpus, a)
    state = json.loads(json.dumps(corpus.state()))
    expected = take(corpus, b)
    restored = Corpus(path, seed=3)
    take(restored, 4)
    restored.restore(state)
    assert take(restored, b) == expected


def test_another_corpus_is_not_continued(tmp_path: Path) -> None:
    state = Corpus(write_jsonl(tmp_path / "a.jsonl", {"text": "1"}, {"text": "2"})).state()
    corpus = Corpus(write_jsonl(tmp_path / "a.jsonl", {"text": "1"}))
    with pytest.raises(UserError, match=r"a\.jsonl: the run began with 2 documents and there are 1 now"):
        corpus.restore(state)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: this is not JSON"),
        (b"[" * 100_000, "line 2: this is not JSON"),
        (b'{"title": "x"}', 'line 2: there is no text in a field "text" or "orig_doc"'),
        (b'{"text": 3}', "line 2: there is no text"),
        (b'"text"', "line 2: there is no text"),
        (b'{"text": "\xff"}', "line 2: byte 10 is not UTF-8"),
    ],
)
def test_a_broken_line_is_named_before_the_run_begins(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b'{"text": "fine"}\n' + line + b"\n")
    with pytest.raises(UserError) as error:
        Corpus(str(path))
    assert f"broken.jsonl, {message}" in str(error.value)


def test_broken_files_and_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing: the corpus cannot be read \(No such file"):
        Corpus(str(tmp_path / "missing"))
    with pytest.raises(UserError, match="holds no text"):
        Corpus(str(tmp_path))
    (tmp_path / "a.txt").write_bytes(b"good \xe4")
    with pytest.raises(UserError, match=r"a\.txt: byte 5 is not UTF-8"):
        Corpus(str(tmp_path))
    (tmp_path / "a.txt").write_text("good")
    corpus = Corpus(str(tmp_path))
    (tmp_path / "a.txt").unlink()
    with pytest.raises(UserError, match=r"a\.txt: the document cannot be read"):
        corpus.next(3)


@pytest.mark.parametrize(
    ("text", "words", "cut"),
    [
        ("one two\nthree four", 3, "one two\nthree"),
        ("one two", 2, "one two"),
        ("one two", 9, "one two"),
        ("one two", 0, ""),
        ("春眠不觉晓,处处闻啼鸟。", 5, "春眠不觉晓"),
        ("用 Python 写一个程序", 4, "用 Python 写一"),
        ("ひらがな𠀀漢字", 5, "ひらがな𠀀"),
        ("x" * 1000, 7, "x" * 70),
        ("a" + " " * 1000 + "b", 2, "a"),
    ],
)
def test_words_are_limited_in_every_script(tmp_path: Path, text: str, words: int, cut: str) -> None:
    assert Corpus(write_jsonl(tmp_path / "a.jsonl", {"text": text})).next(words) == cut


@given(st.text().filter(str.strip), st.integers(0, 30))
def test_a_cut_is_a_beginning_within_both_limits(
    tmp_path_factory: pytest.TempPathFactory, text: str, words: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "p.jsonl"
    path.write_text(json.dumps({"text": text}))
    cut = Corpus(str(path)).next(words)
    assert text.strip().startswith(cut)
    assert len(cut.split()) <= words and len(cut) <= words * CHARS_PER_WORD
