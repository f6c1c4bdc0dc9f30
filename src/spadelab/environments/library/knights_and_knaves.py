"""Who always tells the truth, and who always lies?"""

import itertools
import random
import re

NAME = "Knights and Knaves"
SUMMARY = "Question people who always lie or never do, and tell which is which."
SKILL = "Logical Deduction"
MAX_TURNS = 17
ACTION_FORMAT = "text"
LEVEL = 3
PEOPLE = ("ann", "ben", "cid", "dora", "eve", "finn", "gus", "hana")


class KnightsAndKnavesEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.people = PEOPLE[: LEVEL + 3]
        self.honest = {person: rng.random() < 0.5 for person in self.people}
        self.placed: set[str] = set()
        self.left = 2 * len(self.people) + 1
        return (
            f"On an island live {', '.join(self.people)}. A knight always tells the truth, a knave always "
            "lies. 'ask ann about ben' asks Ann whether Ben is a knight; nobody may be asked about "
            "themselves. 'ask ann about water' asks Ann whether water is wet. 'ann knight' or 'ann knave' "
            "says what Ann is: a wrong word ends the game, and to win you must say it of everybody. "
            f"You have {self.left} turns.",
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
        asked = re.fullmatch(r"ask (\w+) about (\w+)", action)
        if asked and asked[1] in self.people and asked[2] in ("water", *self.people) and asked[1] != asked[2]:
            truth = self.honest.get(asked[2], True)
            return f"{asked[1]} says: {'yes' if truth == self.honest[asked[1]] else 'no'}.", None
        if len(words) != 2 or words[0] not in self.people or words[1] not in ("knight", "knave"):
            return "Write 'ask ann about ben', 'ask ann about water', 'ann knight' or 'ann knave'.", None
        if self.honest[words[0]] != (words[1] == "knight"):
            return f"No, {words[0]} is not a {words[1]}. You lose.", False
        self.placed.add(words[0])
        return f"Yes, {words[0]} is a {words[1]}.", True if len(self.placed) == len(self.people) else None

    def solution(self) -> list[str]:
        pairs = itertools.pairwise(self.people)
        questions = [f"ask {self.people[0]} about water"] + [f"ask {a} about {b}" for a, b in pairs]
        return questions + [f"{p} {'knight' if self.honest[p] else 'knave'}" for p in self.people]

    def hint(self) -> str:
        more = "more" if 2 * sum(self.honest.values()) > len(self.people) else "not more"
        return f"There are {more} truthful people than liars. A yes means that both are of the same kind."
