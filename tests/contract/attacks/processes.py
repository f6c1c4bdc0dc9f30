"""Processes, signals, clocks, kernel surface and shared memory."""

from __future__ import annotations

from .attack import DENIED, blocked, crashes, denied, gives, raises, unimportable

# The system calls that answer anything but "not permitted" when they get no arguments. Left out are those
# that would end the process, rt_sigreturn, exit and exit_group, and one that would wait, ppoll. This attack
# must not run without the filter.
_SWEEP = """\
numbers = [*range(335), *range(424, 470)]
for number in (15, 60, 231, 271):
    numbers.remove(number)
return [number for number in numbers if errno_of(number, 0, 0, 0, 0, 0, 0) != 1]"""
_ANSWERED = (
    "[0, 1, 3, 7, 10, 11, 12, 13, 14, 16, 19, 20, 24, 25, 35, 39, 96, 131, 186, 201, 219, 228, 229, 230, 273,"
    " 334, 435, 437]"
)

ATTACKS = (
    denied("fork", "return os.fork()"),
    denied(
        "fork by libc",
        "pid = LIBC.fork()\nif pid == 0: os._exit(0)\n"
        "raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))",
    ),
    denied("fork bomb", "for _ in range(3):\n    os.fork()"),
    denied("fork that ends at once", "pid = os.fork()\nif pid == 0: os._exit(0)\nreturn pid > 0"),
    denied("exec", "os.execv('/bin/sh', ['sh'])"),
    denied("spawn", "return os.posix_spawn('/bin/sh', ['sh'], {})", "'/bin/sh'"),
    gives("shell", "return os.system('true') == 0", "False"),
    unimportable("subprocess by import", "import subprocess", "subprocess"),
    unimportable("os by import", "import os", "os"),
    unimportable("os by dynamic import", "return __import__('os').getcwd()", "os"),
    unimportable("os under another name", "import os.path as path", "os.path"),
    raises(
        "the sandbox itself",
        "import jail.runner",
        "ImportError",
        "module 'jail.runner' is not allowed in the sandbox; add it to sandbox.allowed_packages",
    ),
    raises("thread", "mods['_thread'].start_new_thread(print, ())", "RuntimeError", "can't start new thread"),
    denied("kill everyone", "os.kill(-1, 0)"),
    denied("kill the zygote", "os.kill(1, 0)"),
    denied("kill itself", "os.kill(os.getpid(), 0)"),
    denied("kill the group", "os.killpg(0, 0)"),
    denied("signal by queue", "signal.pidfd_send_signal(0, 0)"),
    denied("pidfd", "return os.pidfd_open(1)"),
    denied("wait for others", "return os.waitpid(-1, os.WNOHANG)"),
    denied("new session", "os.setsid()"),
    denied("group of the zygote", "return os.getpgid(1)"),
    denied("nice", "return os.nice(-5)"),
    denied("priority of others", "os.setpriority(0, 1, 19)"),
    denied("scheduler", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
    denied("pin to a core", "os.sched_setaffinity(0, [0])"),
    denied("affinity of the zygote", "return os.sched_getaffinity(1)"),
    denied("cores of the machine", "return os.sched_getaffinity(0)"),
    denied("set user", "os.setuid(0)"),
    denied("set groups", "os.setgroups([0])"),
    raises("alarm", "signal.setitimer(signal.ITIMER_REAL, 1)", "itimer_error", DENIED),
    raises(
        "raise own limits",
        "resource.setrlimit(resource.RLIMIT_NPROC, (9, 9))",
        "ValueError",
        "not allowed to raise maximum limit",
    ),
    blocked("clone", 56, 0x11, 0, 0, 0, 0),
    blocked("vfork", 58),
    blocked("clone3", 435, 0, 0, errno=38),
    blocked("execveat", 322, -100, 0, 0, 0, 0),
    blocked("unshare", 272, 0x10000000),
    blocked("setns", 308, 3, 0),
    blocked("ptrace", 101, 16, 1, 0, 0),
    blocked("process_vm_readv", 310, 1, 0, 0, 0, 0, 0),
    blocked("process_vm_writev", 311, 1, 0, 0, 0, 0, 0),
    blocked("kcmp", 312, 1, 1, 0, 0, 0),
    blocked("pidfd_getfd", 438, 0, 0, 0),
    blocked("prctl", 157, 4, 1, 0, 0, 0),
    blocked("arch_prctl", 158, 0x1003, 0),
    blocked("seccomp", 317, 0, 0, 0),
    blocked("landlock_create_ruleset", 444, 0, 0, 1),
    blocked("prlimit64", 302, 0, 9, 0, 0),
    blocked("bpf", 321, 0, 0, 0),
    blocked("perf_event_open", 298, 0, 0, 0, 0, 0),
    blocked("keyctl", 250, 0, 0, 0, 0, 0),
    blocked("userfaultfd", 323, 0),
    blocked("membarrier", 324, 0, 0, 0),
    blocked("modify_ldt", 154, 0, 0, 0),
    blocked("iopl", 172, 3),
    blocked("personality", 135, 0x0040000),
    blocked("capset", 126, 0, 0),
    blocked("reboot", 169, 0, 0, 0, 0),
    blocked("init_module", 175, 0, 0, 0),
    blocked("kexec_load", 246, 0, 0, 0, 0),
    blocked("quotactl", 179, 0, 0, 0, 0),
    blocked("shmget", 29, 1, 4096, 512),
    blocked("semget", 64, 1, 1, 512),
    blocked("msgget", 68, 1, 512),
    blocked("mq_open", 240, 0, 64, 0, 0),
    blocked("memfd_secret", 447, 0),
    blocked("timer_create", 222, 0, 0, 0),
    blocked("clock_settime", 227, 0, 0),
    blocked("clock_gettime of another process", 228, (~1 << 3) | 2, 0),
    blocked("clock_getres of another process", 229, (~1 << 3) | 2, 0),
    blocked("futex that others share: wait", 202, 0, 0, 0, 0, 0, 0),
    blocked("futex that others share: wake", 202, 0, 1, 1, 0, 0, 0),
    blocked("executable mapping", 9, 0, 4096, 7, 0x22, -1, 0),
    blocked("file mapping", 9, 0, 4096, 1, 2, 3, 0),
    blocked("mapping at a place of its own choice", 9, 1 << 40, 4096, 3, 0x22, -1, 0),
    blocked("mapping moved to a place of its own choice", 25, 0, 4096, 4096, 3, 1 << 40),
    blocked("huge pages", 9, 0, 2 << 20, 3, 0x40022, -1, 0),
    blocked("mprotect to executable", 10, 0, 4096, 5),
    blocked("pkey_mprotect", 329, 0, 4096, 5, 0),
    blocked("memory that others may share", 28, 0, 4096, 12),
    blocked("remap_file_pages", 216, 0, 4096, 0, 0, 0),
    gives(
        "every system call",
        _SWEEP,
        _ANSWERED,
    ),
    crashes("system call of another architecture", "errno_of(0x40000000 + 39)", "SIGSYS"),
    gives("own user", "return [os.getuid(), os.geteuid(), os.getgid(), os.getegid()]", "[-1, -1, -1, -1]"),
    gives("own number", "return [os.getpid(), mods['_thread'].get_native_id()]", "[0, 0]"),
    gives(
        "write into code",
        # Reading is harmless; the write would end the process.
        "address = ctypes.cast(LIBC.getpid, ctypes.c_void_p).value\n"
        "return errno_of(10, address & ~4095, 4096, 7)",
        "1",
    ),
)
