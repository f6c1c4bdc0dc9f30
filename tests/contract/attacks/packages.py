"""The jail with packages: a larger interpreter with more ways to files, memory and chance."""

from __future__ import annotations

from spadelab.sandbox import Limits

from .attack import Attack, denied, gives, late, out_of_memory, raises

_NUMPY = "import numpy as np\n"
_ROOM = Limits(wall_seconds=20, cpu_seconds=5, memory_mb=192)


def _numpy(attack: Attack) -> Attack:
    return Attack(attack.name, attack.code, attack.expected, attack.limits, _NUMPY + attack.head)


ATTACKS = tuple(
    map(
        _numpy,
        (
            denied("load an array", "return np.load('/etc/passwd')", "'/etc/passwd'"),
            denied("load a pickle", "return np.load('/etc/passwd', allow_pickle=True)", "'/etc/passwd'"),
            raises(
                "unpickle bytes",
                "return np.load(mods['io'].BytesIO(b'cos\\nsystem\\n(S\"true\"\\ntR.'), allow_pickle=False)",
                "ValueError",
                "This file contains pickled (object) data. If you trust the file you can load it unsafely"
                " using the `allow_pickle=` keyword argument or `pickle.load()`.",
            ),
            denied("map a file", "return np.memmap('/etc/passwd')", "'/etc/passwd'"),
            denied("read a file", "return np.fromfile('/etc/passwd')", "'/etc/passwd'"),
            denied("read a text", "return np.loadtxt('/proc/self/environ')"),
            denied("read a table", "return np.genfromtxt('/proc/self/environ')"),
            denied("write a file", "np.ones(3).tofile('/nowhere/x')", "'/nowhere/x'"),
            denied("save", "np.save('/nowhere/x', np.ones(3))", "'/nowhere/x.npy'"),
            gives(
                "read a descriptor", "f = mods['io'].FileIO(0, 'rb', closefd=False)\nreturn f.read(9)", "b''"
            ),
            gives("ctypes of the package", "return np.ctypeslib.ctypes.CDLL(None).getpid()", "0"),
            raises(
                "library",
                "return np.ctypeslib.load_library('libc.so.6', '/lib')",
                "OSError",
                "no file with expected extension",
            ),
            out_of_memory("huge array", "return np.ones(1 << 33).sum()"),
            out_of_memory(
                "huge strides", "return np.lib.stride_tricks.as_strided(np.zeros(1), (1 << 40,), (0,)).copy()"
            ),
            late("endless product", "x = np.ones((500, 500))\nwhile True: x @ x"),
            raises("array as a result", "return np.ones(3)", "NotALiteral", "not plain data: ndarray"),
            raises("number as a result", "return np.float64(1)", "NotALiteral", "not plain data: float64"),
            raises(
                "nan of an array",
                "return float(np.float64(0) / 0)",
                "NotALiteral",
                "a float that is not finite",
            ),
            gives("global generator", "return float(np.random.rand())", "0.4035978257613798"),
            gives("new generator", "return float(np.random.default_rng().random())", "0.2218382629913025"),
            gives("legacy generator", "return int(np.random.RandomState().randint(1 << 30))", "715921049"),
            gives("now", "return str(np.datetime64('now'))", "'2029-06-09T01:51:06'"),
            gives("today", "return str(np.array(['today'], dtype='M8[D]')[0])", "'2029-06-09'"),
            gives("reseeded", "np.random.seed()\nreturn int(np.random.randint(1 << 30))", "540489045"),
            gives(
                "seed sequence",
                "return int(np.random.SeedSequence().entropy)",
                "69365780807605637880150477147877073538",
            ),
        ),
    )
)
