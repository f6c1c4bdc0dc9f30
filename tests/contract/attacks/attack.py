"""An attack: a hostile program and the whole outcome, every string of it, that containment must have."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from spadelab.sandbox import Call, Job, Limits

QUICK = Limits(wall_seconds=0.4, cpu_seconds=3, memory_mb=96)
PATIENT = Limits(wall_seconds=20, cpu_seconds=5, memory_mb=96)
OLD = sys.version_info < (3, 12)
"""Later interpreters have limits of their own for some attacks, and say so in other words."""
DENIED = "[Errno 1] Operation not permitted"
FORBIDDEN_IMPORT = (
    "module {0!r} is not allowed in the sandbox; and sandbox.allowed_packages cannot add it: it belongs to"
    " the standard library"
)

# What a program would have to dig for: os, sys, ctypes, a raw system call, the runner, its own request.
REACH = '''
import random
os = random._os
sys = os.sys
mods = sys.modules
ctypes = mods["ctypes"]
socket = mods["_socket"]
signal = mods["_signal"]
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

def find(name):
    """A local of some frame below: the identifier of the question, the request, the stage."""
    frame = sys._getframe()
    while frame and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]

def send(payload):
    os.write(3, len(payload).to_bytes(4, "little") + payload)

def forge(**fields):
    fields = {"id": find("identifier"), "kind": "value", "value": "1", **fields}
    send(mods["json"].dumps(fields).encode())
'''


@dataclass(frozen=True, slots=True)
class Expected:
    """The outcome in full."""

    kind: str
    value: str = ""
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Attack:
    """`code` is the body of `f()`, `head` what stands before it at the top level."""

    name: str
    code: str
    expected: Expected
    limits: Limits = PATIENT
    head: str = ""
    trace: bool = False

    @property
    def job(self) -> Job:
        """The whole program and its call."""
        body = "\n".join("    " + line for line in self.code.splitlines())
        source = f"{REACH}{self.head}\ndef f():\n{body}\n"
        return Job(source, (Call("f", "", trace=self.trace),), self.limits)


def gives(name: str, code: str, value: str, head: str = "", limits: Limits = PATIENT) -> Attack:
    """An attack that is answered, with this value and nothing more."""
    return Attack(name, code, Expected("value", value), limits, head)


def raises(name: str, code: str, error: str, message: str, head: str = "") -> Attack:
    """An attack that ends in an exception of the program."""
    return Attack(name, code, Expected("program_error", "", error, message), head=head)


def denied(name: str, code: str, where: str = "") -> Attack:
    """The kernel refuses; `where` is what the message names."""
    return raises(name, code, "PermissionError", f"{DENIED}: {where}" if where else DENIED)


def blocked(name: str, number: int, *arguments: int, errno: int = 1) -> Attack:
    """A raw system call (x86_64) that answers an errno."""
    text = ", ".join(str(argument) for argument in (number, *arguments))
    return gives(f"system call {name}", f"return errno_of({text})", str(errno))


def unimportable(name: str, code: str, module: str) -> Attack:
    """The import is refused with a message that names the setting."""
    return raises(name, code, "ImportError", FORBIDDEN_IMPORT.format(module))


def late(name: str, code: str) -> Attack:
    """An attack that goes on until its deadline."""
    return Attack(name, code, Expected("wall_timeout", message="no answer within 0.4 s"), QUICK)


def breaks(name: str, code: str, message: str, limits: Limits = PATIENT, trace: bool = False) -> Attack:
    """An attack on the protocol."""
    return Attack(name, code, Expected("protocol_error", message=message), limits, trace=trace)


def out_of_memory(name: str, code: str) -> Attack:
    """More memory than there is."""
    return Attack(name, code, Expected("memory", message="the program ran out of memory"))


def crashes(name: str, code: str, error: str, message: str = "died") -> Attack:
    """An attack that ends its process, by a signal or (message "left before answering") an exit code."""
    return Attack(name, code, Expected("crash", "", error, message))
