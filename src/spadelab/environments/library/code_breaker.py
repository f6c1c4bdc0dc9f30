"""A secret code of different digits, judged guess by guess."""

import itertools
import random

NAME = "Code Breaker"
SUMMARY = "Find a secret code of different digits from the counts of right and misplaced digits."
SKILL = "Logical Deduction"
MAX_TURNS = 8
ACTION_FORMAT = "text"
LEVEL = 3


class CodeBreakerEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.digits = "12345678"[: LEVEL + 3 + (LEVEL < 3)]
        self.length = 3 if LEVEL < 3 else 4
        self.code = "".join(random.Random(seed).sample(self.digits, self.length))
        self.left = 5 + (LEVEL + 1) // 2
        return (
            f"I hide a code of {self.length} different digits, each from 1 to {len(self.digits)}. Each turn, "
            f"write a guess of {self.length} different digits without spaces, such as "
            f"{self.digits[: self.length]}. I count the digits that are right and in their place, and those "
            f"that are right but elsewhere. You have {self.left} guesses.",
            {},
        )

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "The game is over.", 0.0, False, True, {}
        self.left -= 1
        text, won = self.answer(action.strip().lower())
        if won is not None:
            self.left = 0
            return text, float(won), True, False, {}
        return f"{text} Turns left: {self.left}.", 0.0, False, self.left == 0, {}

    def answer(self, action: str) -> tuple[str, bool | None]:
        if len(set(action)) != len(action) or len(action) != self.length or set(action) - set(self.digits):
            return f"A guess has {self.length} different digits from 1 to {len(self.digits)}.", None
        placed, elsewhere = compare(action, self.code)
        if placed == self.length:
            return "Right, that is the code.", True
        return f"{action}: {placed} in place, {elsewhere} elsewhere.", None

    def solution(self) -> list[str]:
        codes = ["".join(code) for code in itertools.permutations(self.digits, self.length)]
        guesses = [codes[0]]
        while guesses[-1] != self.code:
            reply = compare(guesses[-1], self.code)
            codes = [code for code in codes if compare(guesses[-1], code) == reply]
            guesses.append(codes[len(codes) // 2])
        return guesses

    def hint(self) -> str:
        return "Guess only codes that agree with every answer so far, and write down which codes those are."


def compare(guess: str, code: str) -> tuple[int, int]:
    placed = sum(a == b for a, b in zip(guess, code, strict=True))
    return placed, len(set(guess) & set(code)) - placed
