"""Rows of cells in which each row follows from the one before."""

import random

NAME = "Cell Rows"
SUMMARY = "Find the rule by which rows of cells follow one another and predict the rows to come."
SKILL = "Pattern Recognition"
MAX_TURNS = 8
ACTION_FORMAT = "boxed"
LEVEL = 3
SHOWN = 7


class CellRowsEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        rows: list[str] = []
        seen: set[str] = set()
        # Different rows, so that none repeats, and every neighbourhood on show, so that all can be known.
        while len(set(rows)) < LEVEL + 2 + SHOWN or len(seen) < 8:
            rule, rows = (
                rng.choice((22, 30, 45, 54, 73, 90, 110, 150)),
                ["".join(rng.choices("01", k=9 + LEVEL))],
            )
            while len(rows) < LEVEL + 2 + SHOWN:
                rows.append("".join(str(rule >> int(cells, 2) & 1) for cells in neighbourhoods(rows[-1])))
            seen = {cells for row in rows[: SHOWN - 1] for cells in neighbourhoods(row)}
        self.rows, self.known = rows, SHOWN
        self.left = LEVEL + 3
        return (
            "Each row of cells follows from the row above it: a cell depends on the cell above it and that "
            "cell's left and right neighbour, always by the same rule; the row is a ring, its ends are "
            "neighbours.\n"
            + "\n".join(rows[:SHOWN])
            + "\nEach turn, write the next row as 0 and 1 in \\boxed{}. A right row joins the picture. "
            f"Predict {LEVEL + 2} rows. You have {self.left} turns, so a single mistake is forgiven.",
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
        row = self.rows[self.known]
        if len(action) != len(row) or set(action) - {"0", "1"}:
            return f"A row has {len(row)} cells, each 0 or 1.", None
        if action != row:
            return (
                f"{sum(a != b for a, b in zip(action, row, strict=True))} cells of this row are wrong.",
                None,
            )
        self.known += 1
        return "Right.", True if self.known == len(self.rows) else None

    def solution(self) -> list[str]:
        return self.rows[SHOWN:]

    def hint(self) -> str:
        return (
            "Make a table of all patterns that a cell and its neighbours can show. Each of them occurs in "
            "the picture, with its result below its middle cell."
        )


def neighbourhoods(row: str) -> list[str]:
    ring = row[-1] + row + row[0]
    return [ring[i : i + 3] for i in range(len(row))]
