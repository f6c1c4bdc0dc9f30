import random

NAME = "Number"
SUMMARY = "A hidden number between bounds that close in."
SKILL = "logical_deduction"
MAX_TURNS = 7
ACTION_FORMAT = "text"
LENGTH = 7


class NumberEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        low, high = self.low, self.high = 1, 180
        self.path: list[str] = []
        for _ in range(LENGTH):
            self.secret = (low + high) // 2
            self.path.append(str(self.secret))
            low, high = r.choice(((low, self.secret - 1), (self.secret + 1, high)))
        self.last = 0
        self.turn = 0
        return f"guess | {self.show()}", {}

    def show(self) -> str:
        return f"{self.low} to {self.high}"

    def move(self, action: str) -> bool:
        if not (action.isdecimal() and len(action) < 9 and self.low <= int(action) <= self.high):
            return False
        self.last = int(action)
        self.low = self.last + 1 if self.last < self.secret else self.low
        self.high = self.last - 1 if self.last > self.secret else self.high
        return True

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.last == self.secret
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "the number is " + ("odd" if self.secret % 2 else "even")
