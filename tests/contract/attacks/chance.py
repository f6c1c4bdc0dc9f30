"""Determinism: every source of chance, time and identity that a program can reach, with what it must give.

The values are those of stream 0: the same in every zygote, on every backend, for every user, on any day.
"""

from __future__ import annotations

from .attack import blocked, denied, gives

ATTACKS = (
    gives("module random", "return random.random()", "0.5085564002410423"),
    gives("generator without a seed", "return random.Random().random()", "0.43767844202843365"),
    gives("generator of the system", "return random.SystemRandom().random()", "0.33429970852681745"),
    gives("module reseeded from nothing", "random.seed()\nreturn random.randrange(1 << 32)", "1879814612"),
    gives("shuffle", "x = list(range(9))\nrandom.shuffle(x)\nreturn x", "[3, 5, 0, 7, 2, 4, 1, 6, 8]"),
    gives("urandom", "return os.urandom(4).hex()", "'5594aa6b'"),
    gives("urandom by random", "return random._urandom(4).hex()", "'5594aa6b'"),
    gives("getrandom", "return os.getrandom(4).hex()", "'5594aa6b'"),
    gives("generator below the generator", "return random.Random.__base__().random()", "0.43767844202843365"),
    gives(
        "reseeded below the generator",
        "r = random.Random(1)\nrandom.Random.__base__.seed(r)\nreturn r.random()",
        "0.43767844202843365",
    ),
    gives("generator with a seed", "return random.Random('spade').random()", "0.02384068086772695"),
    denied("entropy of the kernel", "return mods['posix'].getrandom(4)"),
    denied("urandom of the kernel", "return mods['posix'].urandom(4)", "'/dev/urandom'"),
    blocked("getrandom", 318, 0, 0, 0),
    denied("use of the processor", "return resource.getrusage(0)"),
    blocked("times", 100, 0),
    gives("times of the process", "return tuple(os.times())", "(0.0, 0.0, 0.0, 0.0, 1875664266.087349)"),
    gives("environment", "return dict(os.environ)", "{'TZ': 'UTC0'}"),
    gives("time", "return mods['time'].time()", "1875664266.087349"),
    gives("time in nanoseconds", "return mods['time'].time_ns()", "1875664266087349000"),
    gives("monotonic", "return mods['time'].monotonic()", "1875664266.087349"),
    gives("performance counter", "return mods['time'].perf_counter_ns()", "1875664266087349000"),
    gives("process time", "return mods['time'].process_time()", "1875664266.087349"),
    gives("thread time", "return mods['time'].thread_time()", "1875664266.087349"),
    gives("clock by number", "return mods['time'].clock_gettime(0)", "1875664266.087349"),
    gives("local time", "return tuple(mods['time'].localtime())", "(2029, 6, 9, 1, 51, 6, 5, 160, 0)"),
    gives("strftime of now", "return mods['time'].strftime('%Y-%m-%d %H:%M:%S')", "'2029-06-09 01:51:06'"),
    gives("ctime", "return mods['time'].ctime()", "'Sat Jun  9 01:51:06 2029'"),
    gives("now", "return str(mods['datetime'].datetime.now())", "'2029-06-09 01:51:06.087349'"),
    gives(
        "now in a zone",
        "d = mods['datetime']\nreturn str(d.datetime.now(d.timezone.utc))",
        "'2029-06-09 01:51:06.087349+00:00'",
    ),
    gives("now in UTC", "return str(mods['datetime'].datetime.utcnow())", "'2029-06-09 01:51:06.087349'"),
    gives(
        "now of a subclass",
        "class D(mods['datetime'].datetime): pass\nreturn str(D.now())",
        "'2029-06-09 01:51:06.087349'",
    ),
    gives("today", "return str(mods['datetime'].date.today())", "'2029-06-09'"),
    gives("zone of the machine", "return mods['time'].tzname", "('UTC', 'UTC')"),
    gives("hash of a text", "return hash('spade') == hash('spa' + 'de'.lower())", "True"),
    gives(
        "order of a set",
        "return list({'alpha', 'beta', 'gamma', 'delta'})",
        "['alpha', 'delta', 'beta', 'gamma']",
    ),
    gives("process number", "return os.getpid()", "0"),
    gives(
        "elapsed time",
        "t = mods['time'].perf_counter()\nsum(range(10 ** 5))\n"
        "return round(mods['time'].perf_counter() - t, 6)",
        "0.001",
    ),
    gives("date that is waited for", "return mods['datetime'].date.today().year > 2026", "True"),
)
