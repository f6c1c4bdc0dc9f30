"""A machine that moves letters about and shifts them along the alphabet."""

import random
import string

NAME = "Letter Machine"
SUMMARY = "Feed words to a machine, find out what it does, and say what it makes of others."
SKILL = "Pattern Recognition"
MAX_TURNS = 10
ACTION_FORMAT = "text"
LEVEL = 3
LETTERS = string.ascii_lowercase


class LetterMachineEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.size = LEVEL + 3
        self.order = rng.sample(range(self.size), self.size)
        self.shift = rng.randint(1, 25)
        self.words = ["".join(rng.choices(LETTERS, k=self.size)) for _ in range(LEVEL + 1)]
        self.solved = 0
        self.left = len(self.words) + 4
        return (
            f"A machine takes words of {self.size} letters from a to z. It brings the letters into another "
            "order and moves each by the same number of places along the alphabet (after z comes a). 'feed' "
            f"and a word shows what comes out, such as: feed {'xyzxyzxyz'[: self.size]}. A word alone is "
            f"your answer to the question; a wrong answer ends the game. There are {len(self.words)} "
            f"questions. {self.ask()} You have {self.left} turns.",
            {},
        )

    def ask(self) -> str:
        return f"Question {self.solved + 1}: what does it make of {self.words[self.solved]}?"

    def make(self, word: str) -> str:
        return "".join(LETTERS[(LETTERS.index(word[i]) + self.shift) % 26] for i in self.order)

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
        word = action.removeprefix("feed ")
        if len(word) != self.size or set(word) - set(LETTERS):
            return f"Write 'feed' and a word of {self.size} letters, or your answer alone.", None
        if word != action:
            if word == self.words[self.solved]:
                return "The word of the question cannot be fed.", None
            return f"{word} becomes {self.make(word)}.", None
        if word != self.make(self.words[self.solved]):
            return f"No, {self.words[self.solved]} does not become {word}. You lose.", False
        self.solved += 1
        return (
            ("Right, that was the last.", True)
            if self.solved == len(self.words)
            else (f"Right. {self.ask()}", None)
        )

    def solution(self) -> list[str]:
        feeds = ["feed " + "a" * self.size, "feed " + LETTERS[: self.size]]
        return feeds + [self.make(word) for word in self.words]

    def hint(self) -> str:
        return (
            "A word of equal letters shows the shift alone; after that, a word of different letters shows "
            "the order."
        )
