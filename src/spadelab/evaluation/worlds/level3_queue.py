import random

NAME = "Queue"
SUMMARY = "Five people in a queue, told pair by pair: who is first?"
SKILL = "logical_deduction"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5
PEOPLE = "bdgkr"
PLACE = 0


class QueueEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        orders = [r.sample(PEOPLE, len(PEOPLE)) for _ in range(LENGTH)]
        pairs = [[o[i] + "<" + o[i + 1] for i in range(len(o) - 1)] for o in orders]
        self.clues = [" ".join(r.sample(p, len(p))) for p in pairs]
        self.path = [order[PLACE] for order in orders]
        self.seen = 0
        self.turn = 0
        return f"first | {self.show()}", {}

    def show(self) -> str:
        return self.clues[min(self.seen, LENGTH - 1)]

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
        return "whoever is named once stands at an end"
