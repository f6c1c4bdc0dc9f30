import random

NAME = "Doubling echo"
SUMMARY = "Two digits return, each time doubled."
SKILL = "pattern_recognition"
MAX_TURNS = 6
ACTION_FORMAT = "text"
LENGTH = 5


class DoubleEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        r = random.Random(seed)
        self.terms = [r.randint(1, 9), r.randint(1, 9)]
        while len(self.terms) < 4 + LENGTH:
            self.terms.append(2 * self.terms[-2] % 10)

        self.path = [str(v) for v in self.terms[4:]]
        self.seen = 4
        self.turn = 0
        return f"next mod 10 | {self.show()}", {}

    def show(self) -> str:
        shown = "".join(map(str, self.terms[self.seen - 4 : self.seen]))
        return f"{shown[:2]} {shown[2:]}"

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
