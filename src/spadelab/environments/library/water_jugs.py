"""Water to be shared out with jugs that have no marks."""

import itertools
import random

NAME = "Water Jugs"
SUMMARY = "Pour water between three jugs without marks to measure an amount, with hardly a move to spare."
SKILL = "Optimization"
MAX_TURNS = 10
ACTION_FORMAT = "text"
LEVEL = 3
JUGS = ("red", "green", "blue")
MOVES = [f"{a} {b}" for a, b in itertools.permutations(JUGS, 2)]
Water = tuple[int, ...]


class WaterJugsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.path: list[str] = []
        while not self.path:
            self.sizes = sorted(rng.sample(range(3, 15 + LEVEL), 3))
            self.water: Water = tuple(rng.randint(0, size) for size in self.sizes)
            hard = {goal: path for goal, path in self.explore().items() if len(path) == LEVEL + 4}
            if hard:
                (self.jug, self.amount), self.path = rng.choice(list(hard.items()))
        self.left = len(self.path) + 1
        jugs = zip(JUGS, self.water, self.sizes, strict=True)
        held = ", ".join(f"{jug} with {water} of {size} litres" for jug, water, size in jugs)
        return (
            f"There are three jugs without marks: {held}. "
            "Each turn, write the jug to pour from and the jug to pour into, such as: blue red. Water flows "
            "until the former is empty or the latter full. "
            f"Get exactly {self.amount} litres into the {JUGS[self.jug]} jug. You have {self.left} moves.",
            {},
        )

    def explore(self) -> dict[tuple[int, int], list[str]]:
        """The shortest way to each amount in each jug."""
        paths: dict[Water, list[str]] = {self.water: []}
        goals: dict[tuple[int, int], list[str]] = {}
        queue = [self.water]
        for water in queue:
            for goal in enumerate(water):
                goals.setdefault(goal, paths[water])
            for move in MOVES:
                poured = self.pour(water, move)
                if poured not in paths:
                    paths[poured] = [*paths[water], move]
                    queue.append(poured)
        return goals

    def pour(self, water: Water, move: str) -> Water:
        source, target = map(JUGS.index, move.split())
        amounts = list(water)
        flow = min(amounts[source], self.sizes[target] - amounts[target])
        amounts[source] -= flow
        amounts[target] += flow
        return tuple(amounts)

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
        if action not in MOVES:
            return "Write the jug to pour from and the jug to pour into, such as: blue red.", None
        self.water = self.pour(self.water, action)
        held = ", ".join(f"{jug} {amount}" for jug, amount in zip(JUGS, self.water, strict=True))
        return f"Litres now: {held}.", True if self.water[self.jug] == self.amount else None

    def solution(self) -> list[str]:
        return self.path

    def hint(self) -> str:
        used = sum(JUGS[self.jug] in move.split() for move in self.path)
        return (
            f"On a shortest way, {used} moves touch the jug in question. Never pour straight back, and do "
            "not return to amounts that you had before."
        )
