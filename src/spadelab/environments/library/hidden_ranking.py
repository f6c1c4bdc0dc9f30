"""An order that only comparisons reveal."""

import random

NAME = "Hidden Ranking"
SUMMARY = "Compare people by age in pairs, then name them all from the oldest to the youngest."
SKILL = "Logical Deduction"
MAX_TURNS = 25
ACTION_FORMAT = "text"
LEVEL = 3
PEOPLE = ("amir", "bo", "chen", "dina", "emil", "fay", "gita", "hugo")


class HiddenRankingEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.people = PEOPLE[: LEVEL + 3]
        self.ranking = random.Random(seed).sample(self.people, len(self.people))
        self.named = 0
        # What sorting by insertion with halving needs, and then one turn for each name.
        self.left = sum((i - 1).bit_length() + 1 for i in range(1, len(self.people) + 1))
        return (
            f"{', '.join(self.people)} are all of different ages. 'amir or bo' tells which of the two is "
            "older. A name alone places the next person: first the oldest of all, then the second oldest, to "
            f"the youngest; a wrong name ends the game. Place everybody to win. You have {self.left} turns.",
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
        names = action.split(" or ")
        if any(name not in self.people for name in names) or len(names) > 2 or len(set(names)) < len(names):
            return "Write 'amir or bo' to compare two people, or one name.", None
        if len(names) == 2:
            return f"{min(names, key=self.ranking.index)} is older.", None
        if names[0] != self.ranking[self.named]:
            return f"No, {names[0]} does not come next. You lose.", False
        self.named += 1
        done = self.named == len(self.people)
        return f"Yes, {names[0]} is number {self.named}.", True if done else None

    def solution(self) -> list[str]:
        actions: list[str] = []
        known: list[str] = []
        for person in self.people:
            low, high = 0, len(known)
            while low < high:
                middle = (low + high) // 2
                actions.append(f"{person} or {known[middle]}")
                if self.ranking.index(person) < self.ranking.index(known[middle]):
                    high = middle
                else:
                    low = middle + 1
            known.insert(low, person)
        return actions + known

    def hint(self) -> str:
        return (
            "Keep a sorted list. Compare each newcomer with the middle of it, then with the middle of the "
            "half that remains."
        )
