import random

NAME = "Three steps in turn"
SUMMARY = "Three steps take turns, the numbers wrap around."
SKILL = "pattern_recognition"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5


class ThreeStepsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        steps = [r.randint(1, 40) for _ in range(3)]
        self.terms = [r.randrange(90)]
        for i in range(6 + LENGTH):
            self.terms.append((self.terms[-1] + steps[i % 3]) % 90)

        self.path = [str(v) for v in self.terms[7:]]
        self.seen = 7
        self.turn = 0
        return f"next mod 90 | {self.show()}", {}

    def show(self) -> str:
        return " ".join(map(str, self.terms[self.seen - 7 : self.seen]))

    def move(self, action: str) -> bool:
        right = action == str(self.terms[self.seen])
        self.seen += right
        return right

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= MAX_TURNS and self.move(action)
        won = legal and self.seen == len(self.terms)
        if won:
            self.turn = MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def hint(self) -> str:
        return "the next term is " + ("odd" if int(self.path[0]) % 2 else "even")
