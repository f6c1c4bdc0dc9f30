"""The shortest round trip through towns."""

import functools
import itertools
import math
import random

NAME = "Round Trip"
SUMMARY = "Visit every town once and come home by the shortest of all round trips."
SKILL = "Optimization"
MAX_TURNS = 10
ACTION_FORMAT = "text"
LEVEL = 3
TOWNS = ("lima", "oslo", "quito", "rome", "sofia", "tunis", "turin", "vaduz", "zagreb")


class RoundTripEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.towns = TOWNS[: LEVEL + 4]
        self.places = {town: (rng.randint(0, 60), rng.randint(0, 60)) for town in self.towns}
        self.trip = [self.towns[0]]
        self.left = len(self.towns) + 1
        table = "\n".join(
            f"{town}: " + ", ".join(f"{self.distance(town, to)} to {to}" for to in self.towns[i + 1 :])
            for i, town in enumerate(self.towns[:-1])
        )
        return (
            f"You are at home in {self.towns[0]}. Distances in km, the same in both directions:\n{table}\n"
            "Each turn, write the town to go to next. Visit every other town exactly once; from the last one "
            "you go straight home. You win if no round trip is shorter than yours. "
            f"You have {self.left} turns.",
            {},
        )

    def distance(self, a: str, b: str) -> int:
        (x, y), (u, v) = self.places[a], self.places[b]
        return round(math.hypot(x - u, y - v))

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
        if action not in self.towns or action in self.trip:
            return f"Write a town that you have not been to. You are in {self.trip[-1]}.", None
        self.trip.append(action)
        if len(self.trip) < len(self.towns):
            return f"You are in {action} after {self.length(self.trip)} km.", None
        total, best = self.length([*self.trip, self.towns[0]]), self.length(self.best_trip())
        return f"You are home after {total} km; the shortest round trip has {best} km.", total == best

    def length(self, trip: list[str]) -> int:
        return sum(self.distance(a, b) for a, b in itertools.pairwise(trip))

    def best_trip(self) -> list[str]:
        # Held and Karp: the best way home from a town through those that are left.
        @functools.cache
        def finish(town: str, left: tuple[str, ...]) -> tuple[int, list[str]]:
            if not left:
                return self.distance(town, self.towns[0]), [town, self.towns[0]]
            ways = [(to, finish(to, tuple(t for t in left if t != to))) for to in left]
            to, (length, trip) = min(ways, key=lambda way: self.distance(town, way[0]) + way[1][0])
            return self.distance(town, to) + length, [town, *trip]

        return finish(self.towns[0], self.towns[1:])[1]

    def solution(self) -> list[str]:
        return self.best_trip()[1:-1]

    def hint(self) -> str:
        return (
            f"The shortest round trip has {self.length(self.best_trip())} km. It never crosses itself; going "
            "always to the nearest town is often not the best."
        )
