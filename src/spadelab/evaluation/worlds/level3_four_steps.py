import random

NAME = "Four steps in turn"
SUMMARY = "Four steps take turns, the digits wrap around at ten."
SKILL = "pattern_recognition"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5


class FourStepsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        steps = [r.randrange(10) for _ in range(4)]
        self.terms = [r.randrange(10)]
        for i in range(8 + LENGTH):
            self.terms.append((self.terms[-1] + steps[i % 4]) % 10)

        self.path = [str(v) for v in self.terms[9:]]
        self.seen = 9
        self.turn = 0
        return f"next mod 10 | {self.show()}", {}

    def show(self) -> str:
        return "".join(map(str, self.terms[self.seen - 9 : self.seen]))

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
        return "the next digit is " + ("odd" if int(self.path[0]) % 2 else "even")
