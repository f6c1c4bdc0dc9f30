"""Admitted program tasks as text: what the solver sees, what is right, what the proposer wrote.

A task is the triple (program, input, output) of AZR §1.1 seen from three sides: deduction asks for
the output, abduction for an input, induction for the program.
"""

from __future__ import annotations

import ast
import hashlib
import json

from spadelab.environments.syntax import find_entry, parse_program
from spadelab.records import Environment
from spadelab.sandbox.literals import LiteralError, parse_arguments, render

KINDS = ("deduction", "abduction", "induction")
FAMILY = "programs"
MAX_TRACE_LINES = 400


def make_environment(
    kind: str,
    source: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    trace: tuple[tuple[str, str], ...],
    message: str,
    key: str,
    cycle: int,
) -> Environment:
    """Assemble an admitted task; `id` is the SHA-256 of the canonical JSON of its content."""
    visible = len(inputs) // 2 if kind == "induction" else 0
    message = message if kind == "induction" else ""
    content = [FAMILY, kind, source, list(inputs), list(outputs), visible, message]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return Environment(
        digest, key, FAMILY, kind, source, inputs, outputs, len(trace), visible, message, trace, cycle
    )


def slots(environment: Environment) -> dict[str, str]:
    """The texts that this kind may see, and nothing else.

    deduction: program, input · abduction: program, output · induction: pairs (one `input -> output`
    a line, hidden pairs left out), message ("" when there is none).
    """
    if environment.kind == "deduction":
        return {"program": environment.source, "input": environment.inputs[0]}
    if environment.kind == "abduction":
        return {"program": environment.source, "output": environment.outputs[0]}
    pairs = zip(environment.inputs, environment.outputs, strict=True)
    shown = [f"{given} -> {output}" for given, output in pairs][: environment.visible]
    return {"pairs": "\n".join(shown), "message": environment.message}


def gold(environment: Environment) -> str:
    """A right completion, made of what execution recorded.

    Deduction: the trace, one `<statement> # <locals after>` a line, then the output. Abduction: the
    trace from its end, `# <final locals>` and then `<statement> # <locals before>` a line, then the
    input; where calls nest, "before" is the state after the statement executed before. Induction:
    the program. Without a trace, or with more than MAX_TRACE_LINES, the answer block alone.
    """
    if environment.kind == "induction":
        return f"<answer>\n{environment.source}\n</answer>"
    lines: list[str] = []
    if 0 < len(environment.trace) <= MAX_TRACE_LINES:
        forward = environment.kind == "deduction"
        lines = _write_trace(environment) if forward else _write_reversed_trace(environment)
    answer = environment.outputs[0] if environment.kind == "deduction" else environment.inputs[0]
    return "\n".join([*lines, f"<answer>{answer}</answer>"])


def propose_text(environment: Environment) -> str:
    """The draft text of a task as a proposer would have written it; the gates read it back unchanged."""
    parts = [f"```python\n{environment.source}\n```", "```input\n" + "\n".join(environment.inputs) + "\n```"]
    if environment.message:
        parts.append(f"```message\n{environment.message}\n```")
    return "\n".join(parts)


def _write_trace(environment: Environment) -> list[str]:
    return [f"{statement} # {state}" for statement, state in environment.trace]


def _write_reversed_trace(environment: Environment) -> list[str]:
    statements = [statement for statement, _ in environment.trace]
    states = [_write_parameters(environment), *(state for _, state in environment.trace)]
    steps = zip(reversed(statements), reversed(states[:-1]), strict=True)
    return [f"# {states[-1]}", *(f"{statement} # {state}" for statement, state in steps)]


def _write_parameters(environment: Environment) -> str:
    """The locals before the first statement as `name=value`, in the order in which frames hold them."""
    entry = find_entry(parse_program(environment.source))
    if entry is None:
        return ""
    arguments = entry.args
    values = parse_arguments(environment.inputs[0])
    given = [name.arg for name in (*arguments.posonlyargs, *arguments.args)]
    state = dict.fromkeys(given, "")
    state.update(zip(given[::-1], map(_render_default, arguments.defaults[::-1]), strict=False))
    state.update(zip(given, map(render, values), strict=False))
    for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        state[name.arg] = _render_default(default) if default else ""
    if arguments.vararg:
        state[arguments.vararg.arg] = render(values[len(given) :])
    if arguments.kwarg:
        state[arguments.kwarg.arg] = "{}"
    return ", ".join(f"{name}={value}" for name, value in state.items())


def _render_default(default: ast.expr) -> str:
    try:
        return render(ast.literal_eval(default))
    except (ValueError, LiteralError):
        return ast.unparse(default)
