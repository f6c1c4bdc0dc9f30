"""Plain data as text: the only form in which values cross the border of the jail.

The same encoder runs in the child and on the host, and the host parses again whatever a child sent.
Parsing walks a syntax tree node by node; nothing here evaluates, imports or calls anything that the
text names. The jail loads this file as it stands, so it imports little: of `ast` only the nodes.
"""

from __future__ import annotations

import _ast as ast
import math
import warnings

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 64
MAX_DIGITS = 4000
_MAX_BITS = int(MAX_DIGITS * math.log2(10))


class LiteralError(ValueError):
    """The text, or the value, is not plain literal data within the limits."""


class LiteralTooLong(LiteralError):
    """The text, or the text of the value, is longer than allowed."""


def parse_literal(text: str, limit: int = MAX_CHARACTERS) -> object:
    """Read one Python literal.

    Accepts int, finite float, bool, None, str, bytes, and tuple, list, dict and set of these, signed
    numbers and `set()`. At most `limit` characters, MAX_DEPTH levels and MAX_DIGITS digits.
    Raises LiteralError for everything else; never another exception.
    """
    return _convert(_parse(text.strip(), limit), 0)


def parse_arguments(text: str, limit: int = MAX_CHARACTERS) -> tuple[object, ...]:
    """Read a positional argument list ("3, [1, 2]") as a tuple of literals.

    No names, stars, keywords or comprehensions; the list cannot close its own bracket.
    Raises LiteralError for everything else.
    """
    # The newline keeps a trailing comment from swallowing the bracket that we add.
    call = _parse(f"f({text}\n)", limit + 4)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        raise LiteralError("not a list of positional arguments")
    return tuple(_convert(argument, 0) for argument in call.args)


def render(value: object, limit: int = MAX_CHARACTERS) -> str:
    """Write a value as canonical literal source: dict order kept, set members sorted by their text.

    Only exact builtin types are accepted, so no method of a foreign class ever runs.
    Raises LiteralError for other types, NaN and infinities, cycles, and beyond the limits.
    """
    parts: list[str] = []
    _write(value, parts, [limit], 0)
    return "".join(parts)


def equal(left: object, right: object) -> bool:
    """Compare two plain values: exact types, recursively.

    Floats agree within 1e-9 relative or absolute, also as members of a set; dict keys and composite
    members of a set must be identical. Dict order does not matter. NaN and infinities equal nothing.
    """
    kind = type(left)
    if kind is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        finite = math.isfinite(left) and math.isfinite(right)
        return finite and math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_dicts(left, right)
    if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
        return _equal_sets(left, right)
    return kind in _ATOMS and left == right


_ATOMS = (int, bool, str, bytes, type(None))
_ATOM_IDS = frozenset(map(id, _ATOMS))


