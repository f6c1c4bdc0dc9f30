import random

NAME = "Crowded room"
SUMMARY = "Many cases, each with eleven suspects."
SKILL = "logical_deduction"
MAX_TURNS = 9
ACTION_FORMAT = "text"
LENGTH = 9
NAMES = "abcdefghijk"


class CrowdedEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        orders = [r.sample(NAMES, len(NAMES)) for _ in range(LENGTH)]
        self.path = [order[0] for order in orders]
        self.cleared = ["".join(order[1:]) for order in orders]
        self.seen = 0
        self.turn = 0
        return f"who | {self.show()}", {}

    def show(self) -> str:
        return f"{NAMES} not {self.cleared[min(self.seen, LENGTH - 1)]}"

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
