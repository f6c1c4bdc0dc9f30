"""Three keys that still work, and a number to reach with as few presses as possible."""

import random

NAME = "Broken Calculator"
SUMMARY = "Reach a target number with the three keys of a calculator that still work."
SKILL = "Mathematical Reasoning"
MAX_TURNS = 8
ACTION_FORMAT = "text"
LEVEL = 3


class BrokenCalculatorEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        plus, minus, times = rng.randint(5, 9), rng.randint(2, 4), rng.randint(2, 3)
        # What each key multiplies by, and what it then adds.
        self.keys = {f"add {plus}": (1, plus), f"subtract {minus}": (1, -minus), f"times {times}": (times, 0)}
        self.value = rng.randint(2, 9)
        self.path, self.target = self.choose_target(rng)
        self.left = len(self.path) + 1
        return (
            f"A calculator shows {self.value}. Only these keys work: {', '.join(self.keys)}. Make it show "
            f"exactly {self.target}. Each turn, write one key, such as: times {times}. "
            f"You have {self.left} presses.",
            {},
        )

    def choose_target(self, rng: random.Random) -> tuple[list[str], int]:
        paths: dict[int, list[str]] = {self.value: []}
        layer = [self.value]
        for _ in range(LEVEL + 2):
            previous, layer = layer, []
            for value in previous:
                for key, (factor, term) in self.keys.items():
                    reached = value * factor + term
                    if reached not in paths:
                        paths[reached] = [*paths[value], key]
                        layer.append(reached)
        target = rng.choice(layer)
        return paths[target], target

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
        if action not in self.keys:
            return f"There is no such key. The display shows {self.value}.", None
        factor, term = self.keys[action]
        self.value = self.value * factor + term
        return f"The display shows {self.value}.", True if self.value == self.target else None

    def solution(self) -> list[str]:
        return self.path

    def hint(self) -> str:
        last = self.path[-1].split()[0]
        return f"Think backwards from the target: on a shortest way, the last thing you do is to {last}."
