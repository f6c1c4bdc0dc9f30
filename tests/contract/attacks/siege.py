"""Runs attacks in one batch, an observer after each, and looks for what they left behind.

Also a program (`python -m attacks.siege BACKEND`), for the tests that run it as another user.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spadelab.sandbox import Call, Job, Outcome, Sandbox

from . import CLASSES
from .attack import PATIENT, Attack
from .persistence import OBSERVER

SECRET = "spadelab_canary_secret"
OBSERVED = (
    "[[5, 2, [1, 3]], 4.0, 17, '2020-01-02', '0.125', True, 'A', True, False, False, 4, False, 0, True,"
    " 1000, 4300, 0.5085564002410423, None, 1875664266.087349, 5]"
)
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")
_GROWTH_KB = 8192


@dataclass(frozen=True, slots=True)
class Result:
    """One attack, what became of it, and of the observer that ran after it."""

    attack: Attack
    outcome: Outcome
    after: Outcome

    @property
    def contained(self) -> bool:
        """Whether every string of the outcome is the expected one, without any output beside it."""
        got, wanted = self.outcome, self.attack.expected
        found = (got.kind, got.value, got.error, got.message)
        plain = all(letter.isprintable() or letter in "\t\n" for letter in "".join(found) + got.stdout)
        return plain and found == (wanted.kind, wanted.value, wanted.error, wanted.message)

    @property
    def forgotten(self) -> bool:
        """Whether the observer saw an untouched interpreter."""
        return self.after.kind == "value" and self.after.value == OBSERVED


def besiege(sandbox: Sandbox, attacks: Sequence[Attack]) -> tuple[list[Result], list[str]]:
    """Results in order, and one line for each thing that was left behind."""
    kinds = {sandbox._choose(attack.job): _observe(sandbox, attack) for attack in attacks}
    sandbox.map([*kinds.values()] * 8)
    before, jails = _look_twice(sandbox), sandbox._pool.jails()
    jobs = [job for attack in attacks for job in (attack.job, _observe(sandbox, attack))]
    outcomes = [outcome for (outcome,) in sandbox.map(jobs)]
    results = [Result(*row) for row in zip(attacks, outcomes[::2], outcomes[1::2], strict=True)]
    left = [] if sandbox._pool.jails() == jails and all(j.is_alive() for j in jails) else ["a jail was lost"]
    deadline = time.monotonic() + 10
    # A zygote collects the dead when it is next spoken to.
    while (lines := _compare(before, _look(sandbox))) and time.monotonic() < deadline:
        sandbox.map([*kinds.values()] * 4)
    return results, left + lines


def _observe(sandbox: Sandbox, attack: Attack) -> Job:
    """The observer that runs in the same kind of jail as the attack."""
    flavour = sandbox._choose(attack.job)
    head = "import numpy\n" if flavour.packages else ""
    if flavour.bare:
        source = OBSERVER.replace("EIGHTH", "'0.125'")
    else:
        source = "import decimal\n" + OBSERVER.replace("EIGHTH", "str(decimal.Decimal(1) / 8)")
    job = Job(head + source, (Call("f", "5"),), PATIENT)
    assert sandbox._choose(job) == flavour
    return job


@dataclass(frozen=True, slots=True)
class _Sight:
    processes: int
    descriptors: int
    memory: dict[int, int]
    files: frozenset[str]


def _look(sandbox: Sandbox) -> _Sight:
    """Processes below this one and its descriptors, idle children left out; KiB of each zygote; files of the
    jails' user.
    """
    jails = sandbox._pool.jails()
    for wait in (0.05, 0.0):
        for jail in jails:
            jail.end(0)  # of nobody: the answer comes when all orders are done, and the dead are collected
        time.sleep(wait)
    idle = sandbox._pool.count_spare()
    users = {jail.facts["uid"] for jail in jails}
    files = [path for folder in _SHARED for path in Path(folder).glob("*")]
    return _Sight(
        len(descendants(os.getpid())) - idle,
        len(list(Path("/proc/self/fd").iterdir())) - idle,
        {jail.zygote: int(_status(jail.zygote).get("VmRSS", "0 kB").split()[0]) for jail in jails},
        frozenset(str(path) for path in files if _owner(path) in users),
    )


def _look_twice(sandbox: Sandbox) -> _Sight:
    """A sight that holds: a child that was ordered a moment ago is there, one that was killed is gone."""
    seen, again = None, _look(sandbox)
    while seen is None or (seen.processes, seen.descriptors) != (again.processes, again.descriptors):
        time.sleep(0.2)
        seen, again = again, _look(sandbox)
    return again


def _compare(before: _Sight, after: _Sight) -> list[str]:
    lines = []
    if after.processes > before.processes:
        lines.append(f"{after.processes - before.processes} processes")
    if after.descriptors > before.descriptors:
        lines.append(f"{after.descriptors - before.descriptors} descriptors")
    grown = {pid: size - before.memory.get(pid, size) for pid, size in after.memory.items()}
    lines += [f"{size} KiB in zygote {pid}" for pid, size in grown.items() if size > _GROWTH_KB]
    return lines + [f"file {path}" for path in sorted(after.files - before.files)]


def descendants(pid: int) -> list[int]:
    """Processes below `pid`, zombies included, without a package that the jail's user may lack."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            parents[int(folder.name)] = int(_status(int(folder.name)).get("PPid", "0"))
    found = [pid]
    for parent in found:  # the list grows while it is read
        found += [child for child, of in parents.items() if of == parent]
    return found[1:]


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}  # it has just ended
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _owner(path: Path) -> int:
    try:
        return path.lstat().st_uid
    except FileNotFoundError:
        return -1


def main(backend: str) -> None:
    """Print what went wrong, a line each, and at the end how many attacks there were."""
    os.environ["SPADELAB_CANARY"] = SECRET
    attacks = [attack for name, some in CLASSES.items() if name != "packages" for attack in some]
    with Sandbox(backend, workers=2, allowed_packages=()) as sandbox:
        results, left = besiege(sandbox, attacks)
    for result in results:
        if not result.contained or not result.forgotten:
            print(result.attack.name, result.outcome, result.after)
    print(*left, f"{len(results)} attacks as user {os.getuid()}", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
