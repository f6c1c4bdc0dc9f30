"""Equal stretches of a run, to compare what came early with what came late."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# The report's "early" and "late" are the first and the last of this many stretches.
STRETCHES = 5


def split(cycles: Sequence[int], parts: int = STRETCHES) -> list[Sequence[int]]:
    """Cut a sequence into at most `parts` pieces, in order, none empty, their lengths equal within one."""
    parts = min(parts, len(cycles))
    bounds = [len(cycles) * i // parts for i in range(parts + 1)] if parts else []
    return [cycles[low:high] for low, high in pairwise(bounds)]
