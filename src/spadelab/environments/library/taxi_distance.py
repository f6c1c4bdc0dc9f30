"""A point in several dimensions, found by distances along the axes."""

import random
import re

NAME = "Taxi Distance"
SUMMARY = "Locate a hidden point of a grid with several dimensions from distances along its axes."
SKILL = "Spatial Reasoning"
MAX_TURNS = 8
ACTION_FORMAT = "text"
LEVEL = 3


class TaxiDistanceEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.point = [rng.randint(1, 8) for _ in range(LEVEL + 1)]
        self.left = len(self.point) + 2
        example = " ".join(str(9 - i) for i in range(len(self.point)))
        return (
            f"A treasure lies at a point of a grid with {len(self.point)} dimensions; each coordinate is a "
            f"whole number from 0 to 9. A point is written as its coordinates, such as: {example}. A point "
            "alone asks how far it is from the treasure: the differences of the coordinates, added up. 'dig' "
            "and a point digs there: the treasure wins, an empty hole loses. "
            f"You have {self.left} turns, the digging included.",
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
        digits = action.removeprefix("dig ").split()
        if len(digits) != len(self.point) or not all(re.fullmatch("[0-9]", digit) for digit in digits):
            return (
                f"Write {len(self.point)} coordinates from 0 to 9, with or without 'dig' before them.",
                None,
            )
        far = sum(abs(int(digit) - own) for digit, own in zip(digits, self.point, strict=True))
        if action.startswith("dig"):
            return "You dig. " + ("There is the treasure." if far == 0 else "The hole is empty."), far == 0
        return f"The treasure is {far} away.", None

    def solution(self) -> list[str]:
        # From the origin the coordinates' sum; from each corner on an axis, one coordinate by itself.
        size = len(self.point)
        corners = [[9 * (axis == corner) for axis in range(size)] for corner in range(size - 1)]
        questions = [" ".join(map(str, point)) for point in ([0] * size, *corners)]
        return [*questions, " ".join(["dig", *map(str, self.point)])]

    def hint(self) -> str:
        return (
            "Ask at the origin first. Moving the question to the far end of a single axis changes the "
            "distance by an amount that tells this coordinate."
        )
