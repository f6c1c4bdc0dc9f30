"""A secret number, found by halving what is left."""

import random
import re

NAME = "Number Hunt"
SUMMARY = "Find a secret number from the answers higher and lower, with no guess to waste."
SKILL = "Mathematical Reasoning"
MAX_TURNS = 13
ACTION_FORMAT = "text"
LEVEL = 3


class NumberHuntEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.top = 250 * 2**LEVEL - 1
        self.secret = random.Random(seed).randint(1, self.top)
        self.left = self.top.bit_length()
        return (
            f"I think of a whole number from 1 to {self.top}. Each turn, write your guess as digits alone. "
            f"I answer whether my number is higher or lower. You have {self.left} guesses.",
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
        if not re.fullmatch(r"\d{1,6}", action):
            return f"That is no whole number from 1 to {self.top}.", None
        guess = int(action)
        if guess == self.secret:
            return "Right, that is my number.", True
        return f"My number is {'higher' if self.secret > guess else 'lower'} than {guess}.", None

    def solution(self) -> list[str]:
        low, high, guesses = 1, self.top, [(1 + self.top) // 2]
        while guesses[-1] != self.secret:
            if guesses[-1] < self.secret:
                low = guesses[-1] + 1
            else:
                high = guesses[-1] - 1
            guesses.append((low + high) // 2)
        return [str(guess) for guess in guesses]

    def hint(self) -> str:
        half = "upper" if self.secret > self.top // 2 else "lower"
        return f"My number lies in the {half} half. Always guess the middle of what is still possible."
