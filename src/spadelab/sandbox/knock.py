"""The first program in a container: connects to the host's door and becomes the zygote.

A second interpreter, so that nothing of the container's environment is left in the zygote's memory.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any


def main(order: dict[str, Any]) -> None:
    """`order`: the door's path, the zygote's arguments and environment, and the version of Python that the
    packages are for ("" for any)."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.version_info < (3, 11):  # noqa: UP036 - this is the image's interpreter
        sys.exit(f"sandbox.image has Python {version}, but the jail needs 3.11 or later")
    if order["python"] not in ("", version):
        sys.exit(
            f"sandbox.image has Python {version}, but sandbox.allowed_packages are lent from Python "
            f"{order['python']}: choose an image of that version or empty the list"
        )
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(order["door"])
    os.dup2(door.fileno(), 0)
    os.execve(sys.executable, [sys.executable, *order["arguments"]], order["environment"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
