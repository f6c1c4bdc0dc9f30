"""The attacks: name, code of the program, and the outcome that containment must have.

The expectation is the outcome's kind, or, for program errors and crashes, its error. `reach` gives an
attack what a program would have to dig for: os, sys, ctypes and a raw system call. Every attack is
harmless where it succeeds (signal 0, paths that do not exist, null pointers): a test of a wall must not
need the wall.
"""

from __future__ import annotations

from dataclasses import dataclass

from spadelab.sandbox import Limits

QUICK = Limits(wall_seconds=0.4, cpu_seconds=3, memory_mb=96)
PATIENT = Limits(wall_seconds=8, cpu_seconds=5, memory_mb=96)

REACH = '''
import random
os = random._os
sys = os.sys
mods = sys.modules
ctypes = mods["ctypes"]
socket = mods["socket"]
signal = mods["signal"]
resource = mods["resource"]
mmap = mods["mmap"]
LIBC = ctypes.CDLL(None, use_errno=True)

def errno_of(number, *arguments):
    """The errno that a raw system call answers, 0 when it worked."""
    ctypes.set_errno(0)
    call = LIBC.syscall
    call.restype = ctypes.c_long
    result = call(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    return 0 if result >= 0 else ctypes.get_errno()

def identify():
    frame = sys._getframe()
    while frame and "identifier" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["identifier"]

def send(payload):
    os.write(3, len(payload).to_bytes(4, "little") + payload)

def forge(**fields):
    fields = {"id": identify(), "kind": "value", "value": "1", **fields}
    send(mods["json"].dumps(fields).encode())
'''


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: `code` is the body of `f()`."""

    name: str
    code: str
    expected: str
    value: str = ""
    limits: Limits = PATIENT

    @property
    def source(self) -> str:
        """The whole program."""
        body = "\n".join("    " + line for line in self.code.splitlines())
        return f"{REACH}\ndef f():\n{body}\n"


def _denied(name: str, code: str) -> Attack:
    return Attack(name, code, "PermissionError")


def _blocked(name: str, number: int, *arguments: int, errno: int = 1) -> Attack:
    text = ", ".join(str(argument) for argument in (number, *arguments))
    return Attack(f"system call {name}", f"return errno_of({text})", "value", str(errno))


FILES = (
    _denied("read passwd", "return open('/etc/passwd').read()"),
    _denied("read shadow", "return os.open('/etc/shadow', os.O_RDONLY)"),
    _denied("climb out", "return open('../../../../etc/hostname').read()"),
    _denied("read own source", "return open('/jail/zygote.py').read()"),
    _denied("read environment", "return open('/proc/self/environ').read()"),
    _denied("read parent memory", "return open('/proc/1/mem', 'rb').read(1)"),
    _denied("list root", "return os.listdir('/')"),
    _denied("stat", "return os.stat('/root').st_mode"),
    _denied("create", "return os.open('/nowhere/x', os.O_CREAT | os.O_WRONLY)"),
    _denied("write in cwd", "open('nowhere/x', 'w').write('1')"),
    _denied("nameless file", "return os.open('/tmp', os.O_TMPFILE | os.O_RDWR)"),
    _denied("mkdir", "os.mkdir('/nowhere/x')"),
    _denied("symlink", "os.symlink('/etc', '/nowhere/x')"),
    _denied("hard link", "os.link('/etc/passwd', '/nowhere/x')"),
    _denied("rename", "os.rename('/nowhere/y', '/nowhere/x')"),
    _denied("unlink", "os.unlink('/nowhere/x')"),
    _denied("chmod", "os.chmod('/nowhere', 0o777)"),
    _denied("chdir", "os.chdir('/')"),
    _denied("memfd", "return os.memfd_create('x')"),
    _denied("duplicate a descriptor", "return os.dup(3)"),
    _blocked("openat2", 437, 0, 0, 0, 0, errno=38),
    _blocked("flock", 73, 0, 2),
    _blocked("mount", 165, 0, 0, 0, 0, 0),
    _blocked("chroot", 161, 0),
    Attack(
        "inherited descriptors",
        "open_ones = []\n"
        "for number in range(4, 200):\n"
        "    try:\n        os.read(number, 1); open_ones.append(number)\n"
        "    except OSError as error:\n        error.errno == 9 or open_ones.append(number)\n"
        "return open_ones",
        "value",
        "[]",
    ),
    Attack(
        "standard descriptors",
        "return [os.read(0, 9), os.write(1, b'x' * 100000), os.write(2, b'x')]",
        "value",
        "[b'', 100000, 1]",
    ),
    Attack("host environment", "return 'SPADELAB_CANARY' in os.environ", "value", "False"),
)

NETWORK = (
    *(
        _denied(f"socket {family}", f"return socket.socket(socket.{family}, socket.SOCK_STREAM).fileno()")
        for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_VSOCK")
    ),
    _denied("socket pair", "return socket.socketpair()[0].fileno()"),
    _denied("pipe", "return os.pipe()"),
    _denied("event descriptor", "return os.eventfd(0)"),
    _denied(
        "send a descriptor", "global s\ns = socket.socket(1, 1, 0, fileno=3)\nsocket.send_fds(s, [b'x'], [3])"
    ),
    Attack("name look-up", "return socket.gethostbyname(b'example.org')", "gaierror"),
    _blocked("io_uring_setup", 425, 8, 0),
    _blocked("epoll_create1", 291, 0),
)

PROCESSES = (
    _denied("fork", "return os.fork()"),
    _denied("fork bomb", "for _ in range(3):\n    os.fork()"),
    _denied("exec", "os.execv('/bin/sh', ['sh'])"),
    _denied("spawn", "return os.posix_spawn('/bin/sh', ['sh'], {})"),
    Attack("shell", "return os.system('true') == 0", "value", "False"),
    Attack("subprocess by import", "import subprocess", "ImportError"),
    Attack("os by import", "import os", "ImportError"),
    Attack("os by dynamic import", "return __import__('os').getcwd()", "ImportError"),
    Attack("thread", "mods['_thread'].start_new_thread(print, ())", "RuntimeError"),
    _denied("kill everyone", "os.kill(-1, 0)"),
    _denied("kill the zygote", "os.kill(1, 0)"),
    _denied("kill itself", "os.kill(os.getpid(), 0)"),
    _denied("pidfd", "return os.pidfd_open(1)"),
    _denied("nice", "return os.nice(-5)"),
    _denied("scheduler", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
    _denied("set user", "os.setuid(0)"),
    Attack("alarm", "signal.setitimer(signal.ITIMER_REAL, 1)", "itimer_error"),
    _blocked("clone3", 435, 0, 0, errno=38),
    _blocked("unshare", 272, 0x10000000),
    _blocked("setns", 308, 3, 0),
    _blocked("ptrace", 101, 16, 1, 0, 0),
    _blocked("process_vm_readv", 310, 1, 0, 0, 0, 0, 0),
    _blocked("prctl", 157, 4, 1, 0, 0, 0),
    _blocked("seccomp", 317, 0, 0, 0),
    _blocked("prlimit64", 302, 0, 9, 0, 0),
    _blocked("bpf", 321, 0, 0, 0),
    _blocked("perf_event_open", 298, 0, 0, 0, 0, 0),
    _blocked("keyctl", 250, 0, 0, 0, 0, 0),
    _blocked("userfaultfd", 323, 0),
    _blocked("capset", 126, 0, 0),
    _blocked("shmget", 29, 1, 4096, 512),
    _blocked("mq_open", 240, 0, 64, 0, 0),
    _blocked("clock_settime", 227, 0, 0),
    _blocked("executable mapping", 9, 0, 4096, 7, 0x22, -1, 0),
    _blocked("file mapping", 9, 0, 4096, 1, 2, 3, 0),
    _blocked("mprotect to executable", 10, 0, 4096, 5),
)

RESOURCES = (
    Attack("endless loop", "while True:\n    pass", "wall_timeout", limits=QUICK),
    Attack(
        "stubborn loop",
        "for number in range(1, 65):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "wall_timeout",
        limits=QUICK,
    ),
    Attack("processor time", "while True:\n    pass", "cpu_timeout", limits=Limits(8, 1, 96)),
    Attack(
        "processor time, signal ignored",
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        "cpu_timeout",
        limits=Limits(12, 1, 96),
    ),
    Attack("sleep", "mods['time'].sleep(60)", "wall_timeout", limits=QUICK),
    Attack(
        "regular expression",
        "return bool(mods['re'].match('(a+)+$', 'a' * 40 + 'b'))",
        "wall_timeout",
        limits=QUICK,
    ),
    Attack("huge power", "return 7 ** 10 ** 9", "wall_timeout", limits=QUICK),
    Attack("huge block", "return len(bytearray(10 << 30))", "memory"),
    Attack("growing list", "x = []\nwhile True:\n    x.append('a' * 10000 + str(len(x)))", "memory"),
    Attack("growing global", "global hoard\nhoard = []\nwhile True:\n    hoard.append([0] * 50)", "memory"),
    Attack(
        "swallowed memory error",
        "x = []\nwhile True:\n    try: x.append(bytearray(1 << 16))\n    except MemoryError: pass",
        "wall_timeout",
        limits=QUICK,
    ),
    Attack("recursion", "return f()", "RecursionError"),
    Attack(
        "stack overflow",
        "class A:\n    def __repr__(self): return repr(self)\n"
        "sys.setrecursionlimit(10 ** 9)\nreturn repr(A())",
        "SIGSEGV",
    ),
    Attack("segmentation fault", "ctypes.string_at(0)", "SIGSEGV"),
    Attack("abort", "os.abort()", "crash"),
    Attack("exit at once", "os._exit(0)", "exit code 0"),
    Attack("exit", "raise SystemExit(0)", "SystemExit"),
    Attack("interrupt", "raise KeyboardInterrupt", "KeyboardInterrupt"),
    Attack(
        "exception that bites",
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "E",
    ),
    Attack("print a gigabyte", "for _ in range(1 << 20):\n    print('x' * 1024)", "output_limit"),
    Attack(
        "print and swallow",
        "for _ in range(1 << 10):\n    try: print('x' * 1024)\n    except Exception: pass\nreturn 1",
        "output_limit",
    ),
    Attack("huge result", "return 'x' * (50 << 20)", "output_limit"),
    Attack("many digits", "return 10 ** 5000", "NotALiteral"),
)

CHANNEL = (
    Attack("gigantic length", "os.write(3, b'\\xff' * 4)", "protocol_error"),
    Attack("garbage", "send(b'garbage')", "protocol_error"),
    Attack("pickle", "send(b'cos\\nsystem\\n(S\"true\"\\ntR.')", "protocol_error"),
    Attack("half a frame", "os.write(3, b'\\x40\\0\\0\\0{')\nwhile True: pass", "wall_timeout", limits=QUICK),
    Attack("forged nan", "forge(value='nan')", "protocol_error"),
    Attack("forged infinity", "forge(value='1e999')", "protocol_error"),
    Attack("forged call", "forge(value='__import__(\"os\").getpid()')", "protocol_error"),
    Attack("forged number", "forge(value=1)", "protocol_error"),
    Attack("forged kind", "forge(kind='jail_died')", "protocol_error"),
    Attack("extra field", "forge(reward=1)", "protocol_error"),
    Attack("long field", "forge(stdout='x' * 100000)", "protocol_error"),
    Attack("wrong identifier", "forge(id='0' * 16)", "protocol_error"),
    Attack("deep brackets", "send(b'[' * 400000)", "protocol_error"),
    Attack("deep literal", "forge(value='[' * 5000 + ']' * 5000)", "protocol_error"),
    Attack("bad text", 'send(b\'{"id": "\\xff"}\')', "protocol_error"),
    Attack("lone surrogate", 'send(b\'{"id": "\\\\ud800", "kind": "value"}\')', "protocol_error"),
    Attack("not an object", "send(b'[1]')", "protocol_error"),
    Attack("closed channel", "os.close(3)\nwhile True: pass", "protocol_error", limits=QUICK),
    Attack("cycle", "x = []\nx.append(x)\nreturn x", "NotALiteral"),
    Attack("deep list", "x = []\nfor _ in range(10000): x = [x]\nreturn x", "NotALiteral"),
    Attack("nan", "return float('nan')", "NotALiteral"),
    Attack("infinity inside", "return [1, {'a': float('inf')}]", "NotALiteral"),
    Attack("equal to all", "class X:\n    def __eq__(self, other): return True\nreturn X()", "NotALiteral"),
    Attack("evil text", "class S(str):\n    def __repr__(self): return '1'\nreturn S('x')", "NotALiteral"),
    Attack(
        "evil number", "class I(int):\n    def __eq__(self, o): return True\nreturn [I(1)]", "NotALiteral"
    ),
    Attack("generator", "return (x for x in [1])", "NotALiteral"),
    Attack("surrogate result", "print('\\ud800')\nreturn '\\ud800'", "value", "'\\ud800'"),
)

ATTACKS = (*FILES, *NETWORK, *PROCESSES, *RESOURCES, *CHANNEL)
