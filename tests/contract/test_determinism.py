"""The same program on the same stream of chance answers the same, in any zygote, on any day.

Where hashing decides, the zygotes must have the same hash seed; where an address decides, nothing is
promised.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from spadelab.environments.programs import GateSettings, admit
from spadelab.records import Draft
from spadelab.sandbox import Call, Job, Limits, Outcome, Sandbox

LIMITS = Limits(wall_seconds=30, cpu_seconds=10, memory_mb=128)
HEAD = """
import collections, datetime, itertools, random
os = random._os
time = os.sys.modules["time"]
"""
# Expressions over the list x, by what they take from outside.
CHANCE = (
    "random.random()",
    "random.randrange(x[0] + 2)",
    "random.gauss(0, 1)",
    "random.choice(x)",
    "random.sample(range(99), 3)",
    "random.Random().getrandbits(40)",
    "random.SystemRandom().randrange(10 ** 6)",
    "random.seed() or random.random()",
    "os.urandom(3)",
    "random._urandom(2).hex()",
    "os.getrandom(5)",
    "list(random.randbytes(2))",
)
CLOCK = (
    "time.time()",
    "time.monotonic_ns()",
    "time.perf_counter()",
    "time.process_time_ns() // 10 ** 6 % 1000",
    "time.strftime('%H:%M')",
    "time.localtime()[:6]",
    "time.ctime()",
    "str(datetime.datetime.now())",
    "datetime.date.today().toordinal()",
    "datetime.datetime.now(datetime.timezone.utc).isoformat()",
    "str(datetime.datetime.utcnow().time())",
)
HASH = (
    "hash('a' + str(x))",
    "list({'p', 'q', 'r', *map(str, x)})",
    "list(frozenset(map(str, x)))[:1]",
    "next(iter({str(i) for i in range(9)}))",
)
COLLECTOR = (
    "os.sys.modules['gc'].get_count()",
    "str(os.sys.modules['gc'].get_stats())",
    "len(os.sys.modules['gc'].get_objects())",
    "await_collection()",
)
CYCLES = """
def await_collection():
    dead, born = [], 0
    class Cycle:
        def __del__(self): dead.append(born)
    while not dead:
        cycle = Cycle()
        cycle.me = cycle
        born += 1
    return dead[0]
