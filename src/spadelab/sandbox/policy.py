"""The system-call policy, and its compilation to BPF with libseccomp.

Only developers run this file (`python -m spadelab.sandbox.policy` rewrites `filters/*.bpf`); users
load the committed bytes, so libseccomp is never needed at run time. The lists are those measured in
the attack suite: the child may compute, allocate, read its channel and exit, and nothing else; there
is no system call by which it could open, send, signal or start anything, and none that tells one machine,
user or run from another but the clock.
"""

from __future__ import annotations

import ctypes
import errno
import os
import tempfile
from pathlib import Path

FILTERS = Path(__file__).parent / "filters"
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

CHILD_ALLOWED = """
read write readv writev munmap brk rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
set_robust_list rseq sched_yield nanosleep gettimeofday time exit exit_group restart_syscall poll ppoll close
"""

# Answered with another errno than EPERM so that libraries take their documented fallback. No error at all
# is the answer 0: the number of a process would tell how many ran before it.
CHILD_ERRORS = {
    "clone3": errno.ENOSYS,
    "openat2": errno.ENOSYS,
    "ioctl": errno.ENOTTY,
    "getpid": 0,
    "gettid": 0,
}

ZYGOTE_DENIED = """
mount umount2 pivot_root move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr chroot
unshare setns ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp bpf
perf_event_open add_key request_key keyctl init_module finit_module delete_module kexec_load
kexec_file_load open_by_handle_at name_to_handle_at userfaultfd io_uring_setup io_uring_enter
io_uring_register socket socketpair bind connect listen accept accept4 shmget shmat shmctl shmdt msgget
msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink mq_timedsend mq_timedreceive
mq_notify mq_getsetattr swapon swapoff settimeofday clock_settime clock_adjtime adjtimex sethostname
setdomainname ioperm iopl modify_ldt personality fanotify_init fanotify_mark mknod mknodat move_pages
migrate_pages mbind set_mempolicy setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid
setfsgid capset memfd_secret quotactl acct reboot syslog vhangup execve execveat memfd_create
"""

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_MASKED_EQUAL = 7
_PROT_EXEC, _MAP_ANONYMOUS, _CLONE_NEWUSER, _TIOCSTI = 4, 0x20, 0x10000000, 0x5412
_MAP_HUGETLB, _FUTEX_PRIVATE, _INT, _LONG = 0x40000, 128, (1 << 32) - 1, (1 << 64) - 1
_MREMAP_MAYMOVE = 1
_CLOCKS = 0xFFFFFFF0
# DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE: what allocators use. MERGEABLE would tell what others have in memory.
_ADVICE = (4, 8, 14, 15)


class _Compare(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


class _Builder:
    """One libseccomp context for one architecture."""

    def __init__(self, default: int, architecture: int) -> None:
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))
        native = self.lib.seccomp_arch_native()
        if ctypes.c_uint32(native).value != architecture:
            self._check(self.lib.seccomp_arch_add(self.context, ctypes.c_uint32(architecture)))
            self._check(self.lib.seccomp_arch_remove(self.context, ctypes.c_uint32(native)))

    def add(self, name: str, action: int, *tests: tuple[int, int, int]) -> None:
        """Add a rule; each test is (argument, mask, wanted value under the mask)."""
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            raise ValueError(f"libseccomp does not know the system call {name}")
        compares = (_Compare * len(tests))(*[_Compare(arg, _MASKED_EQUAL, a, b) for arg, a, b in tests])
        code = self.lib.seccomp_rule_add_array(
            self.context, ctypes.c_uint32(action), number, len(tests), compares
        )
        self._check(code)

    def export(self) -> bytes:
        """The BPF program as bytes; releases the context."""
        with tempfile.TemporaryFile() as file:
            self._check(self.lib.seccomp_export_bpf(self.context, file.fileno()))
            self.lib.seccomp_release(self.context)
            file.seek(0)
            return file.read()

    @staticmethod
    def _check(code: int) -> None:
        if code < 0:
            raise OSError(-code, os.strerror(-code))


def build_child(architecture: int) -> bytes:
    """The strict allow-list of a child: default EPERM, no way to open anything."""
    builder = _Builder(_ERRNO | errno.EPERM, architecture)
    for name in CHILD_ALLOWED.split():
        builder.add(name, _ALLOW)
    for name, code in CHILD_ERRORS.items():
        builder.add(name, _ERRNO | code)
    anonymous = _MAP_ANONYMOUS | _MAP_HUGETLB
    # The kernel chooses the place: pages far apart would each take two more for their tables, uncounted.
    builder.add("mmap", _ALLOW, (0, _LONG, 0), (2, _PROT_EXEC, 0), (3, anonymous, _MAP_ANONYMOUS))
    builder.add("mremap", _ALLOW, (3, ~_MREMAP_MAYMOVE & _INT, 0))
    builder.add("mprotect", _ALLOW, (2, _PROT_EXEC, 0))
    for advice in _ADVICE:
        builder.add("madvise", _ALLOW, (2, _INT, advice))
    # A shared futex in a file that others have mapped as well would wake them: a channel between children.
    builder.add("futex", _ALLOW, (1, _FUTEX_PRIVATE, _FUTEX_PRIVATE))
    # Negative clocks are the CPU time of other processes.
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        builder.add(name, _ALLOW, (0, _CLOCKS, 0))
    return builder.export()


def build_zygote(architecture: int) -> bytes:
    """The deny-list of the zygote, which every child inherits below its own filter."""
    builder = _Builder(_ALLOW, architecture)
    for name in ZYGOTE_DENIED.split():
        builder.add(name, _ERRNO | errno.EPERM)
    builder.add("clone", _ERRNO | errno.EPERM, (0, _CLONE_NEWUSER, _CLONE_NEWUSER))
    builder.add("clone3", _ERRNO | errno.ENOSYS)
    builder.add("ioctl", _ERRNO | errno.EPERM, (1, 0xFFFFFFFF, _TIOCSTI))
    return builder.export()


def build_all() -> dict[str, bytes]:
    """File name to BPF bytes, for every role and architecture."""
    files: dict[str, bytes] = {}
    for name, number in ARCHITECTURES.items():
        files[f"child-{name}.bpf"] = build_child(number)
        files[f"zygote-{name}.bpf"] = build_zygote(number)
    return files


if __name__ == "__main__":
    FILTERS.mkdir(exist_ok=True)
    for file_name, code in build_all().items():
        (FILTERS / file_name).write_bytes(code)
        print(file_name, len(code) // 8, "instructions")
