import random


class SumEnv:
    NAME = "Weighted sum"
    SUMMARY = "Add up a short list where every second number counts twice."
    SKILL = "Mathematical Reasoning"
    MAX_TURNS = 1
    ACTION_FORMAT = "boxed"

    def reset(self, *, seed):
        rng = random.Random(seed)
        self.numbers = [rng.randint(10, 99) for _ in range(5)]
        self.over = False
        return f"Add {self.numbers}; every second number counts twice. Answer in a box.", {"n": 5}

    def step(self, action):
        right = not self.over and action == str(self._total())
        self.over = True
        return ("right" if right else "wrong"), 1.0 if right else 0.0, True, False, {}

    def _total(self):
        return sum(n * (1 + i % 2) for i, n in enumerate(self.numbers))

    def solution(self):
        return [r"\boxed{%d}" % self._total()]

    def hint(self):
        return "Add the plain sum and the sum of the second and fourth number."