"""
PLAIN = (
    "os.getpid()",
    "os.getuid()",
    "os.cpu_count()",
    "tuple(os.times())",
    "random.Random.__base__().random()",
    "os.sys.modules['_thread'].get_native_id()",
    "sorted(map(str, x))",
    "sum(x)",
    "len(os.environ)",
    "random.Random(x[0]).random()",
    "hash((1, 2.5, x[0]))",
    "list(collections.Counter(x))",
    "list(itertools.islice(itertools.count(x[0]), 3))",
)
STATEMENTS = (
    "x.append({0})",
    "x.insert(0, {0})",
    "for i in range(2): x.append(({0}, i))",
    "if {1} != {0}: x.append('other')",
    "y = [{0} for _ in range(2)]; x += y[:1]",
    "random.seed(str({1})); x.append({0})",
    "x.append([{0}, {1}])",
)
PACKAGE = (
    "float(numpy.random.rand())",
    "int(numpy.random.randint(1000))",
    "numpy.random.permutation(5).tolist()",
    "float(numpy.random.default_rng().normal())",
    "numpy.random.default_rng().integers(0, 99, 3).tolist()",
    "int(numpy.random.RandomState().randint(1 << 30))",
    "float(numpy.random.Generator(numpy.random.PCG64()).random())",
    "str(numpy.datetime64('now'))",
)


def generate(stream: random.Random, sources: Sequence[str], head: str = HEAD) -> str:
    """A program that builds a list out of what the sources give."""
    lines = []
    for _ in range(stream.randint(1, 4)):
        # Each on a new list of numbers: what other sources gave is nothing to calculate with.
        statement = stream.choice(STATEMENTS).format(stream.choice(sources), stream.choice(sources))
        lines += ["x = [a]", statement, "kept.append(x)"]
    body = "\n    ".join(lines)
    return f"{head}def f(a):\n    kept = []\n    {body}\n    return kept\n"


def jobs_of(sources: Sequence[str], stream: int = 0, hash_seed: int = 0) -> list[Job]:
    return [
        Job(source, (Call("f", str(n % 7)), Call("f", "3")), LIMITS, hash_seed, stream)
        for n, source in enumerate(sources)
    ]


def answers(sandbox: Sandbox, jobs: Sequence[Job]) -> list[list[tuple[str, str, str, str]]]:
    def tell(outcome: Outcome) -> tuple[str, str, str, str]:
        assert outcome.kind in ("value", "program_error"), outcome
        return outcome.kind, outcome.value, outcome.error, outcome.message

    return [[tell(outcome) for outcome in outcomes] for outcomes in sandbox.map(jobs)]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(allowed_packages=("numpy",), canaries=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def others() -> Iterator[Sandbox]:
    """Other zygotes."""
    with Sandbox(allowed_packages=("numpy",), canaries=False) as opened:
        yield opened


def test_two_thousand_programs_replay_in_another_zygote(sandbox: Sandbox, others: Sandbox) -> None:
    stream = random.Random(20)
    sources = [generate(stream, CHANCE + CLOCK + HASH + PLAIN) for _ in range(2000)]
    assert len(set(sources)) > 1700
    once = answers(sandbox, jobs_of(sources))
    again = answers(others, jobs_of(sources)[::-1])[::-1]
    assert [source for source, a, b in zip(sources, once, again, strict=True) if a != b] == []
    assert sum(outcome[0] == "value" for row in once for outcome in row) > 3000
    assert len({str(row) for row in once}) > 1500, "the programs are not all alike"


def test_without_hashing_another_hash_seed_changes_nothing(sandbox: Sandbox) -> None:
    stream = random.Random(21)
    sources = [generate(stream, CHANCE + CLOCK + PLAIN) for _ in range(100)]
    one, other = (answers(sandbox, jobs_of(sources, hash_seed=seed)) for seed in (0, 1))
    assert one == other
    hashed = [f"{HEAD}def f(a):\n    x = [a]\n    return {expression}\n" for expression in HASH[:2]]
    one, other = (answers(sandbox, jobs_of(hashed, hash_seed=seed)) for seed in (0, 1))
    assert all(a != b for a, b in zip(one, other, strict=True)), "the hash seed reaches the programs"


@pytest.mark.parametrize("group", [CHANCE, CLOCK])
def test_another_stream_changes_everything(group: Sequence[str], sandbox: Sandbox) -> None:
    """Each source by itself, over a few streams, since a small range may give the same twice."""
    sources = [f"{HEAD}def f(a):\n    x = [a, 5, 6]\n    return {expression}\n" for expression in group]
    runs = [answers(sandbox, jobs_of(sources, stream)) for stream in (0, 1, 2, 3, 0)]
    for expression, *rows in zip(group, *runs, strict=True):
        assert rows[0] == rows[-1]
        assert len({str(row) for row in rows}) > 1, expression


def test_the_collector_runs_at_the_same_moment(sandbox: Sandbox, others: Sandbox) -> None:
    stream = random.Random(23)
    sources = [generate(stream, COLLECTOR, HEAD + CYCLES) for _ in range(60)]
    once = answers(sandbox, jobs_of(sources))
    apart = [answers(others, [job])[0] for job in jobs_of(sources)]
    assert once == apart and len({str(row) for row in once}) > 20


def test_packages_replay_too(sandbox: Sandbox, others: Sandbox) -> None:
    stream = random.Random(22)
    sources = [generate(stream, PACKAGE, HEAD + "import numpy\n") for _ in range(60)]
    once, again = (answers(box, jobs_of(sources)) for box in (sandbox, others))
    assert once == again
    assert answers(sandbox, jobs_of(sources, stream=1)) != once


def test_what_a_package_made_while_it_was_imported_follows_the_stream() -> None:
    source = "import sympy\ndef f():\n    return [sympy.randprime(10, 10 ** 9), sympy.core.random.random()]\n"
    jobs = [Job(source, (Call("f", ""),), replace(LIMITS, memory_mb=512), stream=n) for n in (0, 1, 0)]
    seen = []
    for _ in range(2):
        with Sandbox(allowed_packages=("sympy",), canaries=False) as box:
            seen.append(answers(box, jobs))
    assert seen[0] == seen[1] and seen[0][0] == seen[0][2] != seen[0][1]


def test_a_child_that_stays_replays_call_by_call(sandbox: Sandbox, others: Sandbox) -> None:
    source = f"{HEAD}def f(a):\n    return [a, random.random(), time.time(), os.urandom(2)]\n"
    calls = [Call("f", str(n)) for n in range(5)]
    seen = []
    for box in (sandbox, others):
        with box.open(source, LIMITS) as child:
            seen.append([child.call(call).value for call in calls])
        seen.append([outcome.value for outcome in box.run(Job(source, tuple(calls), LIMITS))])
    assert seen[0] == seen[1] == seen[2] == seen[3] and len(set(seen[0])) == 5


def test_a_program_cannot_wait_for_a_date(sandbox: Sandbox) -> None:
    """The clock of a month is as fickle as that of a second: the gates notice either."""
    source = "import datetime\ndef f(a):\n    today = getattr(datetime.date, 'to' + 'day')()\n    return {0}"
    texts = [source.format(value) for value in ("today.year", "today.isoformat() > '2031-01-01'", "a")]
    drafts = [
        Draft(str(n), "deduction", f"```python\n{text}\n```\n```input\n1\n```", 1.0)
        for n, text in enumerate(texts)
    ]
    settings = replace(GateSettings(), limits=LIMITS)
    verdicts = [admission.rejection for admission in admit(drafts, sandbox, settings, known=())]
    assert verdicts == ["non_deterministic", "non_deterministic", ""]


def test_the_module_uuid_is_out_of_reach(sandbox: Sandbox) -> None:
    """It reads the machine's address; nothing that may be imported brings it along."""
    source = f"import numpy\n{HEAD}def f():\n    return 'uuid' in os.sys.modules\n"
    refused = Job("import uuid\ndef f():\n    return 1\n", (Call("f", ""),), LIMITS)
    loaded = Job(source, (Call("f", ""),), replace(LIMITS, memory_mb=512))
    (first,), (second,) = sandbox.map([refused, loaded])
    assert (first.error, second.value) == ("ImportError", "False")
