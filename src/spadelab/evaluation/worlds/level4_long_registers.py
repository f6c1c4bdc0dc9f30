import random

NAME = "Long registers"
SUMMARY = "Two registers a long way from their goals."
SKILL = "mathematical_reasoning"
MAX_TURNS = 12
ACTION_FORMAT = "text"
LENGTH = 11
OPS = {"a": ("x", 9), "b": ("x", -8), "c": ("y", 7), "d": ("y", -9)}


class LongRegistersEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        sides = [(n, r.random() < 0.5) for n in "xy"]
        self.path = sorted(r.choices([a for a, (n, d) in OPS.items() if (n, d > 0) in sides], k=LENGTH))
        self.state = {n: r.randint(0, 50) for n in "xy"}
        self.goal = dict(self.state)
        for a in self.path:
            self.goal[OPS[a][0]] += OPS[a][1]
        self.turn = 0
        return f"a x+9 b x-8 c y+7 d y-9 | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{n} {v} to {self.goal[n]}" for n, v in self.state.items())

    def move(self, action: str) -> bool:
        if action not in OPS:
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
