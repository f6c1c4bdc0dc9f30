"""Which quantity drives which? Only interventions tell."""

import random
import re

NAME = "Cause Tree"
SUMMARY = "Push quantities, see which others follow, and name the direct cause of each."
SKILL = "Causal Inference"
MAX_TURNS = 15
ACTION_FORMAT = "text"
LEVEL = 3
NAMES = ("dax", "fep", "kiv", "lur", "mib", "tog", "wug")


class CauseTreeEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.names = NAMES[: LEVEL + 2]
        order = rng.sample(self.names, len(self.names))
        self.cause = {name: rng.choice([*order[:i], "nothing"]) for i, name in enumerate(order)}
        self.named: set[str] = set()
        self.left = 2 * len(self.names) + 1
        return (
            f"The quantities {', '.join(self.names)} drive each other: each has a single direct cause among "
            "the others, or none, and nothing drives itself in a circle. A change spreads to all that "
            "depends on it, directly or through others. 'push dax' changes dax and tells what changes with "
            "it. 'dax causes fep' names the direct cause of fep, 'nothing causes fep' says that it has none; "
            f"a wrong statement ends the game. Name them for all quantities to win. You have {self.left} "
            "turns.",
            {},
        )

    def follows(self, name: str, pushed: str) -> bool:
        cause = self.cause[name]
        return cause == pushed or (cause != "nothing" and self.follows(cause, pushed))

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
        push = re.fullmatch(r"push (\w+)", action)
        if push and push[1] in self.names:
            changed = [name for name in self.names if self.follows(name, push[1])]
            return f"With {push[1]} changes: {', '.join(changed) or 'nothing else'}.", None
        claim = re.fullmatch(r"(\w+) causes (\w+)", action)
        if not claim or claim[1] not in (*self.names, "nothing") or claim[2] not in self.names:
            return "Write 'push dax', 'dax causes fep' or 'nothing causes fep'.", None
        if self.cause[claim[2]] != claim[1]:
            return f"No, {claim[1]} is not the direct cause of {claim[2]}. You lose.", False
        self.named.add(claim[2])
        return "Yes.", True if len(self.named) == len(self.names) else None

    def solution(self) -> list[str]:
        pushes = [f"push {name}" for name in self.names]
        return pushes + [f"{self.cause[name]} causes {name}" for name in self.names]

    def hint(self) -> str:
        roots = list(self.cause.values()).count("nothing")
        count = "A single quantity has" if roots == 1 else "Several quantities have"
        return f"{count} no cause. Of all that move something, its direct cause moves the fewest others."
