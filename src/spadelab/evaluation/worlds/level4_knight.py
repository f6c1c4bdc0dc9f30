import random

NAME = "Slanted walk"
SUMMARY = "A long walk in slanted steps between walls."
SKILL = "spatial_reasoning"
MAX_TURNS = 12
ACTION_FORMAT = "text"
LENGTH = 10
MOVES = {"w": (2, 1), "s": (-2, -1), "d": (-1, 3), "a": (1, -3)}


class KnightEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = r.choices([r.choice("ws"), r.choice("da")], k=LENGTH)
        self.at = (r.randint(20, 40), r.randint(20, 40))
        way = [self.at]
        for a in self.path:
            way.append(self.after(way[-1], a))
        beside = sorted({self.after(cell, a) for cell in way for a in MOVES} - set(way))
        self.walls = [cell for cell in beside if r.randrange(100) < 25]
        self.goal = way[-1]
        self.turn = 0
        return f"w 2 1 s -2 -1 d -1 3 a 1 -3 | {self.show()}", {}

    def show(self) -> str:
        free = "".join(a for a in MOVES if self.after(self.at, a) not in self.walls)
        return f"{self.at[0]},{self.at[1]} goal {self.goal[0]},{self.goal[1]} open {free}"

    def after(self, cell: tuple[int, int], action: str) -> tuple[int, int]:
        return cell[0] + MOVES[action][0], cell[1] + MOVES[action][1]

    def move(self, action: str) -> bool:
        if action not in MOVES or self.after(self.at, action) in self.walls:
            return False
        self.at = self.after(self.at, action)
        return True

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.at == self.goal
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "the goal lies " + ("to the right" if self.goal[0] > self.at[0] else "not to the right")
