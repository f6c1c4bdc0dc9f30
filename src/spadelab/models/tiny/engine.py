"""What all kinds of short environments share.

A kind (`machines.py`, `riddles.py`) is a real class, whose own text becomes the worlds of the grammar.
A world is one of these classes with other constants (`worlds.py`). Its source is the text of the
methods below, which is why they are terse and need nothing outside of their class; playing it needs no
execution of program text. The solution of every instance is drawn in `reset` and has LENGTH actions.
"""

from __future__ import annotations


class Engine:
    """What all kinds share: counting turns, paying 1 at the goal and nothing afterwards."""

    MAX_TURNS = 1
    LENGTH = 1
    turn: int
    path: list[str]

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.turn += 1
        legal = self.turn <= self.MAX_TURNS and self.move(action.strip())
        won = legal and self.reached()
        if won:
            self.turn = self.MAX_TURNS
        text = self.show() if legal else "no " + self.show()
        return text, float(won), won, self.turn >= self.MAX_TURNS and not won, {}

    def solution(self) -> list[str]:
        return list(self.path)

    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        """Draw the instance."""
        raise NotImplementedError

    def move(self, action: str) -> bool:
        """Take an action; False when it is illegal or wrong."""
        raise NotImplementedError

    def reached(self) -> bool:
        """Whether the goal is met."""
        raise NotImplementedError

    def show(self) -> str:
        """The state as the solver sees it."""
        raise NotImplementedError

    def hint(self) -> str:
        """Help that names no action."""
        raise NotImplementedError
