"""A die that rolls over a board; only its place is told, never its faces."""

import itertools
import random

NAME = "Rolling Die"
SUMMARY = "Roll a die over a board so that it arrives on the target square with the wanted face on top."
SKILL = "Spatial Reasoning"
MAX_TURNS = 9
ACTION_FORMAT = "text"
LEVEL = 3
SIZE = 6
DIRECTIONS = ("north", "south", "east", "west")
Die = tuple[int, int, int, int, int]  # row, column, and the faces on top, to the north and to the east


class RollingDieEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.die: Die = (rng.randint(1, SIZE), rng.randint(1, SIZE), 1, 2, 3)
        paths: dict[Die, list[str]] = {self.die: []}
        shortest: dict[tuple[int, int, int], list[str]] = {}
        queue = [self.die]
        for die in queue:
            shortest.setdefault(die[:3], paths[die])
            for direction in DIRECTIONS:
                rolled = roll(die, direction)
                if rolled not in paths and len(paths[die]) < LEVEL + 3:
                    paths[rolled] = [*paths[die], direction]
                    queue.append(rolled)
        goals = [goal for goal, path in shortest.items() if len(path) == LEVEL + 3]
        self.goal = rng.choice(goals)
        self.path = shortest[self.goal]
        self.left = len(self.path) + 1
        return (
            f"A die stands on a board of {SIZE} rows (1 is the northmost) and {SIZE} columns (1 is the "
            f"westmost), in row {self.die[0]}, column {self.die[1]}. On top is 1, to the north 2, to the "
            "east 3; opposite faces add up to 7. Each turn, write north, south, east or west: the die rolls "
            f"over its edge onto the next square. Bring it to row {self.goal[0]}, column {self.goal[1]} with "
            f"{self.goal[2]} on top. You have {self.left} rolls.",
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
        if action not in DIRECTIONS:
            return "Write north, south, east or west.", None
        before, self.die = self.die, roll(self.die, action)
        if self.die[:3] == self.goal:
            return "The die shows the wanted face on the target square.", True
        place = f"row {self.die[0]}, column {self.die[1]}"
        return f"The edge of the board: still in {place}." if before == self.die else f"Now in {place}.", None

    def solution(self) -> list[str]:
        return self.path

    def hint(self) -> str:
        bends = sum(a != b for a, b in itertools.pairwise(self.path))
        return (
            f"A shortest way changes its direction {bends} times. Without a bend, a line only ever shows the "
            "same four faces."
        )


def roll(die: Die, direction: str) -> Die:
    row, column, top, north, east = die
    rolled = {
        "north": (row - 1, column, 7 - north, top, east),
        "south": (row + 1, column, north, 7 - top, east),
        "east": (row, column + 1, 7 - east, north, top),
        "west": (row, column - 1, east, north, 7 - top),
    }[direction]
    return rolled if 1 <= rolled[0] <= SIZE and 1 <= rolled[1] <= SIZE else die
