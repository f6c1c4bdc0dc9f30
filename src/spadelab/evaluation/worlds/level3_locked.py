import random

NAME = "Locked letter"
SUMMARY = "One letter adds nothing until the other register has met its goal."
SKILL = "mathematical_reasoning"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 6
OPS = {"a": ("x", 5), "b": ("x", -3), "c": ("y", 4), "d": ("y", -2)}


class LockedEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        up, right = r.random() < 0.5, r.random() < 0.5
        first = r.randint(2, 4)
        self.path = ["a" if right else "b"] * first + ["c" if up else "d"] * (LENGTH - first)
        self.state = {n: r.randint(0, 20) for n in "xy"}
        self.goal = dict(self.state)
        for a in self.path:
            self.goal[OPS[a][0]] += OPS[a][1]
        self.turn = 0
        return f"a x+5 b x-3 c y+4 d y-2 | d c locked | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{n} {v} to {self.goal[n]}" for n, v in self.state.items())

    def move(self, action: str) -> bool:
        if action not in OPS or (action in "cd" and self.state["x"] != self.goal["x"]):
            return False
        n, d = OPS[action]
        self.state[n] += d
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
