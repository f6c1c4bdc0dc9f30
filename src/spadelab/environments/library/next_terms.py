"""Sequences of many kinds, to be continued."""

import random
import re

NAME = "Next Terms"
SUMMARY = "Continue a row of number sequences, each with a rule of its own."
SKILL = "Pattern Recognition"
MAX_TURNS = 8
ACTION_FORMAT = "boxed"
LEVEL = 3


class NextTermsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.rounds = [self.invent(rng) for _ in range(LEVEL + 2)]
        self.solved = 0
        self.paid = 0.0
        self.left = len(self.rounds) + 1
        return (
            f"I show the beginnings of {len(self.rounds)} sequences, one after the other. Write "
            "the next term of the sequence on show, as a number in \\boxed{}. A right answer brings the next "
            f"sequence. You have {self.left} turns, so a single mistake is forgiven.\n{self.show()}",
            {},
        )

    def invent(self, rng: random.Random) -> list[int]:
        a, b, kind = rng.randint(2, 12), rng.randint(2, 9), rng.randrange(LEVEL + 2)
        if kind == 0:
            return [a + b * n for n in range(6)]
        if kind == 1:
            return [n * n + a for n in range(b, b + 6)]
        if kind == 2:
            return [a * 2**n + b for n in range(6)]
        if kind == 3:
            return [a + b * (n // 2) if n % 2 == 0 else b + a * (n // 2) for n in range(6)]
        terms = [a, b]
        while len(terms) < 6:  # the last kinds: sums, differences and weighted sums of the two terms before
            terms.append(terms[-1] * (kind - 3) + terms[-2] * (1 if kind % 2 == 0 else -1))
        return terms

    def show(self) -> str:
        return f"Sequence {self.solved + 1}: {', '.join(map(str, self.rounds[self.solved][:5]))}, ?"

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "The game is over.", 0.0, False, True, {}
        self.left -= 1
        if not re.fullmatch(r"-?\d{1,9}", action.strip()) or int(action) != self.rounds[self.solved][5]:
            text = f"That is not the next term. Turns left: {self.left}.\n{self.show()}"
            return text, 0.0, False, self.left == 0, {}
        self.solved += 1
        if self.solved == len(self.rounds):
            self.left = 0
            return "Right, that was the last sequence.", 1.0 - self.paid, True, False, {}
        reward = 0.5 / len(self.rounds) if self.left else 0.0
        self.paid += reward
        return f"Right. Turns left: {self.left}.\n{self.show()}", reward, False, self.left == 0, {}

    def solution(self) -> list[str]:
        return [str(terms[5]) for terms in self.rounds]

    def hint(self) -> str:
        return (
            "Look at the differences of neighbours first; if they show nothing, express each term by the "
            "pair before it, or look at every other term."
        )
