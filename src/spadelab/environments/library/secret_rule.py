"""Which rule decides about triples of numbers? Experiments tell."""

import random
import re
from collections.abc import Callable

NAME = "Secret Rule"
SUMMARY = "Find which of many rules sorts triples of numbers, by trying triples of your own."
SKILL = "Pattern Recognition"
MAX_TURNS = 7
ACTION_FORMAT = "text"
LEVEL = 3
Rule = Callable[[int, int, int], bool]
RULES: dict[str, tuple[str, Rule]] = {
    "rising": ("a < b < c", lambda a, b, c: a < b < c),
    "falling": ("a > b > c", lambda a, b, c: a > b > c),
    "peak": ("b is the largest of all", lambda a, b, c: a < b > c),
    "valley": ("b is the smallest of all", lambda a, b, c: a > b < c),
    "twins": ("at least two are equal", lambda a, b, c: len({a, b, c}) < 3),
    "even": ("a + b + c is even", lambda a, b, c: (a + b + c) % 2 == 0),
    "thirds": ("a + b + c is a multiple of 3", lambda a, b, c: (a + b + c) % 3 == 0),
    "heavy": ("a + b + c is more than 14", lambda a, b, c: a + b + c > 14),
    "low": ("none is more than 6", lambda a, b, c: max(a, b, c) <= 6),
    "wide": (
        "the largest and the smallest differ by more than 5",
        lambda a, b, c: max(a, b, c) - min(a, b, c) > 5,
    ),
    "odd": ("at least two are odd", lambda a, b, c: a % 2 + b % 2 + c % 2 >= 2),
    "bridge": ("a and c are both even or both odd", lambda a, b, c: (a + c) % 2 == 0),
    "sum": ("c is at least a + b", lambda a, b, c: c >= a + b),
    "lead": ("a is larger than b + c", lambda a, b, c: a > b + c),
    "close": ("a and b differ by at most 2", lambda a, b, c: abs(a - b) <= 2),
    "fives": ("at least one is 5 or 0", lambda a, b, c: 5 in (a, b, c) or 0 in (a, b, c)),
}


class SecretRuleEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.rules = rng.sample(sorted(RULES), 2 * LEVEL + 6)
        self.rule = rng.choice(self.rules)
        self.triples = [(rng.randint(0, 9), rng.randint(0, 9), rng.randint(0, 9)) for _ in range(150)]
        self.left = len(self.solution()) + 1
        listing = "\n".join(f"{name}: {RULES[name][0]}" for name in self.rules)
        return (
            "A secret rule decides which triples a b c of digits from 0 to 9 fit. It is one of these:\n"
            f"{listing}\nEach turn, either try a triple, such as '2 4 6', and I tell whether it fits, or "
            f"write the name of the rule alone. A wrong name ends the game. You have {self.left} turns.",
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
        if action in self.rules:
            right = action == self.rule
            return "Right, that is the rule." if right else f"No, the rule is not {action}.", right
        if not re.fullmatch("[0-9] [0-9] [0-9]", action):
            return "Write three digits with spaces between them, or the name of a rule.", None
        fits = RULES[self.rule][1](int(action[0]), int(action[2]), int(action[4]))
        return f"{action} {'fits' if fits else 'does not fit'}.", None

    def solution(self) -> list[str]:
        left, tried = self.rules, []
        while len(left) > 1:
            yes = {t: sum(RULES[name][1](*t) for name in left) for t in self.triples}
            triple = min(self.triples, key=lambda t: abs(2 * yes[t] - len(left)))
            tried.append(" ".join(map(str, triple)))
            left = [name for name in left if RULES[name][1](*triple) == RULES[self.rule][1](*triple)]
        return [*tried, self.rule]

    def hint(self) -> str:
        return (
            "A good trial fits about half of the rules that are still possible. Trials that you expect to "
            "fail teach as much as the others."
        )
