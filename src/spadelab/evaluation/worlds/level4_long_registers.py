import random

NAME = "Long registers"
SUMMARY = "Two registers a long way from their goals."
SKILL = "mathematical_reasoning"
MAX_TURNS = 12
ACTION_FORMAT = "text"
LENGTH = 11
OPS = ("x+9", "x-8", "y+7", "y-9")


class LongRegistersEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        sides = [n + r.choice("+-") for n in "xy"]
        self.path = r.choices([op for op in OPS if op[:2] in sides], k=LENGTH)
        self.state = {n: r.randint(0, 50) for n in "xy"}
        self.goal = dict(self.state)
        for op in self.path:
            self.goal[op[0]] += int(op[1:])
        self.turn = 0
        return f"x+9 x-8 y+7 y-9 | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{n} {v} to {self.goal[n]}" for n, v in self.state.items())

    def move(self, action: str) -> bool:
        if action not in OPS:
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
