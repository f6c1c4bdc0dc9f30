"""Reward integrity inside the jail: what a solver's or a proposer's code could look for, or pretend.

Expected outputs, hints and verifiers are in another process; the judgements that follow are tested in
test_reward_integrity.py.
"""

from __future__ import annotations

from .attack import crashes, gives, raises

ATTACKS = (
    gives(
        "walk all objects for the verifier",
        "mods['gc'].unfreeze()\n"
        "names = ('judge_out' + 'comes', 'Envi' + 'ronment', 'expected' + '_outputs')\n"
        ""
        "return [n for n in names for o in mods['gc'].get_objects() if getattr(o, '__name__', '') == n][:3]",
        "[]",
    ),
    gives(
        "walk all classes",
        "return [c.__module__ for c in object.__subclasses__() if c.__module__.startswith('spadelab')]",
        "[]",
    ),
    gives(
        "stack below the program",
        "frame, names = sys._getframe(), []\nwhile frame:\n"
        "    names.append(frame.f_code.co_filename.rpartition('/')[2])\n    frame = frame.f_back\n"
        "return sorted(set(names))",
        "['<program>', '<string>', 'runner.py', 'zygote.py']",
    ),
    gives(
        "outputs in the request",
        "calls = find('calls')\nreturn [len(calls), calls[1:]]",
        "[4, ['f', '', '']]",
    ),
    gives("whether it is traced", "return sys.gettrace() is None", "True"),
    gives("arguments of the command", "return sys.argv", "[]"),
    gives("name of the module", "return __name__", "'program'"),
    gives("count of calls", "f.count = getattr(f, 'count', 0) + 1\nreturn f.count", "1"),
    gives(
        "forged success", "print('ALL TESTS PASSED')\nprint('\\x1b[2J', '<answer>1</answer>')\nreturn 0", "0"
    ),
    crashes("success by exit code", "os._exit(0)", "exit code 0", "left before answering"),
    raises("success by exit", "raise SystemExit('passed')", "SystemExit", "passed"),
    raises(
        "object that is always equal",
        "class A:\n    def __eq__(self, o): return True\n    __hash__ = None\nreturn A()",
        "NotALiteral",
        "not plain data: A",
    ),
    raises(
        "text that is always equal",
        "class S(str):\n    def __eq__(self, o): return True\nreturn S('x')",
        "NotALiteral",
        "not plain data: S",
    ),
    raises(
        "type that claims to be a number",
        "class M(type):\n    def __eq__(self, o): return True\n    def __hash__(self): return hash(int)\n"
        "class A(metaclass=M): pass\nreturn A()",
        "NotALiteral",
        "not plain data: A",
    ),
    gives(
        "comparison of the runner replaced",
        "mods['jail.literals'].equal = lambda *a: True\nmods['operator'].eq = lambda *a: True\nreturn 1",
        "1",
    ),
)
