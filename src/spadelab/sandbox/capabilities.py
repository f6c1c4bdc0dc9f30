"""What the kernel grants a process here: measured in a process of its own, never guessed from names."""

from __future__ import annotations

import subprocess
import sys

import msgspec

_SECONDS = 10.0

# Each capability is tried as the jail would use it. Root needs no user namespace; for everyone else it
# must also carry weight: some systems grant one in which nothing is allowed.
_PROBE = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)

def name(result):
    return "" if result == 0 else os.strerror(ctypes.get_errno())

def make_namespaces():
    user, group = os.geteuid(), os.getegid()
    if user and libc.unshare(0x10000000):
        return f"no user namespace: {os.strerror(ctypes.get_errno())}"
    if user:
        try:
            with open("/proc/self/uid_map", "w") as file:
                file.write(f"0 {user} 1")
        except OSError as error:
            return f"no user in the user namespace: {error.strerror}"
    fault = name(libc.unshare(0x40020000))
    return f"no mount and network namespaces: {fault}" if fault else ""

libc.syscall.restype = ctypes.c_long
version = libc.syscall(444, None, ctypes.c_size_t(0), 1)
landlock = "" if version > 0 else os.strerror(ctypes.get_errno())
namespaces = make_namespaces()
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, 0, 0, 0)
seccomp = "" if ctypes.get_errno() == 14 else os.strerror(ctypes.get_errno())
print(json.dumps({"namespaces": namespaces, "landlock": landlock, "seccomp": seccomp}))
"""


class Capabilities(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """For each: "" when it is there, else why not, in the kernel's words."""

    namespaces: str
    landlock: str
    seccomp: str


def measure_capabilities() -> Capabilities:
    """Try each once, under a timeout; what cannot even be tried is absent for that reason."""
    try:
        found = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE], capture_output=True, timeout=_SECONDS, check=True
        )
        return msgspec.json.decode(found.stdout, type=Capabilities)
    except subprocess.TimeoutExpired:
        return Capabilities(*[f"no answer within {_SECONDS:.0f} s"] * 3)
    except (OSError, subprocess.CalledProcessError, msgspec.MsgspecError):
        return Capabilities(*["this system has no such call"] * 3)
