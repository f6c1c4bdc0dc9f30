import random

NAME = "Odd one out"
SUMMARY = "Which series does not grow by a constant?"
SKILL = "pattern recognition"
MAX_TURNS = 1
ACTION_FORMAT = "text"
LETTERS = "ABCDEFGH"


class OddEnv:
    def reset(self, *, seed):
        rng = random.Random(seed)
        self.answer = rng.choice(LETTERS)
        lines = []
        for letter in LETTERS:
            start, gap = rng.randint(1, 50), rng.randint(2, 9)
            row = [start + gap * i for i in range(5)]
            if letter == self.answer:
                row[rng.randint(2, 4)] += rng.choice([-1, 1])
            lines.append(f"{letter}) {row}")
        self.done = False
        return "Which series does not grow by a constant?\n" + "\n".join(lines), {}

    def step(self, action):
        won = not self.done and action.strip().upper() == self.answer
        self.done = True
        return "Right." if won else "Wrong.", float(won), True, False, {}

    def solution(self):
        return [self.answer]

    def hint(self):
        return "Compare the gaps between neighbours in each row."
