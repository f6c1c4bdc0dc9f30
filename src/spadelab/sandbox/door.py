"""A socket in the file system: how a jail connects that does not inherit a descriptor from the host."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

_STEP_SECONDS = 0.1


@contextlib.contextmanager
def open_door(path: Path) -> Iterator[socket.socket]:
    """Listen at `path`, in a folder that is made for it and that only this user can enter.

    The socket itself is open to all: in its container the jail is another user. Everything is removed
    at the end. Raises OSError.
    """
    path.parent.mkdir(mode=0o700)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            # Inherited by what is accepted: even the first message says who sent it.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(1)
            yield listener
    finally:
        shutil.rmtree(path.parent)


def await_visitor(listener: socket.socket, process: subprocess.Popen[bytes], seconds: float) -> socket.socket:
    """The first connection; a socket that is at its end already when `process` ended before.

    Raises TimeoutError after `seconds`.
    """
    listener.settimeout(_STEP_SECONDS)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            return listener.accept()[0]
        if process.poll() is not None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.close()
            return ours
    raise TimeoutError
