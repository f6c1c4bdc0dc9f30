"""The gates that run nothing: the draft's text, its syntax tree, its declarations."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping, Sequence

from spadelab.environments.extraction import PROGRAM_LABELS, find_blocks, strip_thoughts
from spadelab.environments.interactive.contract import Manifest, read_manifest
from spadelab.environments.scopes import walk
from spadelab.environments.syntax import ProgramError, find_forbidden, parse_program
from spadelab.environments.trials import Rejected

_CLOCK = frozenset(("now", "utcnow", "today"))
_SYSTEM = frozenset(("os", "sys", "builtins", "time", "_os", "_sys"))
_SEEDED = frozenset(("Random",))


def extract_source(text: str) -> str:
    """The last fenced python block outside thoughts. Raises Rejected("no_program")."""
    visible = strip_thoughts(text)
    if visible is None:
        raise Rejected("no_program", "a thought is never closed, so nothing outside it was written")
    programs = [content for label, content in find_blocks(visible) if label in PROGRAM_LABELS]
    if not programs or not programs[-1].strip():
        raise Rejected("no_program", "there is no closed ```python block with a program")
    return programs[-1].strip("\n").rstrip() + "\n"


def check_source(source: str, importable: Container[str], max_chars: int) -> Manifest:
    """Size, syntax, names, imports and declarations.

    Raises Rejected with code "too_long", "syntax", "forbidden", "global_random", or those of `read_manifest`.
    """
    if len(source) > max_chars:
        raise Rejected(
            "too_long", f"the program has {len(source)} characters, at most {max_chars} are allowed"
        )
    try:
        tree = parse_program(source)
    except ProgramError as error:
        raise Rejected("syntax", f"the program is not valid Python: {error}") from None
    manifest = read_manifest(tree)
    nodes = walk(tree)
    modules = _module_names(nodes)
    reason = find_forbidden(tree, importable) or _find_hidden(nodes, modules)
    if reason:
        raise Rejected("forbidden", reason)
    if "_spade" in source:
        raise Rejected("forbidden", "names that begin with _spade are reserved")
    reason = _find_randomness(nodes, modules)
    if reason:
        raise Rejected("global_random", f"{reason}: draw everything from self.rng = random.Random(seed)")
    return manifest


def _find_hidden(nodes: Sequence[ast.AST], modules: Mapping[str, str]) -> str:
    """Ways to the system or the clock through modules that may be imported."""
    dated = "datetime" in modules.values() or any(name.startswith("datetime.") for name in modules.values())
    for node in nodes:
        if not isinstance(node, ast.Attribute):
            continue
        root = _root(node)
        if root in modules and (node.attr.startswith("_") or node.attr in _SYSTEM):
            return f"line {node.lineno}: {root}.{node.attr} is not allowed"
        if node.attr in _CLOCK and (dated or root in modules):
            return f"line {node.lineno}: the clock is not allowed: the same seed must give the same instance"
    return ""


def _find_randomness(nodes: Sequence[ast.AST], modules: Mapping[str, str]) -> str:
    """The module's own generator, or one without a seed."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            wrong = [alias.name for alias in node.names if alias.name not in _SEEDED]
            if wrong:
                return f"line {node.lineno}: random.{wrong[0]} is shared by all instances"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            shared = modules.get(node.value.id) == "random" and node.attr not in _SEEDED
            if shared:
                return f"line {node.lineno}: random.{node.attr} is shared by all instances"
        if isinstance(node, ast.Call) and not node.args and not node.keywords:
            maker = node.func
            named = isinstance(maker, ast.Name) and modules.get(maker.id) == "random.Random"
            if named or (
                isinstance(maker, ast.Attribute)
                and maker.attr == "Random"
                and isinstance(maker.value, ast.Name)
                and modules.get(maker.value.id) == "random"
            ):
                return f"line {node.lineno}: random.Random() has no seed"
    return ""


def _module_names(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """What an import binds and nothing else in the module does: name -> what it stands for."""
    found: dict[str, str] = {}
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others.add(node.id)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
    return {name: meaning for name, meaning in found.items() if name not in others}


def _root(node: ast.Attribute) -> str:
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""
