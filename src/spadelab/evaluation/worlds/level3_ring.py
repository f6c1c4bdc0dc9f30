import random

NAME = "Ring of dials"
SUMMARY = "Dials in a ring: the last moves the first."
SKILL = "causal_inference"
MAX_TURNS = 7
ACTION_FORMAT = "text"
LENGTH = 6
KEYS = "abcdefghi"
SPREAD = (1,)


class RingEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = sorted(r.sample(KEYS * 4, LENGTH))
        self.state = [r.randrange(5) for _ in KEYS]
        start = list(self.state)
        for a in self.path:
            self.move(a)
        self.state, self.goal = start, self.state
        self.turn = 0
        return f"mod 5 also +1 | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{k}{v}{g}" for k, v, g in zip(KEYS, self.state, self.goal, strict=True))

    def move(self, action: str) -> bool:
        if len(action) != 1 or action not in KEYS:
            return False
        self.state = list(self.state)
        for d in (0, *SPREAD):
            i = (KEYS.index(action) + d) % len(KEYS)
            self.state[i] = (self.state[i] + 1) % 5
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
        return "the first dial is " + ("right" if self.state[0] == self.goal[0] else "wrong")
