"""Summaries of structure, and negative examples with their real reasons."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadelab.records import Admission, Check, Demonstration, Draft, Environment, Turn
from spadelab.roles.memory import MAX_SUMMARY_CHARS, Memory, summarise

SOURCE = """
class Helper:
    def reset(self):
        self.unrelated = 1

class RoverEnv:
    def __init__(self):
        self.never = 0

    def reset(this, *, seed):
        this.x, (this.y, *this.path) = 0, (1, 2)
        this.goal: int = 3
        this.grid[0] = other.value = 1
        for this.i in range(3):
            this.x += 1
        return "", {}
"""


def play(*actions: str) -> Demonstration:
    return Demonstration(0, "opening", tuple(Turn(action, "", 0.0) for action in actions))


ENVIRONMENT = Environment(
    "id1", "key1", "interactive", "spatial_reasoning", SOURCE, (), (), 3,
    name="Rover\n  Yard", entry="RoverEnv", turns=9, action_format="text",
    demonstrations=(play("move 3", "move 12", "dig"), play("turn left", "move 1.5")),
)  # fmt: skip


def reject(
    number: int, gate: str = "solvable", code: str = "unsolved", kind: str = "optimization"
) -> Admission:
    text = f"<think>class OldEnv:</think>```python\nclass Try{number}Env(Base):\n    pass\n```"
    checks = (Check("parse", True), Check(gate, False, code, f"seed {number}\nis not won"))
    return Admission(Draft(f"d{number}", kind, text, 3.0), checks)


def test_a_summary_tells_structure_not_source() -> None:
    assert summarise(ENVIRONMENT, 0.25) == (
        "Rover Yard (spatial_reasoning); solved in 2 to 3 of 9 turns; won 25%; "
        "state: x, y, path, goal, i; text actions: move # | dig | turn left"
    )
    assert "won" not in summarise(ENVIRONMENT)


def test_tool_calls_are_named_by_their_tools() -> None:
    calls = ['{"arguments": {"name": "bob"}, "name": "look"}', '{"arguments": {}, "name": "order"}'] * 2
    tools = replace(ENVIRONMENT, action_format="tool_call", demonstrations=(play(*calls),))
    assert summarise(tools).endswith(
        "solved in 4 of 9 turns; state: x, y, path, goal, i; tool_call actions: look | order"
    )


@given(st.text(max_size=900), st.lists(st.text(max_size=90), max_size=30), st.text(max_size=200))
def test_a_summary_is_one_short_line_whatever_the_environment_says(
    name: str, actions: list[str], source: str
) -> None:
    odd = replace(ENVIRONMENT, name=name, source=source, demonstrations=(play(*actions),))
    summary = summarise(odd, 1.0)
    assert len(summary) <= MAX_SUMMARY_CHARS and len(summary.splitlines()) <= 1


def test_rejections_keep_gate_code_reason_and_class() -> None:
    memory = Memory()
    memory.add_rejection(reject(1))
    assert memory.negatives("optimization", 3, random.Random(0)) == (
        "rejected by gate solvable (unsolved): seed 1 is not won [class Try1Env(Base):]",
    )
    assert memory.negatives("spatial_reasoning", 3, random.Random(0)) == ()


def test_what_is_no_fault_of_the_draft_is_not_remembered() -> None:
    memory = Memory()
    memory.add_rejection(reject(1, "loads", "jail_died"))
    memory.add_rejection(reject(2, "loads", "unavailable"))
    memory.add_rejection(Admission(Draft("d", "optimization", "", 1.0), (Check("parse", True),), ENVIRONMENT))
    assert memory.state() == {"negatives": []}


def test_a_draft_without_a_class_is_remembered_too() -> None:
    memory = Memory()
    memory.add_rejection(
        Admission(Draft("d", "k", "no code", 1.0), (Check("parse", False, "no_program", "none"),))
    )
    assert memory.negatives("k", 1, random.Random(0)) == (
        "rejected by gate parse (no_program): none [no class]",
    )


@pytest.mark.parametrize(
    ("wins", "n", "start"),
    [
        (10, 10, "too easy, won 10 of 10: Rover"),
        (0, 8, "too hard, won 0 of 8: Rover"),
        (9, 10, ""),
        (1, 10, ""),
        (0, 0, ""),
    ],
)
def test_too_easy_and_too_hard_are_negative(wins: int, n: int, start: str) -> None:
    memory = Memory()
    memory.add_measure(ENVIRONMENT, wins, n)
    found = memory.negatives("spatial_reasoning", 1, random.Random(0))
    assert [text[: len(start)] for text in found] == ([start] if start else [])


def test_the_latest_measure_counts() -> None:
    memory = Memory()
    memory.add_measure(ENVIRONMENT, 0, 8)
    memory.add_measure(ENVIRONMENT, 8, 8)
    (text,) = memory.negatives("spatial_reasoning", 5, random.Random(0))
    assert text.startswith("too easy")
    memory.add_measure(ENVIRONMENT, 4, 8)
    assert memory.negatives("spatial_reasoning", 5, random.Random(0)) == ()


def test_the_oldest_of_a_skill_is_forgotten_first() -> None:
    memory = Memory(capacity=2)
    for number in range(4):
        memory.add_rejection(reject(number))
    memory.add_rejection(reject(9, kind="causal_inference"))
    texts = memory.negatives("optimization", 9, random.Random(0))
    assert {text[-22:] for text in texts} == {"[class Try2Env(Base):]", "[class Try3Env(Base):]"}
    assert len(memory.negatives("causal_inference", 9, random.Random(0))) == 1


def test_the_state_restores_content_order_and_draws() -> None:
    memory, restored = Memory(capacity=4), Memory(capacity=4)
    for number in range(6):
        memory.add_rejection(reject(number))
    memory.add_measure(ENVIRONMENT, 0, 4)
    restored.add_rejection(reject(99))
    restored.restore(json.loads(json.dumps(memory.state(), sort_keys=True)))
    assert restored.state() == memory.state()
    for held in (memory, restored):
        held.add_rejection(reject(7))
    assert restored.negatives("optimization", 2, random.Random(5)) == memory.negatives(
        "optimization", 2, random.Random(5)
    )
    assert restored.state() == memory.state()


def test_two_proposers_whose_drafts_have_the_same_id_are_both_remembered() -> None:
    memory, one, two = Memory(), reject(1), reject(2)
    memory.add_rejection(one)
    memory.add_rejection(replace(two, draft=replace(two.draft, id=one.draft.id)))
    assert len(memory.negatives("optimization", 9, random.Random(0))) == 2
