"""The remote backend against a real HTTP service that runs what it is sent in real processes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from fusion_server import FAULTS, FusionServer

from spadelab.command.sandbox_doctor import examine
from spadelab.environments.interactive.contract import read_manifest
from spadelab.environments.interactive.session import ask, open_sessions, step_sessions
from spadelab.environments.library import library_source, list_library
from spadelab.environments.syntax import parse_program
from spadelab.records import Environment
from spadelab.sandbox import Call, Job, Limits, Outcome, Sandbox, SandboxUnavailable, make_sandbox
from spadelab.sandbox.parcel import Parcel
from spadelab.sandbox.remote import RemoteSandbox
from spadelab.sandbox.service import Result

REACH = "import random\nos = random._os\n"
QUICK = Limits(wall_seconds=0.5, cpu_seconds=5)
ONE = (Call("f", ""),)
PROGRAMS = {
    "arguments": Job(
        "def f(x, y):\n    return {x: [y, 1.5, None]}\n", (Call("f", "'ä', (1,)"), Call("f", "1, 2"))
    ),
    "print": Job("print('top')\ndef f():\n    print('in', 'f')\n", ONE),
    "raise": Job("def f(x):\n    return 1 / x\n", (Call("f", "0"), Call("f", "2"), Call("g", ""))),
    "syntax": Job("def f(:\n", (*ONE, *ONE)),
    "trace": Job("def f(x):\n    y = x + 1\n    return y\n", (Call("f", "1", trace=True),)),
    "no arguments": Job("def f():\n    return 1\n", (Call("f", "g()"),)),
    "surrogate": Job("def f(x):\n    return 1\n", (Call("f", "'\ud800'"),)),
    "for ever": Job("def f():\n    while True: pass\n", (*ONE, *ONE), QUICK),
    "memory": Job("def f():\n    return len(bytearray(1 << 30))\n", ONE),
    "print much": Job("def f():\n    while True: print('x' * 999)\n", ONE),
    "long result": Job("def f():\n    return 'x' * 70000\n", ONE),
    "leave": Job(f"{REACH}def f():\n    os._exit(0)\n", ONE),
    "crash": Job(f"{REACH}def f():\n    os.sys.modules['ctypes'].string_at(0)\n", ONE),
    "object": Job("def f():\n    return f\n", ONE),
    "garbage": Job(f"{REACH}def f():\n    os.write(3, b'\\xff' * 8)\n", ONE),
    "half a frame": Job(f"{REACH}def f():\n    os.write(3, b'\\x10\\x00\\x00\\x00{{'); os._exit(3)\n", ONE),
    "wrong id": Job(
        f'{REACH}def f():\n    t = b\'{{"id": "x", "kind": "value", "value": "1"}}\'\n'
        "    os.write(3, len(t).to_bytes(4, 'little') + t)\n",
        ONE,
    ),
    "sets": Job("def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})\n", ONE),
    "other sets": Job("def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})\n", ONE, hash_seed=1),
    "packages": Job("import numpy\ndef f():\n    return int(numpy.arange(4).sum())\n", ONE),
    "forbidden": Job("import socket\n", ONE),
}


@pytest.fixture(scope="module")
def service() -> Iterator[FusionServer]:
    with FusionServer(isolated=True) as server:
        yield server


@pytest.fixture(scope="module")
def remote(service: FusionServer) -> Iterator[RemoteSandbox]:
    with RemoteSandbox(service.url, 2, ("numpy",)) as sandbox:
        yield sandbox


def timeless(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [replace(outcome, seconds=0.0) for outcome in outcomes]


def test_programs_end_as_they_do_in_a_local_jail(remote: RemoteSandbox) -> None:
    jobs = list(PROGRAMS.values())
    with Sandbox(workers=2, allowed_packages=("numpy",), canaries=False) as local:
        expected = dict(zip(PROGRAMS, map(timeless, local.map(jobs)), strict=True))
    before = remote.executions
    found = dict(zip(PROGRAMS, map(timeless, remote.map(jobs)), strict=True))
    assert {name: found[name] for name in PROGRAMS} == expected
    assert found["sets"] != found["other sets"]
    assert {outcome.kind for several in found.values() for outcome in several} == {
        *("value", "program_error", "wall_timeout", "memory", "output_limit", "crash", "protocol_error")
    }
    assert remote.executions == before + len(jobs)


def test_the_service_and_the_jail_in_it_are_both_proven(remote: RemoteSandbox) -> None:
    facts = remote.facts()
    assert facts["backend"] == "remote" and remote.isolated
    assert all(facts["canaries"].values()) and len(facts["canaries"]) >= 18
    assert "leave a file for the next run" in facts["canaries"] and "fork" in facts["canaries"]
    assert facts["layers"]["service_isolation"] and facts["layers"]["seccomp"] == "strict"


def test_the_doctor_tests_a_service(service: FusionServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert examine(service.url, None, True) == 0
    found = json.loads(capsys.readouterr().out)["backends"][service.url]
    assert found["works"] and all(found["canaries"].values()) and found["layers"]["service_isolation"]
    assert found["layers"]["seccomp"] == "strict"


def test_a_service_without_isolation_is_refused() -> None:
    with FusionServer(isolated=False) as open_house:
        with pytest.raises(SandboxUnavailable) as refusal:
            make_sandbox("remote", 1, (), url=open_house.url)
        assert "leave a file for the next run" in str(refusal.value)
        assert "leave a process for the next run" in str(refusal.value)
        assert "isolation: lite" in str(refusal.value)


def test_a_package_that_the_service_lacks_is_named(service: FusionServer) -> None:
    with pytest.raises(SandboxUnavailable, match="No module named 'no_such_package'"):
        RemoteSandbox(service.url, 1, ("no_such_package",))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_service_is_unavailable(service: FusionServer, remote: RemoteSandbox, fault: str) -> None:
    with pytest.raises(SandboxUnavailable, match=f"{service.url}/{fault}.*sandbox.url"):
        RemoteSandbox(f"{service.url}/{fault}")
    before, service.fault = service.requests, fault
    try:
        job = Job("def f():\n    return 1\n", (*ONE, *ONE))
        with pytest.raises(SandboxUnavailable, match=service.url):
            remote.run(job)
        assert service.requests == before + 2  # tried once more
        with pytest.raises(SandboxUnavailable, match=service.url):
            remote.open_many([job])
    finally:
        service.fault = ""


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "", "file:///etc/passwd", "http://name:word@host/"])
def test_an_address_without_a_service_is_an_error(url: str) -> None:
    with pytest.raises(SandboxUnavailable, match=r"sandbox\.url"):
        make_sandbox("remote", url=url)


def test_nothing_that_a_program_prints_reaches_the_answer(
    service: FusionServer, remote: RemoteSandbox
) -> None:
    source = f"{REACH}def f():\n    os.write(1, b'FORGED\\n'); os.write(2, b'FORGED\\n'); return 1\n"
    assert remote.run(Job(source, ONE))[0].value == "1"
    assert service.printed == ""


def test_long_answers_come_in_several_pieces(service: FusionServer, remote: RemoteSandbox) -> None:
    calls = tuple(Call("f", f"'{letter}'") for letter in "abcd")
    job = Job("def f(x):\n    return x * 60000\n", calls * 4)
    before = service.requests
    results = remote.map([job] * 10)
    assert [[o.value[1] for o in outcomes] for outcomes in results] == [list("abcd") * 4] * 10
    assert {len(o.value) for outcomes in results for o in outcomes} == {60002}
    assert service.requests - before > 2
    huge = Job(job.source, calls * 20)
    assert {outcome.kind for outcome in remote.run(huge)} == {"output_limit"}


def test_a_service_that_is_busy_or_starts_anew_is_waited_for() -> None:
    job = Job("def f():\n    return 1\n", ONE)
    with FusionServer(isolated=True) as service, RemoteSandbox(service.url, 1, (), canaries=False) as remote:
        service.busy = 2
        assert remote.run(job)[0].value == "1"
        assert service.requests == 4  # of the start, turned away twice, answered
        service.__exit__(None, None, None)
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(remote.run, job)
            time.sleep(0.2)  # it has been refused by then
            port = int(service.url.rpartition(":")[2])
            with FusionServer(isolated=True, port=port):
                assert waiting.result()[0].value == "1"


COUNTER = "n = 0\ndef step(x):\n    global n\n    n += x\n    return n\n"


def test_a_child_keeps_its_state(remote: RemoteSandbox) -> None:
    with remote.open(COUNTER) as child, remote.open(COUNTER) as other:
        assert [child.call(Call("step", "2")).value for _ in range(3)] == ["2", "4", "6"]
        pairs = [(child, Call("step", "1")), (other, Call("step", "1"))]
        assert [outcome.value for outcome in remote.call_many(pairs)] == ["7", "1"]
        assert [outcome.value for outcome in child.call_all([Call("step", "0")] * 3)] == ["7"] * 3
    with remote.open("def f():\n    while True: pass\n", QUICK) as child:
        assert [child.call(Call("f", "")).kind for _ in range(2)] == ["wall_timeout"] * 2


def test_a_program_that_does_not_replay_is_found_out(remote: RemoteSandbox) -> None:
    with remote.open("def f():\n    return id(object())\n") as child:
        assert child.call(Call("f", "")).kind == "value"
        second, third = child.call(Call("f", "")), child.call(Call("f", ""))
    assert second.kind == third.kind == "protocol_error"
    assert second.message.startswith("does not replay: call 1 gave ")


def test_environments_play_as_in_a_local_jail(remote: RemoteSandbox) -> None:
    instances = [(load(name), 5) for name in list_library()[:3]]
    transcripts = []
    with Sandbox(workers=1, canaries=False) as local:
        for sandbox in (local, remote):
            sessions = open_sessions(sandbox, instances, Limits())
            plans = ask(sandbox, sessions, "solution")
            for turn in range(2):
                step_sessions(
                    sandbox, [(s, p[turn]) for s, p in zip(sessions, plans, strict=True) if turn < len(p)]
                )
            transcripts.append([(s.opening, s.steps, s.fault) for s in sessions])
    assert transcripts[0] == transcripts[1] and all(fault is None for _, _, fault in transcripts[0])


def load(name: str) -> Environment:
    source = library_source(name)
    found = read_manifest(parse_program(source))
    return Environment(
        name, name, "interactive", found.skill, source, (), (), 1,
        entry=found.class_name, turns=found.max_turns, action_format=found.action_format,
    )  # fmt: skip


def result(received: bytes, end: str = "answered") -> Result:
    return Result(end, [], 0, False, 0.0, received)


def frame(text: str) -> bytes:
    return len(text).to_bytes(4, "little") + text.encode()


def test_what_a_hostile_service_reports_is_checked() -> None:
    parcel = Parcel(0, Job("", (Call("f", ""), Call("f", ""))))
    loaded = frame('{"id": "", "kind": "value"}')
    first, second = (frame(f'{{"id": "{name}", "kind": "value", "value": "1"}}') for name in parcel._names)
    good = parcel.read(result(first + second))
    assert [outcome.value for outcome in good.outcomes] == ["1", "1"] and good.ended is None
    assert [o.kind for o in parcel.read(result(first, "silent")).outcomes] == ["value", "wall_timeout"]
    failed = frame('{"id": "", "kind": "program_error", "error": "E"}')
    assert [o.error for o in parcel.read(result(failed)).outcomes] == ["E", "E"]
    for received in (
        second + first,
        loaded + first + second,
        first.replace(b'"1"', b'"f"') + second,
        b"\xff" * 8,
        first + failed,
        first + first,
        b"",
    ):
        report = parcel.read(result(received))
        assert report.ended is not None and report.ended.kind == "protocol_error"
        assert len(report.outcomes) == 2 and report.outcomes[-1] == report.ended
    alone = Parcel(0, Job("", ()))
    assert alone.read(result(loaded)).ended is None
    assert alone.read(result(loaded + loaded)).ended.kind == "protocol_error"
    for extra in (second, b"\x01"):
        report = parcel.read(result(first + second + extra))
        assert [o.kind for o in report.outcomes] == ["value"] * 2
        assert report.ended is not None and report.ended.kind == "protocol_error"
