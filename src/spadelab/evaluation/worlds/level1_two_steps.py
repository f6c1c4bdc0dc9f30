import random

NAME = "Two steps"
SUMMARY = "Two steps on an empty floor with uneven tiles."
SKILL = "spatial_reasoning"
MAX_TURNS = 2
ACTION_FORMAT = "text"
LENGTH = 2
MOVES = {"u": (0, 3), "d": (0, -3), "l": (-2, 0), "r": (2, 0)}


class TwoStepsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = r.choices([r.choice("ud"), r.choice("lr")], k=LENGTH)
        self.at = (r.randint(0, 9), r.randint(0, 9))
        way = [self.at]
        for a in self.path:
            way.append(self.after(way[-1], a))
        beside = sorted({self.after(cell, a) for cell in way for a in MOVES} - set(way))
        self.walls = [cell for cell in beside if r.randrange(100) < 0]
        self.goal = way[-1]
        self.turn = 0
        return f"u 0 3 d 0 -3 l -2 0 r 2 0 | {self.show()}", {}

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
