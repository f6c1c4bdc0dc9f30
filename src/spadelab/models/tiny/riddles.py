"""Kinds of short environments in which every answer is right or wrong: bounds, series, suspects."""

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
    """A series of digits to be continued, one by one: a motif that returns, each time shifted."""

    PERIOD = 1
    SHIFT = 0
    MODULUS = 10

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.terms = [r.randrange(self.MODULUS) for _ in range(self.PERIOD)]
        while len(self.terms) < 2 * self.PERIOD + self.LENGTH:
            self.terms.append((self.terms[-self.PERIOD] + self.SHIFT) % self.MODULUS)
        self.seen = 2 * self.PERIOD
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
        shown = "".join(map(str, self.terms[self.seen - 2 * self.PERIOD : self.seen]))
        return f"{shown[: self.PERIOD]} {shown[self.PERIOD :]}"

    def hint(self) -> str:
        return "the next digit is " + ("odd" if int(self.path[0]) % 2 else "even")


class Suspects(Engine):
    """All suspects but one are cleared, in any order: who is left? A new case after each answer."""

    NAMES = ""

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        orders = [r.sample(self.NAMES, len(self.NAMES)) for _ in range(self.LENGTH)]
        self.path = [order[0] for order in orders]
        self.cleared = ["".join(order[1:]) for order in orders]
        self.seen = self.turn = 0
        return f"who | {self.show()}", {}

    def move(self, action: str) -> bool:
        right = action == self.path[self.seen]
        self.seen += right
        return right

    def reached(self) -> bool:
        return self.seen == self.LENGTH

    def show(self) -> str:
        return f"{self.NAMES} not {self.cleared[min(self.seen, self.LENGTH - 1)]}"

    def hint(self) -> str:
        half = self.NAMES[: len(self.NAMES) // 2]
        return "one in the " + ("first half" if self.path[0] in half else "second half")
