import random

NAME = "Twice"
SUMMARY = "Follow the rules twice."
SKILL = "logical_deduction"
MAX_TURNS = 3
ACTION_FORMAT = "text"
LENGTH = 3
LETTERS = "adhkpz"


class TwiceEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.rules = dict(zip(LETTERS, r.sample(LETTERS, len(LETTERS)), strict=True))
        self.asked = r.choices(LETTERS, k=LENGTH)
        self.path = list(self.asked)
        for _ in range(2):
            self.path = [self.rules[a] for a in self.path]
        self.seen = 0
        rules = " ".join(r.sample([a + ">" + b for a, b in self.rules.items()], len(LETTERS)))
        self.turn = 0
        return f"{rules} hops 2 | {self.show()}", {}

    def show(self) -> str:
        return self.asked[min(self.seen, LENGTH - 1)] + "?"

    def move(self, action: str) -> bool:
        right = action == self.path[self.seen]
        self.seen += right
        return right

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.seen == LENGTH
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "it leads " + ("back to itself" if self.path[0] == self.asked[0] else "to another letter")
