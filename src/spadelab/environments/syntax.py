"""Programs as syntax trees: entry function, static findings, normal form and the keys made of it.

Parsing builds a tree and runs nothing. The static findings give clear reasons early; the jail, not
this file, is what keeps a program from doing harm.
"""

from __future__ import annotations

import ast
import hashlib
import json
import warnings
from collections.abc import Container, Sequence

from spadelab.environments.scopes import bound_names, children, rename, walk

# fmt: off
_FORBIDDEN_NAMES = frozenset({
    "eval", "exec", "compile", "open", "input", "__import__", "breakpoint", "exit", "quit", "globals",
    "locals", "vars", "id", "help", "__builtins__", "__loader__", "__spec__",
})
_FORBIDDEN_ATTRIBUTES = frozenset({
    "__subclasses__", "__globals__", "__builtins__", "__bases__", "__base__", "__mro__", "mro", "__code__",
    "__closure__", "__loader__", "__spec__", "__reduce__", "__reduce_ex__", "__getattribute__", "__self__",
    "__func__", "__import__", "f_back", "f_globals", "f_builtins", "f_locals", "gi_frame", "cr_frame",
    "tb_frame",
})
# fmt: on
_CLOCK = frozenset(("now", "utcnow", "today"))


MAX_DEPTH = 150  # levels of the tree; the recursive passes over it stay far below Python's own limit


class ProgramError(ValueError):
    """The text is not a program that can be parsed; the message is one clause for the proposer."""


def parse_program(source: str) -> ast.Module:
    """Parse a program; raises ProgramError for everything that Python cannot parse."""
    try:
        with warnings.catch_warnings():  # an odd escape in a model's program is not worth a warning
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        raise ProgramError(f"line {error.lineno or 0}: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise ProgramError(f"cannot be parsed: {type(error).__name__}") from None
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            break
    else:
        raise ProgramError(f"nested deeper than {MAX_DEPTH} levels")
    return tree


def find_entry(tree: ast.Module) -> ast.FunctionDef | None:
    """The entry function: the last top-level `f`, else the last top-level function, else None."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [node for node in functions if node.name == "f"] or functions
    return named[-1] if named else None


def reads_input(entry: ast.FunctionDef) -> bool:
    """Whether some parameter of the function is looked at in its body."""
    nodes = [node for statement in entry.body for node in walk(statement)]
    read = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    return any(isinstance(node, ast.arg) and node.arg in read for node in walk(entry.args))


def find_forbidden(tree: ast.Module, allowed: Container[str]) -> str:
    """The reason why a program is refused before it runs, "" when nothing was found.

    `allowed` holds the importable top-level modules. Names that the program binds itself are its
    own: a local called `input` is fine.
    """
    bound = bound_names(tree)
    for node in walk(tree):
        reason = _judge_import(node, allowed) or _judge_name(node, bound) or _judge_attribute(node)
        if reason:
            return f"line {getattr(node, 'lineno', 0)}: {reason}"
    return ""


def find_imports(tree: ast.Module) -> set[str]:
    """Top-level names of the modules that a program imports."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


def shape_key(source: str) -> str:
    """Hash of the normalised tree of a program alone, for held-out disjointness "above the atoms".

    Names of functions, parameters and locals are replaced in order of appearance; docstrings,
    comments, layout and annotations are dropped; constants are kept. Raises ProgramError.
    """
    tree = parse_program(source)
    entry = find_entry(tree)
    position = tree.body.index(entry) if entry else -1  # which function is called is part of the program
    return hash_text(f"{len(tree.body) - position} {write_tree(normalise(tree))}")


def task_key(kind: str, source: str, inputs: Sequence[str]) -> str:
    """Hash of kind, normalised tree and canonical inputs: equal for copies. Raises ProgramError."""
    return hash_text(json.dumps([kind, shape_key(source), list(inputs)]))


def _judge_import(node: ast.AST, allowed: Container[str]) -> str:
    if isinstance(node, ast.ImportFrom) and node.level:
        return "relative imports are not possible"
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return ""
    wanted = find_imports(ast.Module([node], []))
    refused = sorted(name for name in wanted if name not in allowed)
    return f"module {refused[0]} is not allowed (setting sandbox.allowed_packages)" if refused else ""


def _judge_name(node: ast.AST, bound: Container[str]) -> str:
    if not isinstance(node, ast.Name) or node.id in bound:
        return ""
    return f"{node.id} is not allowed" if node.id in _FORBIDDEN_NAMES else ""


def _judge_attribute(node: ast.AST) -> str:
    if not isinstance(node, ast.Attribute):
        return ""
    if node.attr in _FORBIDDEN_ATTRIBUTES:
        return f"attribute {node.attr} is not allowed"
    if node.attr in _CLOCK and isinstance(node.value, (ast.Name, ast.Attribute)):
        owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        if owner in ("datetime", "date"):
            return "the clock is not allowed: a program must always give the same result"
    return ""


def normalise(tree: ast.Module) -> ast.Module:
    """Rename in place, and drop docstrings and the annotations of functions."""
    rename(tree)
    for node in walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            _drop_docstring(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        del node.body[0]


def write_tree(node: object) -> str:
    """A textual tree that does not change between Python versions: empty fields are left out."""
    if isinstance(node, ast.AST):
        fields = []
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in ("ctx", "kind", "type_comment"):
                fields.append(f"{name}={write_tree(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return "[" + ",".join(map(write_tree, node)) + "]"
    return repr(node)


def hash_text(text: str) -> str:
    """SHA-256 as hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
