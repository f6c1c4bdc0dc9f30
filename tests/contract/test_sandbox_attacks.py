"""Every attack ends in its typed outcome, the same zygote answers on, and the next program is right."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sandbox_attacks import ATTACKS, REACH, Attack

from spadelab.sandbox import Call, Job, Sandbox, self_test

HONEST = Job("import json\ndef f(x):\n    return json.loads(json.dumps([x, len('ab')]))\n", (Call("f", "5"),))


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if platform.machine() != "x86_64":
        pytest.skip("the attacks use the system-call numbers of x86_64")
    os.environ["SPADELAB_CANARY"] = "secret"
    with Sandbox(request.param, workers=1) as opened:
        assert opened.isolated
        yield opened
    del os.environ["SPADELAB_CANARY"]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_contained(sandbox: Sandbox, attack: Attack) -> None:
    (jail,) = sandbox._pool.jails()
    (outcome,) = sandbox.run(Job(attack.source, (Call("f", ""),), attack.limits))
    assert attack.expected in (outcome.kind, outcome.error), outcome
    assert outcome.value == attack.value
    (after,) = sandbox.run(HONEST)
    assert (after.kind, after.value) == ("value", "[5, 2]")
    assert sandbox._pool.jails() == [jail] and jail.is_alive()


def test_there_are_enough_attacks() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 40


def test_nothing_is_passed_on_to_the_next_program(sandbox: Sandbox) -> None:
    poison = REACH + (
        "import json, random\n"
        "def f():\n"
        "    mods['builtins'].sorted = __builtins__['len'] = lambda *a: 99\n"
        "    json.loads = json.dumps = random.Random = lambda *a: 'poisoned'\n"
        "    sys.modules['json'] = sys.modules['math'] = None\n"
        "    return [len('ab')]\n"
    )
    assert sandbox.run(Job(poison, (Call("f", ""),)))[0].value == "[99]"
    assert sandbox.run(HONEST)[0].value == "[5, 2]"


def test_no_attack_leaves_a_process(sandbox: Sandbox) -> None:
    loops = Job("def f():\n    while True: pass\n", (Call("f", ""),), ATTACKS[-1].limits)
    quick = Job(loops.source, loops.calls, type(loops.limits)(wall_seconds=0.2))
    assert [outcome.kind for (outcome,) in sandbox.map([quick] * 4)] == ["wall_timeout"] * 4
    deadline = time.monotonic() + 5
    while len(descendants := psutil.Process().children(recursive=True)) > 4 and time.monotonic() < deadline:
        sandbox.run(HONEST)  # the zygote collects the dead when it is next spoken to
    assert len(descendants) <= 4, descendants  # bwrap, the zygote and two warm children


def test_canaries(sandbox: Sandbox) -> None:
    results = self_test(sandbox)
    assert len(results) >= 12
    assert all(result.contained for result in results), results
    assert all(sandbox.facts()["canaries"].values())


def test_the_expectations_notice_a_missing_wall() -> None:
    names = ("read passwd", "list root", "pipe", "memfd", "read own source")
    harmless = [attack for attack in ATTACKS if attack.name in names]
    with Sandbox("unsafe", workers=1) as unsafe:
        (refusal,) = self_test(unsafe)
        outcomes = unsafe.map([Job(attack.source, (Call("f", ""),), attack.limits) for attack in harmless])
    assert not refusal.contained
    assert all(a.expected not in (o.kind, o.error) for a, (o,) in zip(harmless, outcomes, strict=True))


def test_seccomp_alone_is_not_the_only_wall(sandbox: Sandbox) -> None:
    """The zygote, which has no strict filter, is itself confined."""
    facts = sandbox.facts()
    assert facts["layers"]["landlock"] > 0 or facts["backend"] == "bubblewrap"
    processes = psutil.Process().children(recursive=True)
    for process in processes:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a child that has just ended
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if status["Name"] == "bwrap" or status["State"].startswith("Z"):
            continue
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert int(status["Uid"].split()[0]) != 0
