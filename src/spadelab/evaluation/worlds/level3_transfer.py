import random

NAME = "Transfers"
SUMMARY = "Some moves take from one register what they give to another."
SKILL = "mathematical_reasoning"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5
OPS = {
    "x+3": {"x": 3},
    "y+4": {"y": 4},
    "z+5": {"z": 5},
    "x-2y+2": {"x": -2, "y": 2},
    "y-6z+6": {"y": -6, "z": 6},
}


class TransferEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = sorted(r.choices(r.sample(list(OPS), 2), k=LENGTH))
        self.state = {n: r.randint(10, 40) for n in "xyz"}
        start = dict(self.state)
        for a in self.path:
            self.move(a)
        self.state, self.goal = start, self.state
        self.turn = 0
        return f"x+3 y+4 z+5 x-2y+2 y-6z+6 | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{n} {v} to {self.goal[n]}" for n, v in self.state.items())

    def move(self, action: str) -> bool:
        if action not in OPS:
            return False
        self.state = {n: v + OPS[action].get(n, 0) for n, v in self.state.items()}
        return True

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.state == self.goal
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "two kinds of moves are enough"
