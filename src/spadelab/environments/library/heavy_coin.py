"""The heavy coin among many, found with a balance."""

import random
import re

NAME = "Heavy Coin"
SUMMARY = "Find the single heavy coin with a balance and as few weighings as possible."
SKILL = "Mathematical Reasoning"
MAX_TURNS = 7
ACTION_FORMAT = "text"
LEVEL = 3


class HeavyCoinEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.coins = 3 ** (LEVEL + 1)
        self.heavy = random.Random(seed).randint(1, self.coins)
        self.left = LEVEL + 2
        return (
            f"Coins 1 to {self.coins} look alike; exactly one is heavier than the others. 'weigh 1-4 5-8' "
            "puts coins 1 to 4 on the left pan and 5 to 8 on the right pan of a balance (as many on each, a "
            "single coin is 6-6). To finish, write the number of the heavy coin alone; a wrong number loses. "
            f"You have {self.left} turns, the final one included.",
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
        if re.fullmatch(r"\d{1,4}", action):
            right = int(action) == self.heavy
            return "Right, that is the heavy coin." if right else "No, that coin is not the heavy one.", right
        pans = re.fullmatch(r"weigh (\d{1,4})-(\d{1,4}) (\d{1,4})-(\d{1,4})", action)
        if not pans:
            return "Write 'weigh 1-4 5-8' or the number of a coin.", None
        a, b, c, d = map(int, pans.groups())
        if not (1 <= a <= b <= self.coins and 1 <= c <= d <= self.coins and b - a == d - c):
            return f"Both pans must hold as many coins, with numbers from 1 to {self.coins}.", None
        if max(a, c) <= min(b, d):
            return "A coin cannot lie on both pans.", None
        if a <= self.heavy <= b:
            return "The left pan sinks.", None
        return "The right pan sinks." if c <= self.heavy <= d else "The pans balance.", None

    def solution(self) -> list[str]:
        first, size, actions = 1, self.coins, []
        while size > 1:
            size //= 3
            actions.append(f"weigh {first}-{first + size - 1} {first + size}-{first + 2 * size - 1}")
            first += (self.heavy - first) // size * size
        return [*actions, str(self.heavy)]

    def hint(self) -> str:
        return (
            "A balance can sink on either side or stay level, so put equal shares of the coins in question "
            "on the pans and leave an equal share aside."
        )
