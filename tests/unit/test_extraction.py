"""What a model wrote, taken apart: thoughts, answers, blocks."""

from __future__ import annotations

import pytest

from spadelab.environments.extraction import (
    find_answer,
    find_blocks,
    find_program,
    has_markup,
    strip_thoughts,
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>6</answer>", "6"),
        ("<think>5?</think> so <answer> 6 </answer>.", " 6 "),
        ("<answer>1</answer> no, <answer>2</answer>", "2"),
        ("<think><answer>1</answer></think>", None),
        ("<answer>1</answer><think>hm", None),
        ("<think>a <think> b</think><answer>3</answer>", "3"),
        ("the prompt opened this thought <answer>1</answer></think><answer>2</answer>", "2"),
        ("<answer>1</answer> and <answer>2", "1"),
        ("<answer>1<answer>2</answer>", "2"),
        ("<answer>1</answer></answer>", "1"),
        ("<answer>1", None),
        ("1</answer>", None),
        ("<ANSWER>1</ANSWER>", None),
        ("", None),
        ("<answer></answer>", ""),
        ("<answer>'深度'\n</answer>", "'深度'\n"),
        ("</answer><answer>4</answer>", "4"),
    ],
)
def test_the_last_complete_answer_outside_thoughts_counts(text: str, answer: str | None) -> None:
    assert find_answer(text) == answer


def test_thoughts_are_dropped_wherever_they_stand() -> None:
    assert strip_thoughts("a<think>b</think>c<think>d</think>e") == "ace"
    assert strip_thoughts("b</think>c") == "c"
    assert strip_thoughts("a<think>b</think>c</think>d") == "d"
    assert strip_thoughts("a<think>b") is None


def test_blocks_keep_order_labels_and_inner_backquotes() -> None:
    text = "Plan.\n```python\ns = '```'\n```\n```Input\n'```x'\n```\n```\nplain\n```\n```message\nhint\n"
    assert find_blocks(text) == [("python", "s = '```'"), ("input", "'```x'")]


def test_blocks_read_carriage_returns() -> None:
    assert find_blocks("```python\r\na = 1\r\n```\r\n") == [("python", "a = 1")]


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("\ndef f(a):\n    return a\n", "def f(a):\n    return a"),
        ("```python\nx = 1\n```\ntext\n```python\nx = 2\n```", "x = 2"),
        ("\n```py\nx = 1\n```\n", "x = 1"),
        ("```text\nx\n```", "```text\nx\n```"),
    ],
)
def test_the_program_of_an_answer(answer: str, program: str) -> None:
    assert find_program(answer) == program


def test_markup_is_found_only_as_a_whole_tag() -> None:
    assert has_markup("x</answer>") and has_markup("<think>")
    assert not has_markup("answer < think > </ans>")
