"""What makes the plants grow? Beds that differ in a single thing tell."""

import random

NAME = "Garden Trial"
SUMMARY = "Grow plants under chosen conditions and tell which are needed, which are idle and which is poison."
SKILL = "Causal Inference"
MAX_TURNS = 21
ACTION_FORMAT = "text"
LEVEL = 3
THINGS = ("ash", "clay", "lime", "moss", "peat", "salt", "sand")


class GardenTrialEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.things = THINGS[: LEVEL + 2]
        self.roles = {thing: rng.choice(("needed", "idle")) for thing in self.things}
        self.poison = rng.choice(self.things)
        self.roles[self.poison] = "poison"
        self.named: set[str] = set()
        self.left = 3 * len(self.things)
        return (
            f"You may mix {', '.join(self.things)} into a bed. Plants grow only if everything that is needed "
            "is in it and the poison is not; exactly one of these things is poison, each other one is needed "
            "or idle. 'grow ash clay' tries a bed with just these things, 'grow' alone a bed without any. "
            "'ash needed', 'ash idle' or 'ash poison' says what a thing is: a wrong word ends the game, and "
            f"to win you must say it of every thing. You have {self.left} turns.",
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
        words = action.split()
        if words[:1] == ["grow"] and set(words[1:]) <= set(self.things):
            needed = {thing for thing, role in self.roles.items() if role == "needed"}
            grown = needed <= set(words) and self.poison not in words
            return "The plants grow." if grown else "The plants wither.", None
        if len(words) != 2 or words[0] not in self.things or words[1] not in ("needed", "idle", "poison"):
            return "Write 'grow' and things from the list, or a thing and needed, idle or poison.", None
        if self.roles[words[0]] != words[1]:
            return f"No, {words[0]} is not {words[1]}. You lose.", False
        self.named.add(words[0])
        return f"Yes, {words[0]} is {words[1]}.", True if len(self.named) == len(self.things) else None

    def solution(self) -> list[str]:
        # Leave out one thing at a time until plants grow: that was the poison. Then one more each time.
        tried = self.things[: self.things.index(self.poison) + 1]
        beds = [{thing} for thing in tried]
        beds += [{self.poison, thing} for thing in self.things if thing != self.poison]
        trials = [" ".join(["grow", *(t for t in self.things if t not in bed)]) for bed in beds]
        return trials + [f"{thing} {role}" for thing, role in self.roles.items()]

    def hint(self) -> str:
        return (
            "Mix everything but a single thing until plants grow: then you know the harmful thing. Keep it "
            "out, and leave out each other thing in turn."
        )
