import random

NAME = "Register on a ring"
SUMMARY = "A register that wraps around at thirty has to meet its goal."
SKILL = "mathematical_reasoning"
MAX_TURNS = 3
ACTION_FORMAT = "text"
LENGTH = 3
OPS = {"x+2": 2, "x-2": -2, "x+7": 7, "x-7": -7, "x+5": 5}


class RingRegisterEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        sign = r.choice((-1, 1))
        self.path = sorted(r.choices([a for a, d in OPS.items() if d * sign > 0], k=LENGTH))
        self.state = r.randrange(30)
        self.goal = (self.state + sum(OPS[a] for a in self.path)) % 30
        self.turn = 0
        return f"x+2 x-2 x+7 x-7 x+5 mod 30 | {self.show()}", {}

    def show(self) -> str:
        return f"x {self.state} to {self.goal}"

    def move(self, action: str) -> bool:
        self.state = (self.state + OPS.get(action, 0)) % 30
        return action in OPS

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
        return "x goes " + ("up" if OPS[self.path[0]] > 0 else "down") + " all the way"
