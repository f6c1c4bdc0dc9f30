"""Canary attacks: run at start, they show that every layer of the jail holds on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .jobs import Call, Job, Limits, Outcome

if TYPE_CHECKING:
    from .sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """One canary: whether the attack was contained, and what happened."""

    name: str
    contained: bool
    detail: str


_REACH = "import random\nos = random._os\n"
# Each must end as named: an attack counts as contained only when it failed in the expected way. Each is
# harmless where it succeeds, since that is what a canary is for: signal 0 reaches nobody, the files
# have no name, and the program that is started does nothing.
_ATTACKS: Mapping[str, tuple[str, str]] = {
    "read a file": ("open('/etc/passwd').read()", "PermissionError"),
    "write a file": ("os.open('/tmp', os.O_TMPFILE | os.O_WRONLY)", "PermissionError"),
    "list a folder": ("os.listdir('/')", "PermissionError"),
    "start a program": ("os.execv('/bin/sh', ['sh', '-c', 'exit 0'])", "PermissionError"),
    "fork": ("os.fork()", "PermissionError"),
    "signal everyone": ("os.kill(-1, 0)", "PermissionError"),
    "make a pipe": ("os.pipe()", "PermissionError"),
    "create a shared memory": ("os.memfd_create('canary')", "PermissionError"),
    "import a system module": ("__import__('subprocess')", "ImportError"),
    "exit as if all were well": ("os._exit(0)", "exit code 0"),
    "take memory": ("len(bytearray(1 << 30))", "memory"),
    "run for ever": ("sum(0 for _ in iter(int, 1))", "wall_timeout"),
    "print without end": ("[print('x' * 999) for _ in range(9999)]", "output_limit"),
    "forge an answer": ("os.write(3, b'\\xff' * 8)", "protocol_error"),
    "smuggle an object": ("type('X', (), {'__eq__': lambda a, b: True})()", "NotALiteral"),
}


def self_test(sandbox: Sandbox) -> list[CanaryResult]:
    """Run every canary, and an honest program beside them; about a third of a second.

    Nothing is run under "unsafe", where everything would succeed.
    """
    if not sandbox.isolated:
        return [CanaryResult("isolation", False, "the backend unsafe has none; no canary was run")]
    limits = Limits(wall_seconds=0.3, cpu_seconds=2.0, memory_mb=128)
    patient = Limits(wall_seconds=5.0, cpu_seconds=2.0, memory_mb=128)
    jobs = [
        Job(
            f"{_REACH}def f():\n    return {code}\n",
            (Call("f", ""),),
            limits if expected == "wall_timeout" else patient,
        )
        for code, expected in _ATTACKS.values()
    ]
    honest = Job("def f(x):\n    return [x, x + 1]\n", (Call("f", "1"),))
    *attacks, sane = sandbox.map([*jobs, honest])
    results = [
        CanaryResult(name, expected in (outcome.kind, outcome.error), _describe(outcome))
        for (name, (_, expected)), (outcome,) in zip(_ATTACKS.items(), attacks, strict=True)
    ]
    good = sane[0].kind == "value" and sane[0].value == "[1, 2]"
    return [*sandbox.probe(), *results, CanaryResult("honest program works", good, _describe(sane[0]))]


def _describe(outcome: Outcome) -> str:
    return " ".join(part for part in (outcome.kind, outcome.error, outcome.value[:80]) if part)
