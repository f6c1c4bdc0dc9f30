"""The environment contract, version 1: what a module declares, read without running it, and its adapter.

A module defines exactly one class whose name ends in `Env`. NAME, SUMMARY, SKILL, MAX_TURNS and
ACTION_FORMAT are literals, assigned at the top level of the module or in the body of that class. The
class is made without arguments and has

    reset(self, *, seed: int) -> tuple[str, dict]
    step(self, action: str) -> tuple[str, float, bool, bool, dict]   observation, reward, terminated,
                                                                    truncated, info
    solution(self) -> list[str]     after reset: actions that win this instance
    hint(self) -> str               optional, after reset: help without the answer
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from spadelab.environments.scopes import walk
from spadelab.environments.trials import Rejected

FAMILY = "interactive"
ACTION_FORMATS = ("text", "boxed", "tool_call")
SKILLS = (
    "mathematical_reasoning",
    "logical_deduction",
    "spatial_reasoning",
    "pattern_recognition",
    "optimization",
    "causal_inference",
)
FIELDS = ("NAME", "SUMMARY", "SKILL", "MAX_TURNS", "ACTION_FORMAT")
MAX_TURNS = 100
MAX_FIELD_CHARS = 500
MAX_WORDS = 48
MAX_WORD_CHARS = 40

_METHODS = ("reset", "step", "solution")
# Appended to the module in the jail. What plays several instances in one process, turn by turn, serves the
# gates alone: an action None repeats the observation, the last action goes on, `_after` follows the end. Its
# record is JSON, which is read much faster than literals.
_ADAPTER = """

def _spade_reset(_number, _seed, _instances={{}}):
    _instances[_number] = {name}()
    _spade_reset.instances = _instances
    return _instances[_number].reset(seed=_seed)

def _spade_step(_number, _action):
    return _spade_reset.instances[_number].step(_action)

def _spade_solution(_number):
    return _spade_reset.instances[_number].solution()

def _spade_hint(_number):
    return _spade_reset.instances[_number].hint()

import json as _spade_json
_spade_kinds = (str, float, bool, bool, dict), (str, int, bool, bool, dict)

def _spade_play(_plays):
    _records = [[[], "", False] for _ in _plays]
    _games = [_spade_turns(_number, *_play, _records[_number]) for _number, _play in enumerate(_plays)]
    while _games:
        _games = [_game for _game in _games if next(_game, None)]
    return _spade_json.dumps(_records)

def _spade_legal(_answer, _kinds):
    if type(_answer) is not tuple or tuple(map(type, _answer)) not in _kinds:
        return False
    try:
        return bool(_spade_json.dumps(_answer[-1]))
    except (TypeError, ValueError, RecursionError):
        return False

def _spade_turns(_number, _seed, _actions, _turns, _after, _record):
    _log = _record[0]
    try:
        _answer = _spade_reset(_number, _seed)
        if not _spade_legal(_answer, ((str, dict),)):
            _record[1] = "bad_type"
            return
        _log.append(_answer[:1])
        for _turn in range(_turns):
            yield True
            _action = _actions[min(_turn, len(_actions) - 1)]
            _answer = _spade_step(_number, _answer[0] if _action is None else _action)
            if not _spade_legal(_answer, _spade_kinds):
                _record[1] = "bad_type"
                return
            _log.append(_answer[:4])
            if _answer[2] or _answer[3]:
                break
    except MemoryError:
        raise
    except BaseException as _error:
        _record[1] = f"{{type(_error).__name__}}: {{_error}}"[:200]
        return
    for _action in _after if _turns and _answer[2] else ():
        try:
            _record[2] = _record[2] or bool(_spade_step(_number, _action)[1] > 0)
        except Exception:
            return
"""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a module says of itself; `skill` is lower case with underscores.

    `words`: short texts, whole numbers, names of methods and attributes of the module, at most MAX_WORDS.
    """

    class_name: str
    name: str
    summary: str
    skill: str
    max_turns: int
    action_format: str
    has_hint: bool
    words: tuple[str, ...] = ()


def read_manifest(tree: ast.Module) -> Manifest:
    """Read the declarations off the syntax tree.

    Raises Rejected with code "no_environment", "several_environments", "no_method" or "bad_field".
    """
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name.endswith("Env")]
    if not classes:
        raise Rejected("no_environment", "the module defines no class whose name ends in Env")
    if len(classes) > 1:
        names = ", ".join(node.name for node in classes)
        raise Rejected("several_environments", f"exactly one class may end in Env, found {names}")
    environment = classes[0]
    methods = {node.name for node in environment.body if isinstance(node, ast.FunctionDef)}
    for method in _METHODS:
        if method not in methods:
            raise Rejected("no_method", f"class {environment.name} has no method {method}")
    fields = {**_literals(tree.body), **_literals(environment.body)}
    for field in FIELDS:
        if field not in fields:
            raise Rejected("bad_field", f"{field} is missing: assign it a literal in the module or the class")
    for field in ("NAME", "SUMMARY", "SKILL", "ACTION_FORMAT"):
        value = fields[field]
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_FIELD_CHARS:
            raise Rejected("bad_field", f"{field} must be a text of 1 to {MAX_FIELD_CHARS} characters")
    turns, action_format = fields["MAX_TURNS"], fields["ACTION_FORMAT"]
    if type(turns) is not int or not 1 <= turns <= MAX_TURNS:
        raise Rejected("bad_field", f"MAX_TURNS must be an int from 1 to {MAX_TURNS}")
    if action_format not in ACTION_FORMATS:
        raise Rejected("bad_field", f"ACTION_FORMAT must be one of {', '.join(ACTION_FORMATS)}")
    return Manifest(
        environment.name,
        str(fields["NAME"]),
        str(fields["SUMMARY"]),
        skill_slug(str(fields["SKILL"])),
        turns,
        str(action_format),
        "hint" in methods,
        _words(tree),
    )


def skill_slug(skill: str) -> str:
    """ "Spatial Reasoning" -> "spatial_reasoning"."""
    return "_".join(skill.lower().replace("-", " ").replace("_", " ").split())


def jailed_source(source: str, class_name: str) -> str:
    """The module with the functions through which the session calls it, for `Sandbox.open`."""
    return source + _ADAPTER.format(name=class_name)


def _words(tree: ast.Module) -> tuple[str, ...]:
    nodes = walk(tree)
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    values = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in inner]
    names = [n.name for n in nodes if isinstance(n, ast.FunctionDef) and n.name not in (*_METHODS, "hint")]
    values += [name.partition("_")[2] or name for name in names]  # the tool of a method tool_read is read
    values += [n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    texts = [str(v).strip() for v in values if isinstance(v, str) or (type(v) is int and v.bit_length() < 64)]
    return tuple(text for text in dict.fromkeys(texts) if 0 < len(text) <= MAX_WORD_CHARS)[:MAX_WORDS]


def _literals(body: list[ast.stmt]) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id in FIELDS:
                value = getattr(node, "value", None)
                found[target.id] = value.value if isinstance(value, ast.Constant) else None
    return found
