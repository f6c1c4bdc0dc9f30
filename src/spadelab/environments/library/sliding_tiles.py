"""The sliding puzzle of eight tiles."""

import random

NAME = "Sliding Tiles"
SUMMARY = "Slide eight numbered tiles into their order with hardly a move to spare."
SKILL = "Spatial Reasoning"
MAX_TURNS = 16
ACTION_FORMAT = "text"
LEVEL = 3
SOLVED = "12345678."


class SlidingTilesEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.board, self.moved = SOLVED, [""]
        while len(self.moved) < 2 * LEVEL + 5:
            tile = rng.choice([t for t in "12345678" if t != self.moved[-1] and slide(self.board, t)])
            self.board = slide(self.board, tile)
            self.moved.append(tile)
        self.left = len(self.moved) + 1
        return (
            "Eight tiles lie in a square of three rows; a dot marks the hole. Each turn, write the number of "
            "a tile beside the hole (above, below, left or right of it): it slides into the hole. The goal "
            f"is\n{draw(SOLVED)}\nand the tiles lie like this:\n{draw(self.board)}\nYou have {self.left} "
            "moves.",
            {},
        )

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "The game is over.", 0.0, False, True, {}
        self.left -= 1
        text, won = self.answer(action.strip().lower())
        if won is not None:
            self.left = 0
            return text, float(won), True, False, {}
        return f"{text} Turns left: {self.left}.", 0.0, False, self.left == 0, {}

    def answer(self, action: str) -> tuple[str, bool | None]:
        moved = slide(self.board, action)
        if not moved:
            return f"Only a tile beside the hole can move.\n{draw(self.board)}\n", None
        self.board = moved
        return f"{draw(self.board)}\n", True if moved == SOLVED else None

    def solution(self) -> list[str]:
        return self.moved[:0:-1]

    def hint(self) -> str:
        return (
            "Moving the same tile again at once only undoes your move. See which tiles are at home already, "
            "and disturb them only if you must."
        )


def slide(board: str, tile: str) -> str:
    """The board after the tile slid into the hole, "" when it cannot."""
    if len(tile) != 1 or tile not in "12345678":
        return ""
    (row, column), (hole_row, hole_column) = divmod(board.index(tile), 3), divmod(board.index("."), 3)
    if abs(row - hole_row) + abs(column - hole_column) != 1:
        return ""
    return board.translate(str.maketrans(f"{tile}.", f".{tile}"))


def draw(board: str) -> str:
    return "\n".join(" ".join(board[i : i + 3]) for i in (0, 3, 6))
