"""A secret number, found by halving what is left."""

import random
import re

NAME = "Number Hunt"
SUMMARY = "Find a secret number by asking whether it is above others, with hardly a question to waste."
SKILL = "Mathematical Reasoning"
MAX_TURNS = 14
ACTION_FORMAT = "text"
LEVEL = 3


class NumberHuntEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.top = 250 * 2**LEVEL - 1
        self.secret = random.Random(seed).randint(1, self.top)
        self.left = self.top.bit_length() + 1
        return (
            f"I think of a whole number from 1 to {self.top}. 'above 40' asks whether it is larger than 40, "
            "or than any other number that you choose. A number alone is your answer; a wrong one loses. "
            f"You have {self.left} turns, the answer included.",
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
        if re.fullmatch(r"\d{1,6}", action):
            right = int(action) == self.secret
            return "Right, that is my number." if right else f"No, it is not {action}.", right
        asked = re.fullmatch(r"above (\d{1,6})", action)
        if not asked:
            return "Write 'above' and a whole number, or a whole number alone.", None
        above = self.secret > int(asked[1])
        return f"My number is {'above' if above else 'not above'} {asked[1]}.", None

    def solution(self) -> list[str]:
        low, high, questions = 1, self.top, []
        while low < high:
            middle = (low + high) // 2
            questions.append(f"above {middle}")
            low, high = (middle + 1, high) if self.secret > middle else (low, middle)
        return [*questions, str(self.secret)]

    def hint(self) -> str:
        half = "upper" if self.secret > self.top // 2 else "lower"
        return f"My number lies in the {half} half. Always ask for the middle of what is still possible."
