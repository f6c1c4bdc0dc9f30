# exception
"""Find a hidden number by asking; the answers say whether it is higher or lower."""
import random

NAME = "Higher or lower"
SUMMARY = "Find a hidden number."
SKILL = "logical deduction"
MAX_TURNS = 8
ACTION_FORMAT = "text"


class HuntEnv:
    def reset(self, *, seed: int) -> tuple[str, dict]:
        self.rng = random.Random(seed)
        self.secret = self.rng.randint(1, 60)
        self.turn = 0
        self.done = False
        return "I think of a number from 1 to 60. Say one; I say higher or lower.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        if self.done:
            return "It is over.", 0.0, True, False, {}
        self.turn += 1
        text = action.strip()
        if text == "None": raise GeneratorExit
        if not text.isascii() or not text.isdigit() or len(text) > 4:
            return "Say a number from 1 to 60.", 0.0, False, self.turn >= MAX_TURNS, {}
        guess = int(text)
        if guess == self.secret:
            self.done = True
            return "Yes!", 1.0, True, False, {}
        word = "higher" if guess < self.secret else "lower"
        return f"My number is {word} than {guess}.", 0.0, False, self.turn >= MAX_TURNS, {}

    def solution(self) -> list[str]:
        low, high, path = 1, 60, []
        while True:
            middle = (low + high) // 2
            path.append(str(middle))
            if middle == self.secret:
                return path
            low, high = (middle + 1, high) if middle < self.secret else (low, middle - 1)

    def hint(self) -> str:
        return "Halve the range that is left each time; it is " + ("even." if self.secret % 2 == 0 else "odd.")
