import random

NAME = "Dungeon"
SUMMARY = "Find the key, then the door, in a row of rooms."
SKILL = "causal_inference"
MAX_TURNS = 20
ACTION_FORMAT = "text"
ROOMS = 6


class DungeonEnv:
    def reset(self, *, seed: int):
        rng = random.Random(seed)
        rooms = list(range(ROOMS))
        rng.shuffle(rooms)
        self.key, self.door, self.here = rooms[:3]
        self.has_key = self.done = False
        self.turn = 0
        return "Commands: go left, go right, take key, open door. " + self.look(), {}

    def look(self):
        things = ["a key"] * (self.here == self.key and not self.has_key) + ["a door"] * (self.here == self.door)
        return f"Room {self.here} of 0 to {ROOMS - 1}: " + (" and ".join(things) or "nothing") + "."

    def step(self, action: str):
        if self.done:
            return "You are outside.", 0.0, True, False, {}
        self.turn += 1
        reward = 0.0
        match action.strip().lower().split():
            case ["go", "left"]:
                self.here = max(0, self.here - 1)
            case ["go", "right"]:
                self.here = min(ROOMS - 1, self.here + 1)
            case ["take", "key"] if self.here == self.key and not self.has_key:
                self.has_key, reward = True, 0.3
            case ["open", "door"] if self.here == self.door and self.has_key:
                self.done, reward = True, 0.7
            case _:
                return "Nothing happens. " + self.look(), 0.0, False, self.turn >= MAX_TURNS, {}
        return self.look(), reward, self.done, not self.done and self.turn >= MAX_TURNS, {"turn": self.turn}

    def _walk(self, start, end):
        return ["go right" if end > start else "go left"] * abs(end - start)

    def solution(self):
        return [*self._walk(self.here, self.key), "take key", *self._walk(self.key, self.door), "open door"]

    def hint(self):
        return "You need something from another room before you can leave."
