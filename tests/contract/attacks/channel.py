"""The result channel: forged, broken, late and double answers, and values that are not what they seem.

A program's answer is its own word: what it forges about itself gains nothing. What must not happen is that
the host believes a frame out of order, of another form, or with a value that is not plain data.
"""

from __future__ import annotations

from .attack import QUICK, Attack, Expected, breaks, crashes, gives, late, raises


def _unlike(name: str, code: str, message: str) -> Attack:
    """A result that is not plain data."""
    return raises(name, code, "NotALiteral", message)


# Both arrive with one read of the host: what was answered must not depend on that.
_TWO = (
    "answer = mods['json'].dumps({{'id': find('identifier'), 'kind': 'value', 'value': '1'}}).encode()\n"
    "os.write(3, len(answer).to_bytes(4, 'little') + answer + {0})\nreturn 3"
)
_TWICE = "write = os.write\nos.write = lambda fd, data: (write(fd, data), write(fd, data))[0]\nreturn 1"

ATTACKS = (
    breaks("gigantic length", "os.write(3, b'\\xff' * 4)", "a frame of 4294967295 bytes"),
    breaks(
        "length just above the cap",
        "os.write(3, (9 << 20).to_bytes(4, 'little'))",
        "a frame of 9437184 bytes",
    ),
    breaks("empty frame", "send(b'')", "not a reply: Input data was truncated"),
    breaks("garbage", "send(b'garbage')", "not a reply: JSON is malformed: invalid character (byte 0)"),
    breaks(
        "pickle",
        "send(b'cos\\nsystem\\n(S\"true\"\\ntR.')",
        "not a reply: JSON is malformed: invalid character (byte 0)",
    ),
    late("half a frame", "os.write(3, b'\\x40\\0\\0\\0{')\nwhile True: pass"),
    late(
        "frame drop by drop",
        "os.write(3, b'\\0\\1\\0\\0')\nwhile True:\n    os.write(3, b' ')\n    mods['time'].sleep(0.02)",
    ),
    breaks("forged nan", "forge(value='nan')", "the result is not literal text: not a literal: Name"),
    breaks(
        "forged infinity",
        "forge(value='1e999')",
        "the result is not literal text: a float that is not finite",
    ),
    breaks(
        "forged call",
        "forge(value='__import__(\"os\").getpid()')",
        "the result is not literal text: not a literal: Call",
    ),
    breaks(
        "forged comprehension",
        "forge(value='[x for x in (1,)]')",
        "the result is not literal text: not a literal: ListComp",
    ),
    breaks("forged number", "forge(value=1)", "not a reply: Expected `str`, got `int` - at `$.value`"),
    breaks("forged truth", "forge(value=True)", "not a reply: Expected `str`, got `bool` - at `$.value`"),
    breaks(
        "forged kind", "forge(kind='jail_died')", "not a reply: Invalid enum value 'jail_died' - at `$.kind`"
    ),
    breaks(
        "forged absence of the jail",
        "forge(kind='unavailable')",
        "not a reply: Invalid enum value 'unavailable' - at `$.kind`",
    ),
    breaks("value beside a failure", "forge(kind='program_error')", "a result beside a failure"),
    breaks("extra field", "forge(reward=1)", "not a reply: Object contains unknown field `reward`"),
    breaks(
        "missing field", 'send(b\'{"kind": "value"}\')', "not a reply: Object missing required field `id`"
    ),
    breaks("long field", "forge(stdout='x' * 100000)", "a field is too long"),
    breaks("long error", "forge(kind='program_error', value='', error='x' * 101)", "a field is too long"),
    breaks("wrong identifier", "forge(id='0' * 16)", "an answer to no question"),
    breaks("identifier of the load", "forge(id='')", "an answer to no question"),
    gives("answer and then another", "forge()\nforge(value='2')\nreturn 3", "1"),
    gives("answer and garbage in one", _TWO.format("b'\\xff' * 8"), "1"),
    gives("answer and a broken frame in one", _TWO.format("b'\\1\\0\\0\\0{'"), "1"),
    gives("answer and half a frame in one", _TWO.format("b'\\x40\\0\\0\\0{'"), "1"),
    breaks("deep brackets", "send(b'[' * 400000)", "not a reply: Expected `object`, got `array`"),
    breaks(
        "deep literal",
        "forge(value='[' * 5000 + ']' * 5000)",
        "the result is not literal text: not a Python literal: SyntaxError",
    ),
    breaks(
        "deep sum",
        "forge(value='1' + '+1' * 30000)",
        "the result is not literal text: not a Python literal: RecursionError",
    ),
    breaks(
        "number of many digits",
        "forge(value='9' * 20000)",
        "the result is not literal text: not a Python literal: SyntaxError",
    ),
    breaks(
        "text that is no number", "send(b'{\"id\": 1e999}')", "not a reply: Number out of range - at `$.id`"
    ),
    breaks("bad text", 'send(b\'{"id": "\\xff"}\')', "not a reply: Invalid UTF-8 encoded string"),
    breaks(
        "lone surrogate",
        'send(b\'{"id": "\\\\ud800", "kind": "value"}\')',
        "not a reply: JSON is malformed: unexpected end of escaped utf-16 surrogate pair (byte 14)",
    ),
    breaks("not an object", "send(b'[1]')", "not a reply: Expected `object`, got `array`"),
    breaks(
        "many fields",
        "send(b'{' + b'\"x\":1,' * 200000 + b'\"y\":1}')",
        "not a reply: Object contains unknown field `x`",
    ),
    breaks("trace that nobody asked for", "forge(trace=[['def f():', '']])", "a trace that nobody asked for"),
    breaks(
        "trace of another program",
        "forge(trace=[['solve()', 'x=1']])",
        "a trace of something else than the program",
        trace=True,
    ),
    breaks(
        "trace with a second line",
        "forge(trace=[['def f():', 'x=1\\n<answer>2</answer>']])",
        "a trace of something else than the program",
        trace=True,
    ),
    breaks("endless trace", "forge(trace=[['def f():', '']] * 1001)", "a field is too long", trace=True),
    breaks(
        "trace of three",
        "forge(trace=[['def f():', '', '']])",
        "not a reply: Expected `array` of length 2 - at `$.trace[0]`",
        trace=True,
    ),
    breaks("closed channel", "os.close(3)\nwhile True: pass", "closed its channel", QUICK),
    crashes("answer without an end", "os.close(3)", "exit code 70", "left before answering"),
    crashes("forged and gone", "os.write(3, b'\\1')\nos._exit(0)", "exit code 0", "left before answering"),
    _unlike("cycle", "x = []\nx.append(x)\nreturn x", "nested deeper than 64 levels"),
    _unlike("deep list", "x = []\nfor _ in range(10000): x = [x]\nreturn x", "nested deeper than 64 levels"),
    _unlike("many digits", "return 10 ** 5000", "an integer of more than 4000 digits"),
    _unlike(
        "many digits, limit lifted",
        "sys.set_int_max_str_digits(0)\nreturn 10 ** 50000",
        "an integer of more than 4000 digits",
    ),
    _unlike("nan", "return float('nan')", "a float that is not finite"),
    _unlike("infinity inside", "return [1, {'a': float('inf')}]", "a float that is not finite"),
    _unlike(
        "equal to all", "class X:\n    def __eq__(self, other): return True\nreturn X()", "not plain data: X"
    ),
    _unlike(
        "evil text", "class S(str):\n    def __repr__(self): return '1'\nreturn S('x')", "not plain data: S"
    ),
    _unlike(
        "evil number",
        "class I(int):\n    def __eq__(self, o): return True\nreturn [I(1)]",
        "not plain data: I",
    ),
    _unlike(
        "evil float",
        "class F(float):\n    def __repr__(self): return '1.0'\nreturn (F(2),)",
        "not plain data: F",
    ),
    _unlike(
        "evil list",
        "class L(list):\n    def __iter__(self): return iter([1])\nreturn L()",
        "not plain data: L",
    ),
    _unlike(
        "evil dict", "class D(dict):\n    def items(self): return [(1, 1)]\nreturn D()", "not plain data: D"
    ),
    _unlike(
        "evil key", "class K(str):\n    def __hash__(self): return 0\nreturn {K('x'): 1}", "not plain data: K"
    ),
    _unlike(
        "number of an enumeration", "E = mods['enum'].IntEnum('E', 'A')\nreturn E.A", "not plain data: E"
    ),
    _unlike(
        "false class",
        "class X:\n    __class__ = int\n    def __repr__(self): return '1'\nreturn X()",
        "not plain data: X",
    ),
    _unlike(
        "pickled elsewhere",
        "class X:\n    def __reduce__(self): return (os.system, ('true',))\nreturn X()",
        "not plain data: X",
    ),
    _unlike("named tuple", "return mods['collections'].namedtuple('T', 'a')(1)", "not plain data: T"),
    _unlike("byte array", "return bytearray(b'x')", "not plain data: bytearray"),
    _unlike("complex number", "return 1j", "not plain data: complex"),
    _unlike("generator", "return (x for x in [1])", "not plain data: generator"),
    _unlike("module", "return os", "not plain data: module"),
    raises(
        "commands to the terminal",
        "raise type('\\x1b[2J', (Exception,), {})('\\x1b]52;c;eA==\\x07\\r\\u202e')",
        "\\x1b[2J",
        "\\x1b]52;c;eA==\\x07\\r\\u202e",
    ),
    gives("surrogate result", "print('\\ud800')\nreturn '\\ud800'", "'\\ud800'"),
    crashes("broken output", "sys.stdout.parts.append(1)\nreturn 1", "exit code 70", "left before answering"),
    gives("output without a bound", "sys.stdout.room = 1 << 60\nprint('x' * 1000)\nreturn 1", "1"),
    Attack(
        "output beyond its bound",
        "sys.stdout.room = 1 << 60\nprint('x' * 100000)\nreturn 1",
        Expected("protocol_error", message="a field is too long"),
    ),
    gives(
        "encoder replaced",
        "find('self')._encode = lambda value: {'kind': 'value', 'value': '2'}\nreturn 1",
        "2",
    ),
    Attack(
        "encoder that writes code",
        "mods['jail.runner'].render = lambda value, limit: '__import__(\"os\")'\nreturn 1",
        Expected("protocol_error", message="the result is not literal text: not a literal: Call"),
    ),
    Attack(
        "frame writer replaced",
        "mods['jail.zygote'].encode_reply = lambda reply: b'\\0' * 9\nreturn 1",
        Expected("protocol_error", message="not a reply: JSON is malformed: invalid character (byte 0)"),
    ),
    crashes(
        "audit hook that leaves",
        "sys.addaudithook(lambda *a: os._exit(6))\nreturn compile('1', '', 'eval')",
        "exit code 6",
        "left before answering",
    ),
    crashes(
        "callback of the collector that leaves",
        "mods['gc'].callbacks.append(lambda *a: os._exit(4))\nreturn mods['gc'].collect()",
        "exit code 4",
        "left before answering",
    ),
    gives(
        "finaliser that fails",
        "sys.unraisablehook = lambda a: print('x')\n"
        "class X:\n    def __del__(self): 1 / 0\nX()\nsys.stdout.parts.clear()\nreturn 1",
        "1",
    ),
    gives(
        "handler of broken text",
        "mods['codecs'].register_error('replace', lambda e: ('x' * 10 ** 6, e.end))\n"
        "print('\\ud800')\nsys.stdout.parts.clear()\nreturn '\\ud800'",
        "'\\ud800'",
    ),
    crashes(
        "text that encodes itself otherwise",
        "d = mods['gc'].get_referents(str.__dict__)[0]\nd['encode'] = lambda *a: b'\\xff'\n"
        "ctypes.pythonapi.PyType_Modified(ctypes.py_object(str))\nreturn 'a'",
        "exit code 70",
        "left before answering",
    ),
    Attack(
        "reply without fields",
        "d = mods['gc'].get_referents(dict.__dict__)[0]\nd['items'] = lambda *a: []\n"
        "ctypes.pythonapi.PyType_Modified(ctypes.py_object(dict))\nreturn 'a'",
        Expected("protocol_error", message="not a reply: Object missing required field `id`"),
    ),
    crashes(
        "built-ins that lie",
        "b = mods['builtins']\nb.isinstance = lambda *a: True\nb.type = lambda *a: int\n"
        "b.repr = lambda *a: 'os'\nb.len = lambda *a: 0\nreturn {'a': [1.5]}",
        "exit code 70",
        "left before answering",
    ),
    gives("frame written twice", _TWICE, "1"),
    late("frame never written", "os.write = lambda fd, data: len(data)\nreturn 1"),
    late("frame written by nothings", "os.write = lambda fd, data: 0\nreturn 1"),
    gives("next request eaten", "os.read = lambda *a: b''\nreturn 1", "1"),
    crashes("trace of no form", "find('trace').append(5)\nreturn 1", "exit code 70", "left before answering"),
    gives("number of arguments replaced", "mods['jail.literals'].parse_arguments = None\nreturn 1", "1"),
    gives("tracer that bites", "sys.settrace(lambda *a: 1 / 0)\nreturn 1", "1"),
    crashes(
        "profiler that bites",
        "sys.setprofile(lambda *a: os._exit(9))\nreturn 1",
        "exit code 9",
        "left before answering",
    ),
    gives(
        "late answer at exit", "mods['atexit'].register(forge) if 'atexit' in mods else None\nreturn 1", "1"
    ),
    gives(
        "late answer by a finaliser",
        "class X:\n    def __del__(self): forge(id='late')\nglobal x\nx = X()\nreturn 1",
        "1",
    ),
)
