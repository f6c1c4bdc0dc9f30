"""Persistence: each leaves something behind in its process; the next program must find nothing of it."""

from __future__ import annotations

from .attack import gives

ATTACKS = (
    gives(
        "poisoned built-ins",
        "mods['builtins'].sorted = __builtins__['len'] = lambda *a: 99\nreturn [len('ab'), sorted([1])]",
        "[99, [1]]",
    ),
    gives(
        "poisoned json",
        "mods['json'].loads = mods['json'].dumps = lambda *a: 9\nreturn mods['json'].loads('1')",
        "9",
    ),
    gives("poisoned random", "mods['random'].Random = lambda *a: 9\nreturn mods['random'].Random(1)", "9"),
    gives(
        "modules taken away",
        "sys.modules['json'] = sys.modules['math'] = None\nreturn sys.modules['math']",
        "None",
    ),
    gives(
        "module planted",
        "sys.modules['planted'] = os\nsys.modules['program'].planted = 1\nreturn 'planted' in sys.modules",
        "True",
    ),
    gives(
        "import hook",
        "class H:\n    def find_spec(self, *a): raise SystemExit\nsys.meta_path.insert(0, H())\n"
        "return len(sys.meta_path) > 1",
        "True",
    ),
    gives(
        "method of a built-in type",
        "d = mods['gc'].get_referents(str.__dict__)[0]\nd['upper'] = lambda s: 'planted'\n"
        "ctypes.pythonapi.PyType_Modified(ctypes.py_object(str))\nreturn 'a'.upper()",
        "'planted'",
    ),
    gives(
        "small number rewritten",
        "ctypes.memmove(id(77) + 24, b'\\x4e\\0\\0\\0', 4)\nvalue = 70 + 7\nreturn value == 78",
        "True",
    ),
    gives("environment variables", "os.environ['PLANTED'] = '1'\nreturn os.environ['PLANTED']", "'1'"),
    gives(
        "signal handlers",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nreturn int(signal.getsignal(signal.SIGTERM))",
        "1",
    ),
    gives(
        "hook at fork",
        "os.register_at_fork(before=lambda: 1 / 0, after_in_child=lambda: os._exit(5))\nreturn 1",
        "1",
    ),
    gives(
        "collector switched off",
        "mods['gc'].disable()\nmods['gc'].unfreeze()\nreturn mods['gc'].isenabled()",
        "False",
    ),
    gives(
        "hash table of interned names",
        "return [sys.intern('planted' + str(i)) for i in range(1000)][999]",
        "'planted999'",
    ),
    gives("recursion limit", "sys.setrecursionlimit(5000)\nreturn sys.getrecursionlimit()", "5000"),
    gives("locale of numbers", "sys.set_int_max_str_digits(0)\nreturn sys.get_int_max_str_digits()", "0"),
    gives(
        "decimal context",
        "mods['decimal'].getcontext().prec = 3\nreturn str(mods['decimal'].Decimal(1) / 3)",
        "'0.333'",
    ),
    gives(
        "cache of regular expressions",
        "mods['re']._cache.clear()\nmods['re'].compile = lambda *a: 9\nreturn mods['re'].compile('x')",
        "9",
    ),
    gives(
        "code of the runner",
        "mods['jail.runner'].Program.call = lambda *a: {'id': '', 'kind': 'value', 'value': '9'}\nreturn 1",
        "1",
    ),
    gives("clock stopped", "mods['time'].time = lambda: 0.0\nreturn mods['time'].time()", "0.0"),
    gives(
        "memory of the zygote",
        "find('self').ballast[:7] = b'planted'\nreturn find('self').ballast[:7]",
        "b'planted'",
    ),
    gives(
        "filter of the zygote",
        "mods['jail.kernel'].Filter.install = lambda *a: None\n"
        "mods['jail.zygote']._set_limits = lambda *a: None\nreturn 1",
        "1",
    ),
)

# What any of the attacks above would change. Run after every attack of every class; EIGHTH is put in by it.
OBSERVER = """
import datetime, json, math, random, re
hidden = random._os.sys
def f(x):
    modules = hidden.modules
    return [
        json.loads(json.dumps([x, len('ab'), sorted([3, 1])])), math.sqrt(16),
        random.Random(1).randint(0, 99), str(datetime.date(2020, 1, 2)), EIGHTH,
        bool(re.compile('a+').match('aa')), 'a'.upper(), 70 + 7 == 77, 'planted' in modules,
        hasattr(modules['program'], 'planted'), len(hidden.meta_path), 'PLANTED' in random._os.environ,
        int(modules['_signal'].getsignal(15)), modules['gc'].isenabled(), hidden.getrecursionlimit(),
        hidden.get_int_max_str_digits(), random.random(), hidden.gettrace(), modules['time'].time(), x,
    ]
"""
