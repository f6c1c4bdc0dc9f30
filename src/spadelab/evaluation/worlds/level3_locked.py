import random

NAME = "Locked register"
SUMMARY = "One register is locked until the other has met its goal."
SKILL = "mathematical_reasoning"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 6
OPS = ("x+5", "x-3", "y+4", "y-2")


class LockedEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        up, right = r.choice(("y+4", "y-2")), r.choice(("x+5", "x-3"))
        first = r.randint(2, 4)
        self.path = [right] * first + [up] * (LENGTH - first)
        self.state = {n: r.randint(0, 20) for n in "xy"}
        self.goal = dict(self.state)
        for op in self.path:
            self.goal[op[0]] += int(op[1:])
        self.turn = 0
        return f"x+5 x-3 y+4 y-2 x first | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{n} {v} to {self.goal[n]}" for n, v in self.state.items())

    def move(self, action: str) -> bool:
        if action not in OPS or (action[0] == "y" and self.state["x"] != self.goal["x"]):
            return False
        self.state[action[0]] += int(action[1:])
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
        gaps = {n: self.goal[n] - v for n, v in self.state.items()}
        return " ".join(n + (" rises" if g > 0 else " falls" if g else " stays") for n, g in gaps.items())
