"""Progress of work with a known total: a bar on a terminal, one plain line a report anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Ticker:
    """Writes to stderr, so that stdout holds results only. A context manager; `quiet` shows nothing."""

    def __init__(self, unit: str, total: int, quiet: bool = False) -> None:
        console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._unit, self._total, self._quiet = unit, total, quiet
        if console.is_terminal and not console.is_dumb_terminal and not quiet:
            columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, TextColumn("{task.fields[note]}"), console=console)
            self._task = self._bar.add_task(unit, total=total, note="")

    def show(self, done: int, note: str = "") -> None:
        """`done` units are finished."""
        if self._bar:
            self._bar.update(self._task, completed=done, note=note)
        elif not self._quiet:
            print(f"{self._unit} {done}/{self._total}  {note}".rstrip(), file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
