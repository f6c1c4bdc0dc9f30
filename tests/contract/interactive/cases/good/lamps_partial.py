"""Lights out on a line, with partial credit for the best state reached."""
from __future__ import annotations

import random
from dataclasses import dataclass, field

NAME = "Lamps"
SUMMARY = "Switch all lamps on; a switch turns its neighbours too."
SKILL = "spatial_reasoning"
MAX_TURNS: int = 9
ACTION_FORMAT = "text"
SIZE = 6


@dataclass
class Board:
    lamps: list[bool] = field(default_factory=lambda: [True] * SIZE)

    def press(self, place: int) -> None:
        for near in (place - 1, place, place + 1):
            if 0 <= near < SIZE:
                self.lamps[near] = not self.lamps[near]

    def __str__(self) -> str:
        return "".join("*" if lamp else "." for lamp in self.lamps)


class LampsEnv:
    def __init__(self) -> None:
        self.board = Board()

    def reset(self, *, seed: int) -> tuple[str, dict]:
        rng = random.Random(seed)
        self.board = Board()
        self.path = rng.sample(range(SIZE), 4)
        for place in self.path:
            self.board.press(place)
        self.turns, self.best, self.over = 0, 0, False
        return f"Lamps 0 to {SIZE - 1}: {self.board} (* is on). Name a switch.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        if self.over:
            return str(self.board), 0.0, True, False, {}
        self.turns += 1
        if action in [str(i) for i in range(SIZE)]:
            self.board.press(int(action))
        self.over = all(self.board.lamps)
        reward = 0.0
        if self.over:
            reward = 1.0 - 0.25 * self.best
        elif action == "5" and self.board.lamps[1:] == [True] * 5 and not self.best:
            self.best, reward = 1, 0.25
        return f"Lamps: {self.board}", reward, self.over, self.turns >= MAX_TURNS, {"turns": self.turns}

    def solution(self) -> list[str]:
        return [str(place) for place in self.path]

    def hint(self) -> str:
        return "The order of the switches does not matter, and none is needed twice."
