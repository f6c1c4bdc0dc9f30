"""Switches that change lamps through a wiring that nobody sees."""

import random
import re

NAME = "Lamp Wiring"
SUMMARY = "Find out which switch changes which lamps, light them all, and only then ring the bell."
SKILL = "Causal Inference"
MAX_TURNS = 17
ACTION_FORMAT = "text"
LEVEL = 3


class LampWiringEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.count = LEVEL + 3
        self.lit = self.all = 2**self.count - 1
        self.wiring: list[int] = []  # the lamps that a switch changes, as bits
        while len({self.change(i) for i in range(self.all + 1)}) <= self.all or not self.wiring:
            self.wiring = [rng.randint(1, self.all) for _ in range(self.count)]
        self.needed = rng.randint(1, self.all)
        self.lit ^= self.change(self.needed)
        self.left = 2 * self.count + 1
        return (
            f"There are {self.count} switches and {self.count} lamps. Flipping a switch changes some of the "
            "lamps, always the same ones: lit lamps go out, dark lamps light up. The wiring is hidden. 'flip "
            "2' flips switch 2. When all lamps are lit, write 'bell' to win; with a dark lamp the bell "
            f"loses. {self.show()} You have {self.left} turns.",
            {},
        )

    def change(self, switches: int) -> int:
        lamps = 0
        for i, changed in enumerate(self.wiring):
            lamps ^= changed * (switches >> i & 1)
        return lamps

    def show(self) -> str:
        lamps = " ".join("on" if self.lit >> i & 1 else "off" for i in range(self.count))
        return f"Lamps 1 to {self.count}: {lamps}."

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "The game is over.", 0.0, False, True, {}
        self.left -= 1
        text, won = self.answer(action.strip().lower())
        if won is not None:
            self.left = 0
            return text, float(won), True, False, {}
        return f"{text} Turns left: {self.left}.", 0.0, False, self.left == 0, {}

    def answer(self, action: str) -> tuple[str, bool | None]:
        if action == "bell":
            won = self.lit == self.all
            return f"The bell rings. {'All lamps are lit.' if won else 'A lamp is dark, you lose.'}", won
        flip = re.fullmatch(r"flip ([1-9])", action)
        if not flip or int(flip[1]) > self.count:
            return f"Write 'flip' and a switch from 1 to {self.count}, or 'bell'. {self.show()}", None
        self.lit ^= self.wiring[int(flip[1]) - 1]
        return self.show(), None

    def solution(self) -> list[str]:
        # Each switch once, to learn what it does; then those that are wrong now, once more.
        again = [i for i in range(self.count) if not self.needed >> i & 1]
        return [f"flip {i + 1}" for i in [*range(self.count), *again]] + ["bell"]

    def hint(self) -> str:
        parity = "an even" if self.needed.bit_count() % 2 == 0 else "an odd"
        return (
            "The order of flips does not matter, and a pair of equal flips undoes itself. At the start, "
            f"{parity} number of switches stands wrong."
        )
