"""The verb `play`: a person at the place of the solver."""

from __future__ import annotations

import ast
import unicodedata
from pathlib import Path
from typing import Literal

from spadelab.command.arguments import read_text
from spadelab.command.boundary import warn_unsafe
from spadelab.environments.interactive.contract import FAMILY, read_manifest
from spadelab.environments.interactive.session import (
    MACHINERY,
    Fault,
    Session,
    ask,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.environments.library import library_source, list_library
from spadelab.environments.trials import Rejected
from spadelab.errors import UserError
from spadelab.records import Environment
from spadelab.roles.actions import read_action
from spadelab.sandbox import Limits, Sandbox, make_sandbox

LIBRARY = "library:"


def play(file: str, seed: int, backend: str) -> int:
    """Play one instance; the exit code: 0, or 1 when the environment breaks its contract."""
    environment = load_environment(file)
    warn_unsafe(backend)
    with make_sandbox(backend, workers=1) as sandbox:
        (session,) = open_sessions(sandbox, [(environment, seed)], Limits())
        try:
            show(f"{environment.name}: {environment.message}\n")
            show(session.opening)
            left = not converse(sandbox, environment, session)
        finally:
            session.close()
    if session.fault:
        return report_fault(session.fault)
    if not left:
        outcome = "won" if session.terminated and episode_return(session) >= 1 else "not won"
        show(f"{outcome}, return {episode_return(session):g} after {len(session.steps)} turns")
    return 0


def load_environment(file: str) -> Environment:
    """The environment of a file or of "library:NAME", not judged. Raises UserError when it is none."""
    if file.startswith(LIBRARY):
        name = file.removeprefix(LIBRARY)
        if name not in list_library():
            raise UserError(f"{file}: the library has {', '.join(list_library())}.")
        source = library_source(name)
    else:
        source = read_text(Path(file))
    try:
        manifest = read_manifest(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{file}: this is no Python module ({error}).") from None
    except Rejected as error:
        raise UserError(f"{file}: {error.reason}.") from None
    return Environment(
        id=file,
        key="",
        family=FAMILY,
        kind=manifest.skill,
        source=source,
        inputs=(),
        outputs=(),
        difficulty=1,
        message=manifest.summary,
        name=manifest.name,
        entry=manifest.class_name,
        turns=manifest.max_turns,
        action_format=manifest.action_format,
    )


def converse(sandbox: Sandbox, environment: Environment, session: Session) -> bool:
    """Turn by turn until the episode is over: True; False when the person leaves before."""
    while not session.over:
        try:
            line = input(f"\n[{len(session.steps) + 1}/{session.max_turns}] > ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return False
        if line == ":quit":
            return False
        if line == ":hint":
            show(consult(sandbox, environment, session.seed, "hint"))
            continue
        if line == ":solution":
            show(consult(sandbox, environment, session.seed, "solution"))
            continue
        action = read_action(line, environment.action_format)
        if action.error:
            show(action.error)
            continue
        step_sessions(sandbox, [(session, action.text)])
        if session.fault is None:
            show(f"{session.observation}\nreward {session.steps[-1].reward:g}")
    return True


def consult(
    sandbox: Sandbox, environment: Environment, seed: int, method: Literal["hint", "solution"]
) -> str:
    """What the environment says of the instance: asked of a twin, so that the game at play stays as it is."""
    (twin,) = open_sessions(sandbox, [(environment, seed)], Limits())
    try:
        if twin.fault is None:
            (value,) = ask(sandbox, [twin], method)
    finally:
        twin.close()
    if twin.fault:
        return f"there is no {method}: {twin.fault.reason}"
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def report_fault(fault: Fault) -> int:
    """Say how the environment broke its contract; exit code 1."""
    if fault.code in MACHINERY:
        raise UserError(f"the sandbox failed ({fault.code}): {fault.reason}; run spadelab doctor.")
    show(f"the environment broke its contract ({fault.code}): {fault.reason}")
    return 1


def show(text: str) -> None:
    """Print it, but for control characters: the text is an environment's and could steer the terminal."""
    kept = (
        c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    print("".join(kept), flush=True)
