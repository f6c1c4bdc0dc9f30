"""What the proposer remembers: compact summaries of environments, and real examples of what went wrong."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from typing import Any

from spadelab.environments.interactive.session import MACHINERY
from spadelab.environments.scopes import walk
from spadelab.environments.syntax import ProgramError, hash_text, parse_program
from spadelab.records import Admission, Environment

MAX_SUMMARY_CHARS = 400
MAX_REASON_CHARS = 300
TOO_EASY, TOO_HARD = 0.9, 0.1
"""Win rates beyond which an environment is a negative example (SPADE, env_memory.py)."""

_CLASS = re.compile(r"^class\s+\w*Env\b[^\n]*", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TOOL = re.compile(r'"name": "([^"]*)"')


def summarise(environment: Environment, rate: float | None = None) -> str:
    """One line of at most 400 characters on how an interactive environment is built.

    Name, skill, turns, win rate if given, the attributes that `reset` assigns, and the kinds of actions
    (numbers as #) of its own solutions; SPADE shows the first 2000 characters of the source instead.
    """
    lengths = [len(demonstration.turns) for demonstration in environment.demonstrations]
    facts = [
        f"{_line(environment.name)[:60]} ({environment.kind})",
        f"solved in {_span(lengths)} of {environment.turns} turns" if lengths else "",
        f"won {rate:.0%}" if rate is not None else "",
        f"state: {', '.join(_state_names(environment))[:150]}",
        f"{environment.action_format} actions: {' | '.join(_action_kinds(environment))[:120]}",
    ]
    return "; ".join(fact for fact in facts if fact)[:MAX_SUMMARY_CHARS]


class Memory:
    """The latest `capacity` negative examples of each skill.

    A rejected draft is remembered with its gate and reason, an environment with its win rate while that
    is too high or too low: SPADE names the file alone. Failures of the machinery teach nothing.
    """

    def __init__(self, capacity: int = 32) -> None:
        self.capacity = capacity
        self._negatives: dict[str, dict[str, str]] = {}

    def add_rejection(self, admission: Admission) -> None:
        """Remember why a draft was rejected; an admitted one changes nothing."""
        check = next((check for check in admission.checks if not check.passed), None)
        if check and check.code not in MACHINERY:
            classes = _CLASS.findall(admission.draft.text)
            title = _line(classes[-1])[:80] if classes else "no class"
            reason = _line(check.reason)[:MAX_REASON_CHARS]
            self._add(
                admission.draft.kind,
                hash_text(admission.draft.text),  # the ids of two proposers are the same
                f"rejected by gate {check.gate} ({check.code}): {reason} [{title}]",
            )

    def add_measure(self, environment: Environment, wins: int, n: int) -> None:
        """Remember an environment that is too easy or too hard, forget it when it no longer is."""
        self._negatives.get(environment.kind, {}).pop(environment.id, None)
        rate = wins / n if n else 0.5
        if not TOO_HARD <= rate <= TOO_EASY:
            verdict = "too easy" if rate > 0.5 else "too hard"
            text = f"{verdict}, won {wins} of {n}: {summarise(environment)}"
            self._add(environment.kind, environment.id, text)

    def negatives(self, kind: str, k: int, stream: random.Random) -> tuple[str, ...]:
        """At most `k` different negative examples of a skill, uniformly."""
        pool = list(dict.fromkeys(self._negatives.get(kind, {}).values()))
        return tuple(stream.sample(pool, min(k, len(pool))))

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {
            "negatives": [[kind, *pair] for kind, held in self._negatives.items() for pair in held.items()]
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self._negatives = {}
        for kind, key, text in state["negatives"]:
            self._add(kind, key, text)

    def _add(self, kind: str, key: str, text: str) -> None:
        held = self._negatives.setdefault(kind, {})
        held[key] = text
        if len(held) > self.capacity:
            del held[next(iter(held))]


def _state_names(environment: Environment) -> list[str]:
    try:
        tree = parse_program(environment.source)
    except ProgramError:
        return []
    owners = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == environment.entry)
    resets = (
        m for owner in owners for m in owner.body if isinstance(m, ast.FunctionDef) and m.name == "reset"
    )
    return list(dict.fromkeys(name for reset in resets for name in _assigned(reset)))


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    """Attributes that are assigned to the first parameter, in the order of the source."""
    own = {argument.arg for argument in function.args.args[:1]}
    nodes = [n for n in walk(function) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        if isinstance(node.value, ast.Name) and node.value.id in own:
            yield node.attr


def _action_kinds(environment: Environment) -> list[str]:
    """What the actions of the solutions look like: each kind once, the tools alone of tool calls."""
    actions = [turn.action for demonstration in environment.demonstrations for turn in demonstration.turns]
    if environment.action_format == "tool_call":
        kinds = [_TOOL.findall(action)[-1:] or [""] for action in actions]
        return list(dict.fromkeys(kind for (kind,) in kinds))[:8]
    return list(dict.fromkeys(_NUMBER.sub("#", _line(action))[:30] for action in actions))[:8]


def _span(lengths: list[int]) -> str:
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low} to {high}"


def _line(text: str) -> str:
    return " ".join(text.split())
