"""Resources: time, memory, output, descriptors, the stack."""

from __future__ import annotations

from spadelab.sandbox import Limits

from .attack import OLD, Attack, Expected, crashes, gives, late, out_of_memory, raises

PRINTED = Expected("output_limit", message="the program printed too much")
LONG = Expected("output_limit", message="the result is too long")
CPU = Expected("cpu_timeout", message="more than 1 s of CPU time")

# Pages far apart, each of which would need two more for its tables.
_TABLES = """\
place = LIBC.mmap
place.restype = ctypes.c_void_p
found = [place(ctypes.c_void_p(2 + i << 30), ctypes.c_size_t(4096), 3, 0x100022, -1, 0) for i in range(9)]
return set(found) == {(1 << 64) - 1}"""

ATTACKS = (
    late("endless loop", "while True:\n    pass"),
    late(
        "stubborn loop",
        "for number in range(1, 65):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
    ),
    Attack("processor time", "while True:\n    pass", CPU, Limits(20, 1, 96)),
    Attack(
        "processor time, signal ignored",
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        CPU,
        Limits(20, 1, 96),
    ),
    late("sleep", "mods['time'].sleep(60)"),
    late("sleep without a name", "LIBC.sleep(60)"),
    late("wait for the channel", "os.read(3, 1)"),
    late("wait for nothing", "mods['select'].poll().poll()"),
    late("lock taken twice", "lock = mods['_thread'].allocate_lock()\nlock.acquire()\nlock.acquire()"),
    late("regular expression", "return bool(mods['re'].match('(a+)+$', 'a' * 40 + 'b'))"),
    late("huge power", "return 7 ** 10 ** 9"),
    late("huge factorial", "return mods['math'].factorial(10 ** 7)"),
    late("endless iterator in C", "return sum(mods['itertools'].count())"),
    late(
        "endless text of an exception",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    ),
    late("endless clean-up", "try:\n    return 1\nfinally:\n    while True: pass"),
    late(
        "comparison that never ends",
        "class E:\n    def __lt__(self, o):\n        while True: pass\nsorted([E(), E()])",
    ),
    out_of_memory("huge block", "return len(bytearray(10 << 30))"),
    out_of_memory("growing list", "x = []\nwhile True:\n    x.append('a' * 10000 + str(len(x)))"),
    out_of_memory("growing global", "global hoard\nhoard = []\nwhile True:\n    hoard.append([0] * 50)"),
    out_of_memory("many small objects", "x = {}\nwhile True:\n    x[len(x)] = object()"),
    out_of_memory("growing text", "x = 'ab'\nwhile True:\n    x += x"),
    out_of_memory("shifted number", "return 1 << (1 << 36)"),
    *(
        [out_of_memory("chain of closures", "x = None\nwhile True:\n    x = (lambda y: lambda: y)(x)")]
        if OLD
        else []
    ),
    raises(
        "memory by mmap", "return len(mmap.mmap(-1, 1 << 30))", "OSError", "[Errno 12] Cannot allocate memory"
    ),
    gives(
        "memory by malloc",
        "LIBC.malloc.restype = ctypes.c_void_p\nreturn LIBC.malloc(ctypes.c_size_t(1 << 31))",
        "None",
    ),
    gives(
        "memory spike below the limit",
        "return [len(bytearray(70 << 20)) for _ in range(5)]",
        str([70 << 20] * 5),
    ),
    late(
        "swallowed memory error",
        "x = []\nwhile True:\n    try: x.append(bytearray(1 << 16))\n    except MemoryError: pass",
    ),
    gives(
        "constants that the compiler might fold",
        "texts = ('9 ** 9 ** 9 ** 9', '1 << (1 << 40)', '(1,) * 250 * 250 * 250', \"'%1000000000d' % 1\")\n"
        "return [compile(text, '', 'eval') is None for text in texts]",
        "[False, False, False, False]",
    ),
    out_of_memory("deep signs for the compiler", "compile('-' * 100000 + '1', '', 'eval')"),
    raises(
        "deep brackets for the compiler",
        "compile('(' * 5000 + ')' * 5000, 'x', 'eval')",
        "SyntaxError",
        "too many nested parentheses (x, line 1)",
    ),
    raises(
        "deep sum for the compiler",
        "compile('+'.join(['1'] * 50000), 'x', 'eval')",
        "RecursionError",
        "maximum recursion depth exceeded during compilation",
    ),
    gives("page tables", _TABLES, "True"),
    raises(
        "deep group of exceptions",
        "e = ValueError(1)\nfor _ in range(50000): e = ExceptionGroup('a', [e])\nraise e",
        "ExceptionGroup",
        "a (1 sub-exception)",
    ),
    raises(
        "long chain of exceptions",
        "e = None\nfor i in range(50000):\n    n = ValueError(i)\n    n.__context__ = n.__cause__ = e\n"
        "    e = n\nraise e",
        "ValueError",
        "49999",
    ),
    raises(
        "exception that takes all memory for its text",
        "class E(Exception):\n    def __str__(self): return 'x' * (1 << 30)\nraise E",
        "E",
        "(the exception has no readable message)",
    ),
    late(
        "segmentation fault that is caught",
        "signal.signal(signal.SIGSEGV, lambda *a: None)\nctypes.string_at(0)",
    ),
    raises("recursion", "return f()", "RecursionError", "maximum recursion depth exceeded"),
    Attack(
        "stack overflow",
        "class A:\n    def __repr__(self): return repr(self)\n"
        "sys.setrecursionlimit(10 ** 9)\ntry: return repr(A())\nexcept RecursionError: ctypes.string_at(0)",
        Expected("crash", "", "SIGSEGV", "died"),
    ),
    crashes("segmentation fault", "ctypes.string_at(0)", "SIGSEGV"),
    crashes("jump to nowhere", "ctypes.CFUNCTYPE(None)(8)()", "SIGSEGV"),
    crashes("overwritten object", "ctypes.memset(id(1.5), 0xff, 16)\nreturn [1.5]", "SIGSEGV"),
    crashes("abort", "os.abort()", "SIGSEGV"),
    crashes("exit at once", "os._exit(0)", "exit code 0", "left before answering"),
    crashes("exit with the code of exhaustion", "LIBC.exit(70)", "exit code 70", "left before answering"),
    raises("exit", "raise SystemExit(0)", "SystemExit", "0"),
    raises("interrupt", "raise KeyboardInterrupt", "KeyboardInterrupt", ""),
    raises("generator exit", "raise GeneratorExit", "GeneratorExit", ""),
    raises(
        "exception that bites",
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "E",
        "(the exception has no readable message)",
    ),
    raises(
        "exception with a false name",
        "class M(type):\n    __name__ = property(lambda c: 'value')\n"
        "class E(Exception, metaclass=M):\n    __class__ = int\nraise E('x')",
        "E",
        "x",
    ),
    raises("exception with a huge text", "raise ValueError('x' * (20 << 20))", "ValueError", "x" * 500),
    raises("exception with a huge name", "raise type('E' * 100000, (Exception,), {})('x')", "E" * 100, "x"),
    raises(
        "exception whose text is a lie",
        "class S(str):\n    def __getitem__(self, i): return self\n"
        "    def encode(self, *a): return b'y' * (1 << 20)\n"
        "class E(Exception):\n    def __str__(self): return S('x' * 1000)\nraise E",
        "E",
        "x" * 500,
    ),
    raises("lone surrogate in an exception", "raise ValueError('\\ud800')", "ValueError", "?"),
    Attack("print a gigabyte", "for _ in range(1 << 20):\n    print('x' * 1024)", PRINTED),
    Attack(
        "print and swallow",
        "for _ in range(1 << 10):\n    try: print('x' * 1024)\n    except Exception: pass\nreturn 1",
        PRINTED,
    ),
    Attack(
        "print in an exception",
        "class E(Exception):\n    def __str__(self): print('x' * (1 << 20))\nraise E",
        PRINTED,
    ),
    Attack("huge result", "return 'x' * (50 << 20)", LONG),
    Attack("huge set", "return set(range(1 << 18))", LONG),
    Attack("nested references", "x = []\nfor _ in range(60): x = [x, x]\nreturn x", LONG),
    gives(
        "descriptors of the machine", "return len([os.write(2, b'x' * (1 << 20)) for _ in range(100)])", "100"
    ),
)
