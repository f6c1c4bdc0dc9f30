"""System calls that Python has no function for: seccomp, Landlock, prctl. Runs inside the jail.

Everything is prepared while the zygote starts, so that a forked child only makes the call.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_PT_LOAD, _READ_WRITE = 1, 3
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class Filter:
    """A seccomp program ready to be installed."""

    def __init__(self, code: bytes) -> None:
        self._code = ctypes.create_string_buffer(code, len(code))
        address = ctypes.cast(self._code, ctypes.c_void_p)
        self._program = _Program(len(code) // 8, address)
        self._prctl = _libc().prctl
        self._arguments = (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program), 0, 0)

    def install(self) -> None:
        """Bind this process, for ever, to the program. OSError when the kernel refuses."""
        if self._prctl(*self._arguments) != 0:
            raise OSError(ctypes.get_errno(), "the kernel refused the seccomp filter")


class Lifeline:
    """SIGKILL for this process when its parent ends, prepared."""

    def __init__(self) -> None:
        self._prctl = _libc().prctl

    def tie(self) -> None:
        """Make the call. Cleared by fork and by a change of user, so each child makes it, and last."""
        self._prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def forbid_new_privileges() -> None:
    """No set-user-id program can give anything back; the kernel wants this before seccomp."""
    _control(_PR_SET_NO_NEW_PRIVS, 1)


def forbid_inspection() -> None:
    """Nobody of the same user may attach to this process, or a later child, or read its memory."""
    _control(_PR_SET_DUMPABLE, 0)


def drop_root(user: int) -> bool:
    """Become `user` for the host as well, with no capability left. True when it was needed."""
    if os.geteuid() != 0:
        return False
    for capability in range(64):
        if _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and ctypes.get_errno() == errno.EINVAL:
            break
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    return True


def restrict_files() -> int:
    """Landlock without a single rule: no file, no TCP, no signal or abstract socket leaves the domain.

    Returns the Landlock version of the kernel, 0 where there is none.
    """
    syscall = _libc().syscall
    version = int(syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))
    if version < 1:
        return 0
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    ruleset = _Ruleset((1 << bits) - 1, 3, 3)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    fd = syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    if fd < 0 or syscall(_LANDLOCK_RESTRICT, fd, 0) != 0:
        return 0
    os.close(fd)
    return version


def measure_address_space() -> int:
    """Bytes of address space that this process uses, found without /proc.

    The kernel refuses a page when use would exceed RLIMIT_AS: bisect on the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 40
    try:
        while high - low > mmap.PAGESIZE:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
            try:
                mmap.mmap(-1, mmap.PAGESIZE).close()
                high = middle
            except OSError:
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return high


def redirect(library: str, name: str, function: Callable[..., Any]) -> None:
    """Let a loaded `library` call `function`, made by ctypes, where it calls `name` of libc.

    Its imports stand as addresses in its writable segments. Changes nothing where none is found.
    """
    wanted, instead = (struct.pack("N", _address(x)) for x in (_libc()[name], function))
    base = ctypes.c_size_t.from_address(ctypes.CDLL(library, os.RTLD_NOLOAD)._handle).value  # as in <link.h>
    (table,) = struct.unpack("Q", ctypes.string_at(base + 32, 8))
    (count,) = struct.unpack("H", ctypes.string_at(base + 56, 2))
    for segment in struct.iter_unpack("IIQQQQQQ", ctypes.string_at(base + table, 56 * count)):
        kind, flags, _, offset, _, _, size, _ = segment
        start = base + offset
        place = ctypes.string_at(start, size).find(wanted) if (kind, flags & 2) == (_PT_LOAD, 2) else -1
        if place >= 0 and (start + place) % 8 == 0:
            page = (start + place) & -mmap.PAGESIZE
            _libc().mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), _READ_WRITE)
            ctypes.memmove(start + place, instead, 8)


def trim_memory() -> None:
    """Give free memory back to the system, so that no child inherits it; a no-op where libc cannot."""
    trim = getattr(_libc(), "malloc_trim", None)
    if trim:
        trim(0)


def _address(function: Callable[..., Any]) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _control(option: int, value: int) -> None:
    if _libc().prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl option {option} failed")
