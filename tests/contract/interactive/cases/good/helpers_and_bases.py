import itertools
import random
from collections import deque
from functools import lru_cache
from typing import NamedTuple

NAME = "Jugs"
SUMMARY = "Measure a volume with two jugs."
SKILL = "Optimization"
MAX_TURNS = 14
ACTION_FORMAT = "text"
ACTIONS = ("fill left", "fill right", "empty left", "empty right", "pour left", "pour right")
SIZES = [(a, b) for a, b in itertools.combinations(range(3, 10), 2) if b % a and a > 2]


class State(NamedTuple):
    left: int
    right: int


def move(state, action, sizes):
    verb, side = action.split()
    amounts = list(state)
    i = 0 if side == "left" else 1
    if verb == "fill":
        amounts[i] = sizes[i]
    elif verb == "empty":
        amounts[i] = 0
    else:
        poured = min(amounts[i], sizes[1 - i] - amounts[1 - i])
        amounts[i] -= poured
        amounts[1 - i] += poured
    return State(*amounts)


@lru_cache(maxsize=None)
def search(sizes, goal):
    queue, seen = deque([(State(0, 0), ())]), {State(0, 0)}
    while queue:
        state, path = queue.popleft()
        if goal in state:
            return path
        for action in ACTIONS:
            following = move(state, action, sizes)
            if following not in seen:
                seen.add(following)
                queue.append((following, (*path, action)))
    return ()


class Base:
    def reset(self, *, seed):
        self.rng = random.Random(seed)
        while True:
            self.sizes = self.rng.choice(SIZES)
            self.goal = self.rng.randint(1, self.sizes[1] - 1)
            if len(search(self.sizes, self.goal)) >= 4:
                break
        self.state, self.turns, self.over = State(0, 0), 0, False
        return self.show() + " You can fill, empty or pour: say for example 'pour left'.", {}

    def show(self):
        return f"Jugs of {self.sizes[0]} and {self.sizes[1]} hold {self.state.left} and {self.state.right}; get {self.goal}."


class JugsEnv(Base):
    def reset(self, *, seed):
        return super().reset(seed=seed)

    def step(self, action):
        if self.over:
            return self.show(), 0.0, True, False, {}
        self.turns += 1
        action = " ".join(action.lower().split())
        if action in ACTIONS:
            self.state = move(self.state, action, self.sizes)
        self.over = self.goal in self.state
        return self.show(), 1.0 if self.over else 0.0, self.over, not self.over and self.turns >= MAX_TURNS, {}

    def solution(self):
        return list(search(self.sizes, self.goal))

    def hint(self):
        return "Keep pouring in one direction, and make room whenever the other jug is brim-full."
