"""The tops of hills in the fog, found by measuring heights."""

import random
import re

NAME = "Summit Search"
SUMMARY = "Find the tops of two hills in the fog with few measurements of height."
SKILL = "Optimization"
MAX_TURNS = 31
ACTION_FORMAT = "text"
LEVEL = 3


class SummitSearchEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.size = 2 ** (LEVEL + 3)
        self.hills = {"west": self.raise_hill(rng), "east": self.raise_hill(rng)}
        self.climbed: set[str] = set()
        self.left = 4 * LEVEL + 11
        return (
            f"Two hills lie in the fog, the west and the east one. A path with places 1 to {self.size} leads "
            "over each; along it the ground rises up to a single summit and falls after it. Each turn, "
            "measure one place by writing the hill and the place, such as: west 3. I tell its height, and "
            f"whether it is the summit. Measure both summits to win. You have {self.left} turns.",
            {},
        )

    def raise_hill(self, rng: random.Random) -> list[int]:
        top, heights = rng.randrange(self.size), [0] * self.size
        for side in (range(1, top + 1), range(self.size - 2, top - 1, -1)):
            for i in side:
                below = heights[i - 1] if side.step > 0 else heights[i + 1]
                heights[i] = max(heights[i], below + rng.randint(1, 20))
        return heights

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
        asked = re.fullmatch(r"(west|east) (\d{1,3})", action)
        if not asked or not 1 <= int(asked[2]) <= self.size:
            return f"Write the hill and a place from 1 to {self.size}, such as: west 3.", None
        heights = self.hills[asked[1]]
        height = heights[int(asked[2]) - 1]
        if height < max(heights):
            return f"The height there is {height} m.", None
        self.climbed.add(asked[1])
        return f"The height there is {height} m: the summit.", True if len(self.climbed) == 2 else None

    def solution(self) -> list[str]:
        actions = []
        for name, heights in self.hills.items():
            low, high, places = 0, self.size - 1, []
            while low < high:
                middle = (low + high) // 2
                places += [middle, middle + 1]
                low, high = (middle + 1, high) if heights[middle] < heights[middle + 1] else (low, middle)
            places = list(dict.fromkeys([*places, low]))
            actions += [f"{name} {place + 1}" for place in places[: places.index(low) + 1]]
        return actions

    def hint(self) -> str:
        return (
            "Measure a pair of neighbours in the middle of what remains: they show on which side of them the "
            "ground still rises."
        )
