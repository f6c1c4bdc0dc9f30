"""A hidden polynomial, known by its values at chosen points."""

import random
import re

NAME = "Polynomial Probe"
SUMMARY = "Evaluate a hidden polynomial at points of your choice and name its coefficients."
SKILL = "Mathematical Reasoning"
MAX_TURNS = 13
ACTION_FORMAT = "boxed"
LEVEL = 3


class PolynomialProbeEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.coefficients = [rng.randint(-9, 9) for _ in range(LEVEL)] + [rng.randint(1, 9)]
        self.named: set[int] = set()
        self.left = 2 * len(self.coefficients) + 1
        terms = " + ".join(["c0", "c1*x", *(f"c{i}*x^{i}" for i in range(2, LEVEL + 1))])
        return (
            f"p(x) = {terms}; the coefficients are hidden whole numbers from -9 to 9. Two kinds of actions, "
            "written in \\boxed{}: 'probe 4' tells p(4), for any whole number from -9 to 9; 'c1 is -3' names "
            "a coefficient. A wrong name ends the game; naming all of them wins. "
            f"You have {self.left} actions.",
            {},
        )

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
        if probe := re.fullmatch(r"probe (-?\d)", action):
            x = int(probe[1])
            return f"p({x}) = {sum(c * x**i for i, c in enumerate(self.coefficients))}.", None
        named = re.fullmatch(r"c(\d) is (-?\d)", action)
        if not named or int(named[1]) > LEVEL:
            return "I know only actions like 'probe 4' and 'c1 is -3'.", None
        power, value = int(named[1]), int(named[2])
        if self.coefficients[power] != value:
            return f"No, c{power} is not {value}. You lose.", False
        self.named.add(power)
        return f"Yes, c{power} is {value}.", True if len(self.named) > LEVEL else None

    def solution(self) -> list[str]:
        probes = [f"probe {x}" for x in range(LEVEL + 1)]
        return probes + [f"c{i} is {c}" for i, c in enumerate(self.coefficients)]

    def hint(self) -> str:
        parity = "an even" if sum(self.coefficients) % 2 == 0 else "an odd"
        return f"The coefficients add up to {parity} number. Begin at the origin, then take its neighbours."
