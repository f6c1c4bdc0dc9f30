"""Names and their scopes: alpha-renaming of a program, so that copies with other names look equal.

Two programs get the same tree when one follows from the other by renaming variables scope by scope.
What can be reached by its name as text is kept: attributes, members of classes, imported modules,
and every name that some call passes as a keyword.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def children(node: ast.AST) -> list[ast.AST]:
    """Child nodes without contexts; `ast.iter_child_nodes` takes three times as long."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif name != "ctx" and isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """The node and all nodes below it, breadth first."""
    nodes = [tree]
    for node in nodes:  # the list grows while it is read
        nodes += children(node)
    return nodes


def bound_names(tree: ast.AST) -> set[str]:
    """Every name that the program binds anywhere: variables, parameters, functions, imports."""
    names: set[str] = set()
    for node in walk(tree):
        names.update(_bindings(node))
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias) and not node.asname:
            names.add(node.name.partition(".")[0])
    return names


def rename(tree: ast.Module) -> None:
    """Replace, in place, bound names by numbers in order of appearance (numbers cannot collide)."""
    kept: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            kept.add(node.arg)
        elif isinstance(node, ast.alias) and not node.asname:
            kept.add(node.name.partition(".")[0])
    _Renamer(kept).rename_module(tree)


@dataclass(eq=False)
class _Scope:
    bound: set[str]
    is_class: bool = False
    globals: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)


def _bindings(node: ast.AST) -> Iterator[str]:
    """Names that this very node binds in the scope it stands in."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of one scope; of nested comprehensions only what `:=` binds, which lands outside them."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, _COMPREHENSIONS):
            todo.extend(inner.target for inner in walk(node) if isinstance(inner, ast.NamedExpr))
            continue
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            todo.extend(children(node))


def _make_scope(nodes: Iterable[ast.AST], extra: Iterable[str] = (), is_class: bool = False) -> _Scope:
    bound, outer, declared = set(extra), set(), set()
    for node in _walk_scope(nodes):
        bound.update(_bindings(node))
        if isinstance(node, ast.Global):
            declared.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
    return _Scope(bound - outer - declared, is_class, declared)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [extra for extra in (arguments.vararg, arguments.kwarg) if extra]


class _Renamer(ast.NodeVisitor):
    """One pass in source order with a stack of scopes, module first."""

    def __init__(self, kept: set[str]) -> None:
        self._kept = kept
        self._scopes: list[_Scope] = []
        self._count = 0

    def rename_module(self, tree: ast.Module) -> None:
        declared = (name for node in walk(tree) if isinstance(node, ast.Global) for name in node.names)
        self._scopes.append(_make_scope(tree.body, declared))
        self._visit_all(tree.body)

    def _name(self, name: str) -> str:
        if name in self._kept:
            return name
        scope = self._find_scope(name)
        if scope is None or scope.is_class:
            return name
        if name not in scope.names:
            scope.names[name] = str(self._count)
            self._count += 1
        return scope.names[name]

    def _find_scope(self, name: str) -> _Scope | None:
        for depth, scope in enumerate(reversed(self._scopes)):
            if scope.is_class and depth:
                continue
            if name in scope.globals:
                return self._scopes[0]
            if name in scope.bound:
                return scope
        return None

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._name(node.id)

    def visit_FunctionDef(self, node: _Function) -> None:
        node.name = self._name(node.name)
        self._visit_all(node.decorator_list)
        self._visit_function(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node.args, [node.body])

    def _visit_function(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        self._visit_all([*arguments.defaults, *arguments.kw_defaults])
        parameters = _parameters(arguments)
        self._scopes.append(_make_scope(body, (parameter.arg for parameter in parameters)))
        for parameter in parameters:
            parameter.arg = self._name(parameter.arg)
        self._visit_all(body)
        self._scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        node.name = self._name(node.name)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._scopes.append(_make_scope(node.body, is_class=True))
        self._visit_all(node.body)
        self._scopes.pop()

    def _visit_comprehension(self, node: _Comprehension) -> None:
        self.visit(node.generators[0].iter)
        targets = {name for part in node.generators for name in _target_names(part.target)}
        self._scopes.append(_Scope(targets))
        for index, part in enumerate(node.generators):
            self.visit(part.target)
            self._visit_all([part.iter] if index else [])
            self._visit_all(part.ifs)
        self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        node.name = self._name(node.name) if node.name else None
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        node.asname = self._name(node.asname) if node.asname else None

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        node.names = [self._name(name) for name in node.names]

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.visit_Global(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        node.name = self._name(node.name) if node.name else None
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self.visit_MatchAs(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        node.rest = self._name(node.rest) if node.rest else None
        self.generic_visit(node)


def _target_names(target: ast.expr) -> set[str]:
    return {
        node.id for node in walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
