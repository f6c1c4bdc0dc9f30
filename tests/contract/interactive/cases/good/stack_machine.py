import random
import re
from enum import Enum

NAME = "Stack machine"
SUMMARY = "Write operations one at a time until the top of the stack is the goal."
SKILL = "mathematical reasoning"
MAX_TURNS = 8
ACTION_FORMAT = "text"


class Op(Enum):
    ADD = "add"
    DOUBLE = "double"
    NEGATE = "negate"
    SQUARE = "square"

    def apply(self, x, n):
        return {"add": x + n, "double": 2 * x, "negate": -x, "square": x * x}[self.value]


class StackMachineEnv:
    PATTERN = re.compile(r"(add|double|negate|square)(?:\s+(-?[0-9]{1,2}))?")

    def reset(self, *, seed):
        rng = random.Random(seed)
        self.x = rng.randint(2, 9)
        self.path = []
        value = self.x
        for _ in range(rng.randint(3, 4)):
            op, n = rng.choice(list(Op)), rng.randint(11, 40)
            value = op.apply(value, n)
            self.path.append(f"add {n}" if op is Op.ADD else op.value)
        value += 77
        self.path.append("add 77")
        self.goal, self.left, self.done = value, 8, False
        return f"x is {self.x}, the goal {self.goal}. Operations: add N, double, negate, square.", {}

    def step(self, action):
        if self.done:
            return "done", 0.0, True, False, {}
        self.left -= 1
        found = self.PATTERN.fullmatch(action.strip().lower())
        if found and abs(self.x) < 10**9:
            self.x = Op(found[1]).apply(self.x, int(found[2] or 0))
        self.done = self.x == self.goal
        return f"x is {self.x}", 1.0 if self.done else 0.0, self.done, not self.done and self.left <= 0, {}

    def solution(self):
        return self.path

    def hint(self):
        return "Work backwards from the goal."
