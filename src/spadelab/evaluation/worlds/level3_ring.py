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
        self.needs = [0 for _ in KEYS]
        for key in self.path:
            self.twist(key, 1)
        self.turn = 0
        return f"mod 5 also +1 ring | {self.show()}", {}

    def show(self) -> str:
        return " ".join(f"{key}{need}" for key, need in zip(KEYS, self.needs, strict=True))

    def twist(self, key: str, amount: int) -> None:
        for d in (0, *SPREAD):
            i = (KEYS.index(key) + d) % len(KEYS)
            self.needs[i] = (self.needs[i] + amount) % 5

    def move(self, action: str) -> bool:
        if len(action) != 1 or action not in KEYS:
            return False
        self.twist(action, -1)
        return True

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and not any(self.needs)
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "the first dial is " + ("wrong" if self.needs[0] else "right")
