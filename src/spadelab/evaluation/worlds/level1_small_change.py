import random

NAME = "Small change"
SUMMARY = "Pay the sum exactly, with as few coins as possible."
SKILL = "optimization"
MAX_TURNS = 2
ACTION_FORMAT = "text"
LENGTH = 2
COINS = (1, 6, 18, 36, 72)


class SmallChangeEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        coins = sorted(r.sample([1, 1, 6, 6, 18, 36, 72, 72], LENGTH), reverse=True)
        self.path = [str(c) for c in coins]
        self.left = sum(coins)
        self.turn = 0
        return f"coins 1 6 18 36 72 | {self.show()}", {}

    def show(self) -> str:
        return f"left {self.left}"

    def move(self, action: str) -> bool:
        fits = action in map(str, COINS) and int(action) <= self.left
        self.left -= int(action) if fits else 0
        return fits

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.left == 0
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "the largest is " + ("needed" if self.path[0] == str(COINS[-1]) else "too large")
