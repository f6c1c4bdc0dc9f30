"""Kinds of short environments with a visible state that actions change: registers, dials, grids, coins."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spadelab.models.tiny.engine import Engine


class Registers(Engine):
    """Registers to be added to; a path moves each of them in one direction only, so it never loops."""

    RULES = ""
    START = 9
    SIGN = ""

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.ops = self.RULES.split()
        names = sorted({op[0] for op in self.ops})
        sides = [name + r.choice("+-") for name in names]
        path = r.choices([op for op in self.ops if op[:2] in sides], k=self.LENGTH)
        self.path = sorted(path, key=lambda op: (op[0], -abs(int(op[1:]))))
        self.state = {name: r.randint(0, self.START) for name in names}
        self.goal = dict(self.state)
        for op in self.path:
            self.goal[op[0]] += int(op[1:])
        self.turn = 0
        return f"{self.RULES} | {self.show()}", {}

    def move(self, action: str) -> bool:
        if action not in self.ops:
            return False
        self.state[action[0]] += int(action[1:])
        return True

    def reached(self) -> bool:
        return self.state == self.goal

    def show(self) -> str:
        return " ".join(f"{n} {v}{self.SIGN}{self.goal[n]}" for n, v in self.state.items())

    def hint(self) -> str:
        gaps = {n: self.goal[n] - v for n, v in self.state.items()}
        words = {n: "rises" if gap > 0 else "falls" if gap else "stays" for n, gap in gaps.items()}
        return " ".join(f"{n} {word}" for n, word in words.items())


class Dials(Engine):
    """Dials in a row with the turns that each still needs; one turns some to its right as well."""

    KEYS = ""
    MODULUS = 2
    SPREAD: Sequence[int] = ()

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.path = sorted(r.sample(self.KEYS * (self.MODULUS - 1), self.LENGTH))
        self.needs = [0 for _ in self.KEYS]
        for a in self.path:
            self.twist(a, 1)
        self.turn = 0
        spread = "".join(f"+{d}" for d in self.SPREAD)
        return f"mod {self.MODULUS} also {spread} | {self.show()}", {}

    def twist(self, key: str, amount: int) -> None:
        for d in (0, *self.SPREAD):
            i = self.KEYS.index(key) + d
            if i < len(self.KEYS):
                self.needs[i] = (self.needs[i] + amount) % self.MODULUS

    def move(self, action: str) -> bool:
        if len(action) != 1 or action not in self.KEYS:
            return False
        self.twist(action, -1)
        return True

    def reached(self) -> bool:
        return not any(self.needs)

    def show(self) -> str:
        return " ".join(f"{key}{need}" for key, need in zip(self.KEYS, self.needs, strict=True))

    def hint(self) -> str:
        return "the first dial is " + ("wrong" if self.needs[0] else "right")


class Grid(Engine):
    """A walk on a grid along two of four moves: the first as far as it goes, the second round a wall."""

    MOVES = ""
    WALLS = 0
    walls: list[tuple[int, int]]

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        w = self.MOVES.split()
        self.moves = {a: (int(x), int(y)) for a, x, y in zip(w[::3], w[1::3], w[2::3], strict=True)}
        first, second = r.choice(w[0:6:3]), r.choice(w[6::3])
        self.at = self.goal = (r.randint(0, 9), r.randint(0, 9))
        self.path, self.walls = [], []
        for _ in range(self.LENGTH):
            walled = r.randrange(100) < self.WALLS
            self.walls += [self.after(self.goal, first)] * walled
            self.path.append(second if walled else first)
            self.goal = self.after(self.goal, self.path[-1])
        self.turn = 0
        return f"{self.MOVES} | {self.show()}", {}

    def after(self, cell: tuple[int, int], action: str) -> tuple[int, int]:
        return cell[0] + self.moves[action][0], cell[1] + self.moves[action][1]

    def move(self, action: str) -> bool:
        free = action in self.moves and self.after(self.at, action) not in self.walls
        self.at = self.after(self.at, action) if free else self.at
        return free

    def reached(self) -> bool:
        return self.at == self.goal

    def show(self) -> str:
        free = "".join(a for a in self.moves if self.after(self.at, a) not in self.walls)
        return f"{self.at[0]},{self.at[1]} goal {self.goal[0]},{self.goal[1]} open {free}"

    def hint(self) -> str:
        ways = [w for w, g, s in zip(("east", "north"), self.goal, self.at, strict=True) if g > s]
        return "the goal lies " + (" and ".join(ways) or "not to the east or north")


class Coins(Engine):
    """A sum to be paid exactly with few coins, each a multiple of the next smaller: the largest first."""

    COINS: Sequence[int] = ()
    SHOW = ""

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        ends = (*self.COINS[1:], 4 * self.COINS[-1])
        bag = [c for c, end in zip(self.COINS, ends, strict=True) for _ in range(end // c - 1)]
        coins = sorted(r.sample(bag, self.LENGTH), reverse=True)
        self.path = [str(c) for c in coins]
        self.total, self.paid = sum(coins), 0
        self.turn = 0
        return f"coins {' '.join(map(str, self.COINS))} | {self.show()}", {}

    def move(self, action: str) -> bool:
        fits = action in map(str, self.COINS) and self.paid + int(action) <= self.total
        self.paid += int(action) if fits else 0
        return fits

    def reached(self) -> bool:
        return self.paid == self.total

    def show(self) -> str:
        return self.SHOW.format(left=self.total - self.paid, paid=self.paid, total=self.total)

    def hint(self) -> str:
        return "the largest is " + ("needed" if self.path[0] == str(self.COINS[-1]) else "too large")
