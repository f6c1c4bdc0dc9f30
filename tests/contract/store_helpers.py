"""What the store tests share: records to store, processes to kill, ways to do damage."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spadelab.config import Settings, load_settings
from spadelab.errors import UserError
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score

WRITER = Path(__file__).with_name("store_writer.py")
STEPS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "shutil.copyfile")
SURROGATE = "broken \ud800 text"


def make_settings(directory: Path, *overrides: str) -> Settings:
    return load_settings(None, [f"run.directory={directory}", "run.name=r", *overrides])[0]


def make_cycle(cycle: int, text: str = "text") -> tuple[list[Admission], list[Episode]]:
    """One admitted and one rejected draft, and two episodes."""
    environment = Environment(
        f"id{cycle}", f"key{cycle}", "programs", "induction", "return x", ("1", "2"), ("1", "2"),
        difficulty=1, visible=1, message=text, trace=(("return x", "x=1"),), born=cycle,
    )  # fmt: skip
    passed, failed = Check("static", True, seconds=0.5), Check("run", False, "timeout", text, seconds=5.0)
    admissions = [
        Admission(Draft(f"a{cycle}", "induction", text, 3.0), (passed,), environment),
        Admission(Draft(f"b{cycle}", "abduction", text, 2.5), (passed, failed)),
    ]
    generation = Generation(text, (1, 2), (3, 4, 5), (-0.5, -0.25, 0.0), "stop")
    right = Episode(environment.id, "induction", generation, Score(1.0, "correct"))
    return admissions, [right, replace(right, score=Score(0.0, "wrong", text))]


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WRITER), *map(str, arguments)], stdout=subprocess.PIPE, text=True, bufsize=1
    )


def kill_after(process: subprocess.Popen[str], steps: int, share: float) -> list[str]:
    """Kill -9 a writer during the step after `steps` whole ones and return what it printed.

    `share` of a step's duration is waited into that step: a loaded machine must not change what is hit.
    """
    assert process.stdout
    lines, began = [process.stdout.readline()], time.monotonic()
    for _ in range(steps):
        lines.append(process.stdout.readline())
    time.sleep(share * (time.monotonic() - began) / max(steps, 1))
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    return [line.strip() for line in lines if line.strip() not in ("", "ready")]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def crash_at(step: int, work: Callable[[], object]) -> bool:
    """Do `work` in a forked child that kills itself (-9) before its `step`-th change of the file system.

    Returns whether there were that many, so a loop over steps crashes everywhere once.
    """
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, _arguments: object) -> None:
            nonlocal left
            if event not in STEPS:
                return  # among others the event of os.kill itself
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the work failed"
    return os.WIFSIGNALED(status)


def in_limited_child(work: Callable[[], None], file_bytes: int) -> str:
    """Run `work` in a forked child that may not write larger files; return the UserError it met."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        try:
            work()
            os.write(write, b"no error")
        except UserError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text
