import random

NAME = "Round world"
SUMMARY = "A floor of twenty by twenty that continues on the other side."
SKILL = "spatial_reasoning"
MAX_TURNS = 7
ACTION_FORMAT = "text"
LENGTH = 6
MOVES = {"k": (0, 1), "j": (0, -1), "l": (1, 0), "h": (-1, 0)}


class TorusEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = r.choices([r.choice("kj"), r.choice("lh")], k=LENGTH)
        self.at = (r.choice((0, 1, 18, 19)), r.choice((0, 1, 18, 19)))
        way = [self.at]
        for a in self.path:
            way.append(self.after(way[-1], a))
        beside = sorted({self.after(cell, a) for cell in way for a in MOVES} - set(way))
        self.walls = [cell for cell in beside if r.randrange(100) < 15]
        self.goal = way[-1]
        self.turn = 0
        return f"k 0 1 j 0 -1 l 1 0 h -1 0 mod 20 | {self.show()}", {}

    def show(self) -> str:
        free = "".join(a for a in MOVES if self.after(self.at, a) not in self.walls)
        return f"{self.at[0]},{self.at[1]} goal {self.goal[0]},{self.goal[1]} open {free}"

    def after(self, cell: tuple[int, int], action: str) -> tuple[int, int]:
        return (cell[0] + MOVES[action][0]) % 20, (cell[1] + MOVES[action][1]) % 20

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
