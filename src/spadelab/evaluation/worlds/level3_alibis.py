import random

NAME = "Alibis"
SUMMARY = "Who was seen by another is cleared, and so is the witness."
SKILL = "logical_deduction"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5
NAMES = "abcdefghi"


class AlibisEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        orders = [r.sample(NAMES, len(NAMES)) for _ in range(LENGTH)]
        self.path = [order[0] for order in orders]
        self.cleared = ["".join(order[1:]) for order in orders]
        self.seen = 0
        self.turn = 0
        return f"who | {self.show()}", {}

    def show(self) -> str:
        cleared = self.cleared[min(self.seen, LENGTH - 1)]
        return f"{NAMES} not " + " not ".join(a + b for a, b in zip(cleared[::2], cleared[1::2], strict=True))

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
        half = NAMES[: len(NAMES) // 2]
        return "one in the " + ("first half" if self.path[0] in half else "second half")
