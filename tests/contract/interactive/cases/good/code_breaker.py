import random

NAME = "Code breaker"
SUMMARY = "Find three different digits from counts of right places."
SKILL = "logical-deduction"
MAX_TURNS = 10
ACTION_FORMAT = "text"


class CodeBreakerEnv:
    def reset(self, *, seed):
        self.code = "".join(random.Random(seed).sample("123456", 3))
        self.log = []
        self.done = False
        return "A code of three different digits from 1 to 6. Each guess is answered with hits.", {}

    def step(self, action):
        if self.done:
            return "over", 0.0, True, False, {}
        guess = action.strip()
        self.log.append(guess)
        if len(guess) != 3:
            return "three digits please", 0.0, False, len(self.log) >= 10, {}
        hits = sum(a == b for a, b in zip(guess, self.code))
        self.done = hits == 3
        return f"{hits} hits", float(self.done), self.done, not self.done and len(self.log) >= 10, {"hits": hits}

    def solution(self):
        probe = ["123", "456"]
        return probe + [self.code] if self.code not in probe else [self.code]
