"""Runs a program's calls inside the child. Nothing that happens here is trusted by the host."""

from __future__ import annotations

import builtins
import gc
import mmap
import sys
import types

from .literals import LiteralError, LiteralTooLong, parse_arguments, render
from .tracer import Tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Reply = dict[str, Any]

MAX_MESSAGE = 500
# Without one of these words in it, a program hardly sees when the garbage collector runs.
_COLLECTED = ("__del__", "weakref", "gc")
_IMPLICIT = ("_strptime", "time", "_pylong")


class OutputLimit(Exception):
    """The program printed more than it may."""


class Capture:
    """A bounded stand-in for standard output."""

    encoding = "utf-8"

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self.room = limit
        self.full = False

    def write(self, text: str) -> int:
        """Keep the text, or raise OutputLimit when there is no room for it."""
        text = str.__str__(text)
        self.room -= len(text)
        if self.room < 0:
            self.full = True
            raise OutputLimit("the program printed too much")
        self.parts.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is buffered."""

    def take(self) -> str:
        """The text so far, in characters that any encoding can carry."""
        return "".join(self.parts).encode("utf-8", "replace").decode("utf-8")


class Stage:
    """What every program finds; made once in the zygote, since each page a child touches costs time."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self.module = types.ModuleType("program")
        self.module.__dict__["__builtins__"] = vars(builtins) | {"__import__": make_import(allowed)}
        sys.modules["program"] = self.module
        # Given back when memory runs out, so that there is room for the answer that says so. Private:
        # a shared mapping would connect the children.
        self.ballast = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class Program:
    """One program on the stage."""

    def __init__(self, source: str, output_limit: int, stage: Stage) -> None:
        self.source = source
        self.limit = output_limit
        self.module = stage.module
        self.ballast = stage.ballast

    def load(self) -> Reply:
        """Execute the program's top level; the reply's kind is "value" when that went well."""
        if any(word in self.source for word in _COLLECTED):
            # What came before is neither counted nor left in a free list. It costs 17 page faults.
            gc.freeze()
            gc.collect()

        def execute(reply: Reply) -> None:
            code = compile(self.source, "<program>", "exec", dont_inherit=True)
            exec(code, self.module.__dict__)
            reply["kind"] = "value"

        return self._guard("", execute)

    def call(self, identifier: str, name: str, arguments: str, traced: str) -> Reply:
        """Run one call and describe what came of it; any text in `traced` asks for a trace."""
        trace: list[tuple[str, str]] = []

        def execute(reply: Reply) -> None:
            try:
                values = parse_arguments(arguments)
            except LiteralError as error:
                reply.update(kind="program_error", error="NotAnArgumentList", message=str(error))
                return
            function = self._find(name)
            if traced:
                sys.settrace(Tracer(self.source, 4 * self.limit, trace).trace)
            try:
                value = function(*values)
            finally:
                sys.settrace(None)
            reply.update(self._encode(value))

        reply = self._guard(identifier, execute)
        reply["trace"] = trace
        return reply

    def _find(self, name: str) -> Callable[..., object]:
        function = self.module.__dict__.get(name)
        if function is None:
            raise NameError(f"the program defines no function {name!r}")
        return function  # type: ignore[no-any-return]

    def _encode(self, value: object) -> Reply:
        try:
            return {"kind": "value", "value": render(value, self.limit)}
        except LiteralTooLong:
            return {"kind": "output_limit", "message": "the result is too long"}
        except LiteralError as error:
            return {"kind": "program_error", "error": "NotALiteral", "message": str(error)}

    def _guard(self, identifier: str, execute: Callable[[Reply], None]) -> Reply:
        """Run `execute` with captured output; whatever it raises becomes part of the reply."""
        reply: Reply = {"id": identifier}
        capture = Capture(self.limit)
        sys.stdout = capture
        sys.stderr = None
        try:
            execute(reply)
        except MemoryError:
            self.ballast.close()
            reply.update(kind="memory", message="the program ran out of memory")
        except BaseException as error:  # noqa: BLE001 - the border of the program
            reply.update(kind="program_error", error=_name(error), message=_message(error))
        if capture.full:
            reply = {"id": identifier, "kind": "output_limit", "message": "the program printed too much"}
        reply["stdout"] = capture.take()
        return reply


def make_import(allowed: frozenset[str]) -> Callable[..., object]:
    """An `__import__` for programs: modules of the allow-list, which are loaded already.

    This gives clear messages; what keeps a program from the system is the seccomp filter.
    """
    real = builtins.__import__

    def import_module(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        # C code that runs in the program's frame, as strftime or a large division, comes here with a list.
        implicit = type(fromlist) is list and name in _IMPLICIT
        if level or (name.partition(".")[0] not in allowed and not implicit):
            raise ImportError(_explain_refusal(name))
        return real(name, globals, locals, fromlist, level)

    return import_module


def _explain_refusal(name: str) -> str:
    if name.partition(".")[0] in sys.stdlib_module_names:
        cure = "and sandbox.allowed_packages cannot add it: it belongs to the standard library"
    else:
        cure = "add it to sandbox.allowed_packages"
    return f"module {name!r} is not allowed in the sandbox; {cure}"


def _name(error: BaseException) -> str:
    # A metaclass could answer for __name__; the slot of `type` cannot be overridden.
    name = type.__dict__["__name__"].__get__(type(error))
    return str(name)[:100].encode("utf-8", "replace").decode("utf-8")


def _message(error: BaseException) -> str:
    try:
        text = str.__getitem__(str(error), slice(0, MAX_MESSAGE))
    except BaseException:  # noqa: BLE001 - the program's own __str__
        return "(the exception has no readable message)"
    return text.encode("utf-8", "replace").decode("utf-8")
