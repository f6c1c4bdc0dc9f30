"""Replies become actions: the last box, the last call, exactly, or a sentence that says why not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadelab.roles.actions import Action, find_boxed, read_action

PLAIN = st.text().filter(
    lambda text: not any(mark in text for mark in ("{", "}", "think>", "boxed", "tool_call"))
)
KEYS = st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
CALLS = st.fixed_dictionaries(
    {"name": st.text(max_size=9), "arguments": st.dictionaries(KEYS, VALUES, max_size=4)}
)
NESTED = st.recursive(
    st.text("ab 中\\", max_size=4),
    lambda inner: st.builds(lambda a, b, c: a + "{" + b + "}" + c, inner, inner, inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (r"\boxed{1}", "1"),
        (r"first \boxed{1}, no: \boxed{ 2 }.", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\boxed{4} and an unfinished \boxed{5", "4"),
        (r"{ a stray brace \boxed{6}", "6"),
        (r"} \boxed {7} }", "7"),
        (r"\boxed{}", ""),
        ("  go north\n", "go north"),
        (r"<think>\boxed{8}</think>\boxed{9}", "9"),
        (r"<think>\boxed{8}</think> ten", "ten"),
        (r"opened by the prompt \boxed{8}</think>\boxed{11}", "11"),
        (r"\boxed{向北{走}}", "向北{走}"),
    ],
)
def test_the_last_box_counts(reply: str, action: str) -> None:
    assert read_action(reply, "boxed") == Action(action)


def test_text_is_the_whole_reply_without_thoughts() -> None:
    assert read_action("<think>left?</think>\n go \\boxed{right} \n", "text") == Action("go \\boxed{right}")


@pytest.mark.parametrize("action_format", ["text", "boxed", "tool_call"])
def test_an_open_thought_is_no_action(action_format: str) -> None:
    action = read_action('\\boxed{1} {"name": "a", "arguments": {}} <think> hm', action_format)
    assert action.text == "" and "never closed" in action.error


@given(PLAIN, NESTED, PLAIN)
def test_any_balanced_box_is_read_exactly(before: str, content: str, after: str) -> None:
    assert find_boxed(f"{before}\\boxed{{{content}}}{after}") == content.strip()


@given(st.text(r"\boxed{} ", max_size=60))
def test_boxes_never_hold_a_stray_brace(text: str) -> None:
    content = find_boxed(text)
    assert content is None or content.count("{") == content.count("}")


@given(st.text(), st.sampled_from(["text", "boxed", "tool_call"]))
def test_every_reply_gives_an_action_or_an_error(text: str, action_format: str) -> None:
    action = read_action(text, action_format)
    assert not (action.text and action.error)
    if action_format == "tool_call" and not action.error:
        assert json.loads(action.text).keys() == {"name", "arguments"}


@pytest.mark.parametrize(
    "wrap",
    [
        "CALL",
        "<tool_call>\nCALL\n</tool_call>",
        "```json\nCALL\n```",
        "I call CALL.",
        'not {"name": "x"} nor {this}, but CALL',
        '<tool_call>{"name": "x", "arguments": {}}</tool_call><tool_call>CALL</tool_call> see {"a": 1}',
    ],
)
@given(call=CALLS)
def test_nested_arguments_arrive_exactly(wrap: str, call: dict[str, Any]) -> None:
    action = read_action(wrap.replace("CALL", json.dumps(call)), "tool_call")
    assert action.error == "" and json.loads(action.text) == call
    assert read_action(action.text, "tool_call") == action


def test_the_call_is_canonical_and_tags_inside_its_texts_are_text() -> None:
    call = '<tool_call>{"name": "说", "arguments": {"b": "</tool_call>{<tool_call>", "a": {"z": 1, "y": []}}}'
    expected = '{"arguments": {"a": {"y": [], "z": 1}, "b": "</tool_call>{<tool_call>"}, "name": "说"}'
    assert read_action(call, "tool_call") == Action(expected)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("", "no JSON object"),
        ("go north", "no JSON object"),
        ("<tool_call>go</tool_call>", "not valid JSON"),
        ('{"name": "a", "arguments": {}', "no JSON object"),
        ('<tool_call>{"name": "a", "arguments": {"b": {"c": 1}}</tool_call>', "not valid JSON"),
        (
            '<tool_call>{"name": "a", "arguments": {}}</tool_call><tool_call>{"name"</tool_call>',
            "not valid JSON",
        ),
        ("<tool_call>[1]</tool_call>", "must be a JSON object"),
        ('{"name": "a"}', "exactly the keys"),
        ('{"name": "a", "arguments": {}, "id": 1}', "exactly the keys"),
        ('{"name": 1, "arguments": {}}', '"name" of a tool call must be a text'),
        ('{"name": "a", "arguments": "{}"}', '"arguments" an object'),
        ('{"name": "a", "arguments": {"b": NaN}}', "not finite"),
        ('{"name": "a", "arguments": {"b": [-Infinity]}}', "not finite"),
        ('{"name": "a", "arguments": {"b": 1e999}}', "not finite"),
        ('{"name": "a", "arguments": {"b": {"c": 1, "c": 2}}}', "twice"),
        ('{"name": "a", "name": "b", "arguments": {}}', "twice"),
        ('{"name": "a", "arguments": {"b": %s}}' % ("1" * 5000), "too many digits"),
        ('{"name": "a", "arguments": {"b": "%s"}}' % ("x" * 4000), "more than 4000 characters"),
    ],
)
def test_what_is_no_call_is_explained(reply: str, error: str) -> None:
    action = read_action(reply, "tool_call")
    assert action.text == "" and error in action.error


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        '{"a":',
        '{"a":[',
        "[",
        '{"a',
        '{"\\"',
        '"',
        "<tool_call>",
        "<tool_call>{",
        "\\boxed{",
        "{}",
        "x",
        " ",
    ],
)
@pytest.mark.parametrize("size", [99_999, 10_000_000])
@pytest.mark.parametrize("action_format", ["boxed", "tool_call"])
def test_hostile_lengths_are_refused_in_linear_time(piece: str, size: int, action_format: str) -> None:
    reply = (piece * (size // len(piece) + 1))[:size]
    start = time.process_time()
    action = read_action("<tool_call>" + reply if piece == "[" else reply, action_format)
    assert time.process_time() - start < 5  # CPU seconds; a quadratic pass takes minutes
    assert len(action.text) <= 4000 and (action.error or size < 100_000)


def test_deep_nesting_is_named() -> None:
    reply = '{"name": "a", "arguments": ' + '{"a":' * 15_000 + "1" + "}" * 15_001
    assert "nested too deeply" in read_action(reply, "tool_call").error


def test_an_action_too_long_for_the_environment_is_refused_in_every_format() -> None:
    assert "more than 4000 characters" in read_action("x" * 4001, "text").error
    assert "more than 4000 characters" in read_action("\\boxed{%s}" % ("x" * 4001), "boxed").error
    assert read_action("<think>" + "x" * 200_000 + "</think>" + "y" * 4000, "text") == Action("y" * 4000)


def test_an_unknown_format_is_a_bug() -> None:
    with pytest.raises(ValueError, match="unknown action format 'xml'"):
        read_action("1", "xml")
