"""Copies, near copies and clusters of environments."""

from __future__ import annotations

from spadelab.environments.interactive.novelty import (
    cluster_shares,
    environment_key,
    fingerprint,
    similarity,
)

ONE = '''
import random
NAME = "Guess"
SUMMARY = "Find the number."
SKILL = "logical deduction"
MAX_TURNS = 6
ACTION_FORMAT = "text"

class GuessEnv:
    """Find it."""
    def reset(self, *, seed: int) -> tuple[str, dict]:
        self.secret = random.Random(seed).randint(1, 20)  # hidden
        return "A number from 1 to 20.", {}
    def step(self, action):
        if action == str(self.secret):
            return "Yes.", 1.0, True, False, {}
        return self._answer(action, low="higher"), 0.0, False, False, {}
    def _answer(self, action, low):
        return low if action < str(self.secret) else "lower"
    def solution(self):
        return [str(self.secret)]
'''
COPY = (
    ONE.replace("GuessEnv", "HuntEnv")
    .replace("self.secret", "self._target")
    .replace("_answer", "_tell")
    .replace("low", "under")
    .replace('"under', '"low')
    .replace("action", "text")
    .replace('"Find it."', '"Hunt."')
    .replace("Find the number.", "Another text altogether.")
    .replace('"Guess"', '"Hunt"')
    .replace("  # hidden", "")
)
OTHER = """
class LampEnv:
    NAME, SUMMARY = "Lamps", "s"
    def reset(self, *, seed):
        self.lamps = [seed >> i & 1 for i in range(4)]
        return f"lamps {self.lamps}", {}
    def step(self, action):
        for i, letter in enumerate("abcd"):
            if letter == action:
                self.lamps[i] ^= 1
        won = all(self.lamps)
        return f"lamps {self.lamps}", float(won), won, False, {}
    def solution(self):
        return [letter for letter, lamp in zip("abcd", self.lamps) if not lamp]
"""


def test_a_renamed_copy_has_the_same_key() -> None:
    assert COPY != ONE and "_target" in COPY and "under=" in COPY
    assert environment_key(COPY) == environment_key(ONE)


def test_another_constant_has_another_key_and_the_same_fingerprint() -> None:
    changed = ONE.replace("randint(1, 20)", "randint(1, 30)")
    assert environment_key(changed) != environment_key(ONE)
    assert similarity(fingerprint(changed), fingerprint(ONE)) == 1.0


def test_the_module_that_is_used_counts() -> None:
    a, b = (
        f"import {m}\nclass AEnv:\n    def reset(self): return {m}.floor(2)\n" for m in ("math", "random")
    )
    assert environment_key(a) != environment_key(b)


def test_swapped_attributes_differ() -> None:
    a = "class AEnv:\n    def f(self):\n        self.x = 1\n        self.y = 2\n        return self.x\n"
    assert environment_key(a) != environment_key(a.replace("return self.x", "return self.y"))


def test_similarity_tells_near_copies_from_others() -> None:
    near = ONE.replace('return "Yes.", 1.0', 'self.done = True\n            return "Yes.", 1.0')
    assert environment_key(near) != environment_key(ONE)
    assert similarity(fingerprint(near), fingerprint(ONE)) > 0.8
    assert similarity(fingerprint(OTHER), fingerprint(ONE)) < 0.4


def test_clusters_are_linked_through_a_third() -> None:
    a, b, c, d = frozenset(range(10)), frozenset(range(1, 11)), frozenset(range(2, 12)), frozenset({99})
    assert similarity(a, c) < 0.8 < similarity(a, b)
    assert cluster_shares([a, d, c, b]) == [0.75, 0.25, 0.75, 0.75]
    assert cluster_shares([]) == []
