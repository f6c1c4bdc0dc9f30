"""Kinds of short environments in which every answer is right or wrong: bounds, series, rules."""

from __future__ import annotations

import random

from spadelab.models.tiny.engine import Engine


class Guess(Engine):
    """A hidden number between two bounds that close in."""

    TOP = 1

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.low, self.high = low, high = 1, self.TOP
        self.path = []
        for _ in range(self.LENGTH):
            self.secret = (low + high) // 2
            self.path.append(str(self.secret))
            low, high = r.choice(((low, self.secret - 1), (self.secret + 1, high)))
        self.turn, self.last = 0, 0
        return f"guess | {self.show()}", {}

    def move(self, action: str) -> bool:
        if not action.isdecimal() or not self.low <= int(action[:9]) <= self.high:
            return False
        self.last = int(action[:9])
        self.low = self.last + 1 if self.last < self.secret else self.low
        self.high = self.last - 1 if self.last > self.secret else self.high
        return True

    def reached(self) -> bool:
        return self.last == self.secret

    def show(self) -> str:
        return f"{self.low} to {self.high}"

    def hint(self) -> str:
        return "the number is " + ("odd" if self.secret % 2 else "even")


class Series(Engine):
    """A series of digits to be continued, one by one; its steps come in turn and may grow."""

    PERIOD = 1
    GROWTH = 0
    LARGEST = 9
    MODULUS = 10

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        steps = [r.randint(0, self.LARGEST) for _ in range(self.PERIOD)]
        self.terms = [r.randrange(self.MODULUS)]
        self.seen = 2 * self.PERIOD + 1
        for i in range(self.seen - 1 + self.LENGTH):
            step = steps[i % self.PERIOD] + self.GROWTH * i
            self.terms.append((self.terms[-1] + step) % self.MODULUS)
        self.path = [str(t) for t in self.terms[self.seen :]]
        self.turn = 0
        return f"next mod {self.MODULUS} | {self.show()}", {}

    def move(self, action: str) -> bool:
        right = action == str(self.terms[self.seen])
        self.seen += right
        return right

    def reached(self) -> bool:
        return self.seen == len(self.terms)

    def show(self) -> str:
        return "".join(map(str, self.terms[self.seen - 2 * self.PERIOD - 1 : self.seen]))

    def hint(self) -> str:
        return "the next digit is " + ("odd" if int(self.path[0]) % 2 else "even")


class Rules(Engine):
    """Rules that lead from letter to letter: where does the letter lead in HOPS steps?"""

    LETTERS = ""
    HOPS = 1

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.rules = dict(zip(self.LETTERS, r.sample(self.LETTERS, len(self.LETTERS)), strict=True))
        self.asked = r.choices(self.LETTERS, k=self.LENGTH)
        self.path = list(self.asked)
        for _ in range(self.HOPS):
            self.path = [self.rules[a] for a in self.path]
        self.seen = self.turn = 0
        rules = " ".join(r.sample([a + ">" + b for a, b in self.rules.items()], len(self.rules)))
        return f"{rules} hops {self.HOPS} | {self.show()}", {}

    def move(self, action: str) -> bool:
        right = action == self.path[self.seen]
        self.seen += right
        return right

    def reached(self) -> bool:
        return self.seen == self.LENGTH

    def show(self) -> str:
        return self.asked[min(self.seen, self.LENGTH - 1)] + "?"

    def hint(self) -> str:
        return "it leads back to itself" if self.path[0] == self.asked[0] else "it leads to another letter"
