"""One process at a time works on a run."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from spadelab.errors import UserError


class Lock:
    """Holds `path` locked until `release` or the end of the process, however it ends.

    The kernel's lock decides, the process id in the file is for the reader: a file left by a dead
    process, or one whose id another process has now, locks nothing.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises UserError with the owner's process id when another one has it."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(
                f"{path}: the run's lock cannot be opened ({error.strerror}); make its folder writable."
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise UserError(
                f"{path.parent}: process {owner} is working on this run; wait until it ends, "
                "stop it, or choose another run.name."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1
