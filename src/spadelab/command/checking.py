"""The verb `check`: one draft, or one interactive environment, through all gates."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from spadelab.command.arguments import read_arguments, read_text
from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.environments.interactive import gates as interactive
from spadelab.environments.programs import GateSettings, ProgramError, admit
from spadelab.environments.syntax import parse_program
from spadelab.errors import UserError
from spadelab.records import Admission, Draft
from spadelab.sandbox import make_sandbox


def check(path: Path, kind: str, arguments: Sequence[str], backend: str, as_json: bool) -> int:
    """Show what each gate says of the draft; the exit code: 0 admitted, 1 rejected."""
    text = read_text(path)
    environment = path.suffix == ".py" and is_environment(text)
    if environment and arguments:
        raise UserError(f"{path}: --args goes with a program task; an environment takes a seed.")
    draft = Draft(path.name, kind, "" if environment else read_draft(path, text, arguments), 0)
    warn_unsafe(backend)
    with make_sandbox(backend, workers=2 if environment else 1) as sandbox:
        if environment:
            admission = interactive.judge_source(text, sandbox, interactive.GateSettings())
        else:
            (admission,) = admit([draft], sandbox, GateSettings(), frozenset())
    if admission.rejection in ("jail_died", "unavailable"):
        raise UserError(f"the sandbox failed ({admission.rejection}); run spadelab doctor.")
    if as_json:
        print_json(describe(admission))
    else:
        show(admission)
    return 0 if admission.environment else 1


def is_environment(source: str) -> bool:
    """Whether a module defines a class whose name ends in Env."""
    try:
        tree = parse_program(source)
    except ProgramError:
        return False
    return any(isinstance(node, ast.ClassDef) and node.name.endswith("Env") for node in tree.body)


def read_draft(path: Path, text: str, arguments: Sequence[str]) -> str:
    """The draft's text: the file itself, or a .py file put together with argument lists."""
    if path.suffix != ".py":
        if arguments:
            raise UserError(f"{path}: --args goes with a .py file; a draft has ```input blocks.")
        return text
    if not arguments:
        raise UserError(f"{path}: a .py file needs its input; add --args '3, [1, 2]'.")
    inputs = "\n".join(map(read_arguments, arguments))
    return f"```python\n{text.strip()}\n```\n```input\n{inputs}\n```"


def describe(admission: Admission) -> dict[str, object]:
    """The verdict as JSON."""
    environment = admission.environment
    return {
        "admitted": environment is not None,
        "rejection": admission.rejection,
        "checks": [asdict(check) for check in admission.checks],
        "environment": asdict(environment) if environment else None,
    }


def show(admission: Admission) -> None:
    """The gates as a table, then the task that came out or the reason why none did."""
    console = Console(highlight=False)
    table = Table("gate", "", Column("ms", justify="right"), "reason", box=None, header_style="dim")
    for check in admission.checks:
        verdict = Text("passed", "green") if check.passed else Text(check.code, "red")
        table.add_row(check.gate, verdict, f"{1000 * check.seconds:.2f}", Text(check.reason))
    console.print(table)
    environment = admission.environment
    if environment is None:
        console.print(Text(f"rejected: {admission.rejection}"))
        return
    console.print(Text(f"admitted: {environment.kind}, difficulty {environment.difficulty}"))
    for demonstration in environment.demonstrations:
        actions = ", ".join(turn.action for turn in demonstration.turns)
        console.print(Text(f"  seed {demonstration.seed}: {actions}"))
    for given, output in zip(environment.inputs, environment.outputs, strict=True):
        console.print(Text(f"  {given} -> {output}"))
