"""The far side of the backend `remote`: carries programs to a zygote's children, and what they say back.

It travels in one script with the files of the jail, and runs once for each request, from standard input
to a file in the folder that the service gives each run. Trusted like the zygote, and like it standard
library only; what children write is measured and passed on, never read.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import platform
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from . import zygote
from .literals import parse_literal

_CREDENTIALS = struct.Struct("3i")
_LINGER_SECONDS = 20
_NEW_NAMESPACES = 0x08020000  # CLONE_NEWIPC | CLONE_NEWNS
_PRIVATE, _HARMLESS = 0x44000, 14  # MS_REC | MS_PRIVATE; MS_NOSUID | MS_NODEV | MS_NOEXEC
FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "~")


def main(configs: dict[str, dict[str, Any]]) -> None:
    """Answer one request. `configs`: kind of machine to what the zygote is told there."""
    hide_shared_memory()
    # Before the request is read: what a child can find in its memory is what was here then.
    control, facts = start_zygote(configs)
    request = json.loads(sys.stdin.buffer.read())
    found = look_around(request["trail"]) if request["trail"] else []
    results: list[dict[str, Any]] = []
    room = request["room"]
    for number, job in enumerate(request["jobs"]):
        try:
            result, received = run_job(control, number, job, request["room"])
        except OSError:  # the zygote is gone: the host sees which jobs have no result
            break
        room -= len(received)
        if results and (room < 0 or result["end"] == "too long"):
            break  # it gets an answer of its own
        results.append({**result, "received": base64.b64encode(received).decode()})
    answer = {"facts": facts, "found": found, "results": results}
    Path(request["mark"]).write_text(json.dumps(answer), "utf-8")


def hide_shared_memory() -> None:
    """Give this run a /dev/shm and System V memory of its own, where it has the right to.

    SandboxFusion's `lite` binds the host's /dev into every run. Without the right the self-test tells.
    """
    libc = ctypes.CDLL(None)
    private = libc.unshare(_NEW_NAMESPACES) == 0
    if private and libc.mount(None, b"/", None, ctypes.c_ulong(_PRIVATE), None) == 0:
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(_HARMLESS), b"size=1m")


def start_zygote(configs: dict[str, dict[str, Any]]) -> tuple[socket.socket, dict[str, Any]]:
    """Its control socket and what it says of itself; leaves, its reason on stderr, when it does not start."""
    control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    machine = platform.machine()
    if machine not in configs:
        sys.exit(f"there is no system-call filter for {machine}")
    if os.fork() == 0:
        os.dup2(inside.fileno(), 0)
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.closerange(3, 65536)
        zygote.main(configs[machine])
    inside.close()
    message, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(_CREDENTIALS.size))
    if not message:
        os.wait()
        os._exit(70)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    user = _CREDENTIALS.unpack(ancillary[0][2])[1]
    facts: Any = parse_literal(message.decode())
    return control, {**facts, "uid": user, "kernel": platform.release()}


def run_job(
    control: socket.socket, number: int, job: dict[str, Any], room: int
) -> tuple[dict[str, Any], bytes]:
    """Run one job in a child of its own: how it ended, and at most `room` bytes of what the child wrote."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        message = zygote.MESSAGE.pack(b"S", number, job["cpu_seconds"], job["memory_mb"])
        socket.send_fds(control, [message], [theirs.fileno()])
        theirs.close()
        received = bytearray()
        seconds: list[float] = []
        end = converse(ours, job, received, seconds, room)
    status, killed, spent = 0, 0, 0.0
    if end == "closed":
        control.send(zygote.MESSAGE.pack(b"W", number, 0.0, 0))
        report = control.recv(zygote.REPORT.size)
        if not report:
            raise ConnectionError("the zygote is gone")
        _, status, killed, spent = zygote.REPORT.unpack(report)
    else:
        control.send(zygote.MESSAGE.pack(b"K", number, 0.0, 0))
    result = {"end": end, "seconds": seconds, "status": status, "killed": bool(killed), "cpu_seconds": spent}
    return result, bytes(received)


def converse(
    channel: socket.socket, job: dict[str, Any], received: bytearray, seconds: list[float], room: int
) -> str:
    """Send the request and take in as many frames as were asked for; why it was over."""
    start = 0  # of the first frame that is not whole yet
    mark = time.monotonic()
    try:
        channel.settimeout(job["wall_seconds"])
        channel.sendall(base64.b64decode(job["frame"]))
        while len(seconds) < job["answers"]:
            channel.settimeout(max(1e-3, mark + job["wall_seconds"] - time.monotonic()))
            data = channel.recv(1 << 18)
            if not data:
                return "closed"
            received += data
            while len(received) - start >= 4 and len(seconds) < job["answers"]:
                length = int.from_bytes(received[start : start + 4], "little")
                if length > job["cap"]:
                    return "answered"  # the host will see the length, and what it means
                if len(received) - start < 4 + length:
                    break
                start += 4 + length
                now = time.monotonic()
                seconds.append(now - mark)
                mark = now
            if len(received) > room:
                del received[:]
                return "too long"
    except TimeoutError:
        return "silent"
    except OSError:
        return "closed"
    return "answered"


def look_around(trail: str) -> list[str]:
    """What an earlier run left for this one; leaves the same for the next, where that is possible.

    Nothing is harmed where it is: an empty file, which the next look removes, and a process that sleeps.
    """
    found: list[str] = []
    for folder in FOLDERS:
        with contextlib.suppress(OSError, RuntimeError):  # not there, not writable, no home
            path = Path(folder).expanduser() / f".spadelab-{trail}"
            if path.exists():
                found.append("leave a file for the next run")
                path.unlink()
            else:
                path.touch()
    name = f"\0spadelab-{trail}"
    with socket.socket(socket.AF_UNIX) as caller:
        if caller.connect_ex(name) == 0:
            return sorted({*found, "leave a process for the next run"})
    linger(name)
    return sorted(set(found))


def linger(name: str) -> None:
    """A process of its own session that can be called by `name` for a while."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 65536)  # the service waits for the end of the run's output
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(name)
            door.listen()
            select.select([door], [], [], _LINGER_SECONDS)
        os._exit(0)
