"""Executed statements with the locals after them. Runs inside the jail."""

from __future__ import annotations

import _ast as ast
import sys

from .literals import LiteralError, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType
    from typing import Any

    _Trace = Callable[[FrameType, str, Any], Any]

MAX_ENTRIES = 1000
MAX_VALUE = 2000
MAX_LINE = 500
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SKIPPED = (*_DEFINITIONS, ast.Return, ast.Global, ast.Nonlocal)
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
# PEP 709: such a comprehension runs in the frame around it, with a line event for each round.
_INLINED = (ast.ListComp, ast.SetComp, ast.DictComp) if sys.version_info >= (3, 12) else ()
_CO_OPTIMIZED = 1  # as in `inspect`, which is large
_TYPE_NAME = type.__dict__["__name__"]  # a metaclass could answer in its place


class Tracer:
    """Appends (source line, locals after it) to `entries` for each statement of a function that runs.

    An entry is made when its statement has completed, so a helper's statements stand before the line
    that called it. Left out: definitions, returns, comprehensions and lambdas. At most MAX_ENTRIES
    entries; beyond `limit` characters the locals of further entries are "...".
    """

    def __init__(self, source: str, limit: int, entries: list[tuple[str, str]]) -> None:
        self.entries = entries
        self._room = limit
        self._lines = [line[:MAX_LINE] for line in source.splitlines()]
        tree = compile(source, "<program>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        self._starts = _map_lines(tree)

    def trace(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        """The function for sys.settrace."""
        code = frame.f_code
        wanted = code.co_filename == "<program>" and code.co_flags & _CO_OPTIMIZED
        if event != "call" or not wanted or code.co_name.startswith("<"):
            return None
        return _Follower(self, code).follow

    def add(self, start: int, frame: FrameType, names: list[str]) -> None:
        """Record the statement that starts at line `start` with the locals that `frame` has now."""
        if len(self.entries) >= MAX_ENTRIES:
            return
        text = "..."
        if self._room > 0:
            values = frame.f_locals
            text = ", ".join(f"{name}={_describe(values[name])}" for name in names if name in values)
        self._room -= len(text)
        self.entries.append((self._lines[start - 1], text))

    def find_start(self, line: int) -> tuple[int, bool]:
        """First line of the statement at `line` (0: not recorded), and whether it has several events."""
        return self._starts.get(line, (0, False))


class _Follower:
    """Follows one activation of one function."""

    def __init__(self, tracer: Tracer, code: CodeType) -> None:
        self.tracer = tracer
        self.order = code.co_varnames + code.co_cellvars
        self.names = list(self.order[: code.co_argcount + code.co_kwonlyargcount])
        self.pending = 0

    def follow(self, frame: FrameType, event: str, argument: Any) -> _Trace:
        """The local trace function."""
        if event == "line":
            start, long = self.tracer.find_start(frame.f_lineno)
            if not (long and start == self.pending):  # still inside one statement
                self._complete(frame)
                self.pending = start
        elif event == "return":
            self._complete(frame)
        return self.follow

    def _complete(self, frame: FrameType) -> None:
        if self.pending:
            values = frame.f_locals
            self.names += [name for name in self.order if name in values and name not in self.names]
            self.tracer.add(self.pending, frame, self.names)
        self.pending = 0


def _list_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Outer ones first."""
    nodes = [tree]
    for node in nodes:  # which grow meanwhile
        for name in _BLOCKS:
            nodes += getattr(node, name, ())
        if isinstance(node, ast.stmt):
            yield node


def _has_inlined(statement: ast.stmt) -> bool:
    """Whether a comprehension stands in the statement itself, outside of its blocks."""
    parts = [getattr(statement, name, None) for name in statement._fields if name not in _BLOCKS]
    for part in parts:  # which grow meanwhile
        if isinstance(part, _INLINED):
            return True
        if isinstance(part, list):
            parts += part
        elif isinstance(part, ast.AST):
            parts += [getattr(part, name, None) for name in part._fields]
    return False


def _map_lines(tree: ast.AST) -> dict[int, tuple[int, bool]]:
    """Line to (first line of its statement or 0, whether one run of the statement has several events)."""
    starts: dict[int, tuple[int, bool]] = {}
    for node in _list_statements(tree):
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        first = body[0] if body else None
        begin = getattr(getattr(first, "pattern", first), "lineno", None)
        end = max(node.lineno, begin - 1) if begin else (node.end_lineno or node.lineno)
        if isinstance(node, ast.Try):
            continue
        if isinstance(node, _DEFINITIONS) and begin == node.lineno:
            continue  # "def f(x): y = x": the line event is the body's
        start = 0 if isinstance(node, _SKIPPED) else node.lineno
        several = end > node.lineno or (begin != node.lineno and _has_inlined(node))
        for line in range(node.lineno, end + 1):
            # A statement that shares the line of a compound header belongs to that header.
            starts.setdefault(line, (start, several))
    return starts


def _describe(value: object) -> str:
    try:
        return render(value, MAX_VALUE)
    except LiteralError:
        name = _TYPE_NAME.__get__(type(value))[:100]
        return f"<{name}>" if name.isidentifier() else "<object>"
