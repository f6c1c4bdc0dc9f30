"""Ctrl-C: the first asks for an end at the next good moment, the second ends at once."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Self


class Interruption:
    """While entered, `asked` turns true with the first SIGINT or SIGTERM; a second raises KeyboardInterrupt.

    `notice` is written to stderr at the first.
    """

    def __init__(self, notice: str = "") -> None:
        self.asked = False
        self._notice = notice

    def __enter__(self) -> Self:
        self._previous = {
            number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._notice:
            # Not print: the signal may have come in the middle of one.
            os.write(2, f"\n{self._notice}\n".encode())