def _parse(text: str, limit: int) -> ast.expr:
    if len(text) > limit:
        raise LiteralTooLong(f"longer than {limit} characters")
    try:
        if "\\" not in text:
            return _parse_expression(text)
        with warnings.catch_warnings():  # an unknown escape in an answer is not worth a warning
            warnings.simplefilter("ignore")
            return _parse_expression(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise LiteralError(f"not a Python literal: {type(error).__name__}") from None


def _parse_expression(text: str) -> ast.expr:
    tree = compile(text, "<literal>", "eval", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Expression)
    return tree.body


def _convert(node: ast.expr, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise LiteralError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.Constant):
        return _check_atom(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if type(number) is int or type(number) is float:
            _check_atom(number)
            return -number if isinstance(node.op, ast.USub) else number
    elif isinstance(node, ast.List):
        return [_convert(item, depth + 1) for item in node.elts]
    elif isinstance(node, ast.Tuple):
        return tuple(_convert(item, depth + 1) for item in node.elts)
    elif isinstance(node, ast.Dict):
        return _convert_dict(node, depth)
    elif isinstance(node, ast.Set):
        return _convert_set(node, depth)
    elif isinstance(node, ast.Call) and not (node.args or node.keywords) and _is_set(node.func):
        return set()
    raise LiteralError(f"not a literal: {type(node).__name__}")


def _is_set(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "set"


def _convert_dict(node: ast.Dict, depth: int) -> dict[object, object]:
    result: dict[object, object] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:
            raise LiteralError("not a literal: ** in a dict")
        try:
            result[_convert(key, depth + 1)] = _convert(item, depth + 1)
        except TypeError:
            raise LiteralError("a dict key is not hashable") from None
    return result


def _convert_set(node: ast.Set, depth: int) -> set[object]:
    members = [_convert(item, depth + 1) for item in node.elts]
    try:
        return set(members)
    except TypeError:
        raise LiteralError("a member of a set is not hashable") from None


def _check_atom(value: object) -> object:
    kind = type(value)
    if kind is int and isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise LiteralError(f"an integer of more than {MAX_DIGITS} digits")
    if kind is float and isinstance(value, float) and not math.isfinite(value):
        raise LiteralError("a float that is not finite")
    if id(kind) not in _ATOM_IDS and kind is not float:  # by identity: a type may claim to be another
        raise LiteralError(f"not plain data: {kind.__name__}")
    return value


def _write(value: object, parts: list[str], room: list[int], depth: int) -> None:
    """Append the text of `value`; `room` holds the number of characters that are left."""
    if depth > MAX_DEPTH:
        raise LiteralError(f"nested deeper than {MAX_DEPTH} levels")
    kind = type(value)
    if kind is list and isinstance(value, list):
        _write_items("[", list(value), "]", parts, room, depth)
    elif kind is tuple and isinstance(value, tuple):
        _write_items("(", list(value), ",)" if len(value) == 1 else ")", parts, room, depth)
    elif kind is dict and isinstance(value, dict):
        _put("{", parts, room)
        for index, (key, item) in enumerate(value.items()):
            if index:
                _put(", ", parts, room)
            _write(key, parts, room, depth + 1)
            _put(": ", parts, room)
            _write(item, parts, room, depth + 1)
        _put("}", parts, room)
    elif kind is set and isinstance(value, set):
        _write_set(value, parts, room, depth)
    else:
        if isinstance(value, (str, bytes)) and len(value) > room[0]:
            raise LiteralTooLong("too long")
        _put(repr(_check_atom(value)), parts, room)


def _write_items(
    start: str, items: list[object], end: str, parts: list[str], room: list[int], depth: int
) -> None:
    _put(start, parts, room)
    for index, item in enumerate(items):
        if index:
            _put(", ", parts, room)
        _write(item, parts, room, depth + 1)
    _put(end, parts, room)


def _write_set(value: set[object], parts: list[str], room: list[int], depth: int) -> None:
    if not value:
        _put("set()", parts, room)
        return
    members: list[str] = []
    for item in value:
        member: list[str] = []
        _write(item, member, room, depth + 1)
        members.append("".join(member))
    parts.append("{" + ", ".join(sorted(members)) + "}")
    _spend(2 * len(members), room)


def _put(text: str, parts: list[str], room: list[int]) -> None:
    _spend(len(text), room)
    parts.append(text)


def _spend(count: int, room: list[int]) -> None:
    room[0] -= count
    if room[0] < 0:
        raise LiteralTooLong("too long")


def _equal_dicts(left: dict[object, object], right: dict[object, object]) -> bool:
    if len(left) != len(right):
        return False
    # Keys are looked up by their text because 1, 1.0 and True are the same key to Python.
    others = {_identify(key): item for key, item in right.items()}
    return all((name := _identify(key)) in others and equal(item, others[name]) for key, item in left.items())


def _equal_sets(left: set[object] | frozenset[object], right: set[object] | frozenset[object]) -> bool:
    if len(left) != len(right):
        return False
    floats = [sorted(x for x in side if isinstance(x, float)) for side in (left, right)]
    others = [{_identify(x) for x in side if not isinstance(x, float)} for side in (left, right)]
    return equal(floats[0], floats[1]) and others[0] == others[1]


def _identify(value: object) -> str:
    return f"{type(value).__name__} {value!r}"
