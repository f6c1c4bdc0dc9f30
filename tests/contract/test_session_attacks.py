"""A program that stays may attack between two calls: each later call has the same typed outcome for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spadelab.sandbox import Call, Limits, Sandbox

HEAD = """
import random
os = random._os
zygote = os.sys.modules["jail.zygote"]
read = zygote._read_request
def frame(**fields):
    text = os.sys.modules["json"].dumps(fields).encode()
    return len(text).to_bytes(4, "little") + text
def before_next(action):
    def hook():
        action()
        return read()
    zygote._read_request = hook
"""
# What `f` leaves to be done before the next call, and the kind of outcome that later calls have. The words of
# a protocol error depend on whether the host had asked already.
ATTACKS = {
    "surplus answer": (
        "before_next(lambda: os.write(3, frame(id='', kind='value', value='9')))",
        "protocol_error",
    ),
    "surplus garbage": ("before_next(lambda: os.write(3, b'\\xff' * 9))", "protocol_error"),
    "late surplus": (
        "before_next(lambda: [os.sys.modules['time'].sleep(0.05), os.write(3, b'\\xff' * 9)])",
        "protocol_error",
    ),
    "exit": ("before_next(lambda: os._exit(0))", "crash"),
    "fall": ("before_next(lambda: os.sys.modules['ctypes'].string_at(0))", "crash"),
    "close and go on": (
        "before_next(lambda: [os.close(3), os.sys.modules['time'].sleep(9)])",
        "protocol_error",
    ),
    "wait": (
        "before_next(lambda: os.sys.modules['time'].sleep(9))",
        "wall_timeout",
    ),
    "cut off the channel": ("before_next(lambda: os.read(3, 2))", "wall_timeout"),
}


@pytest.fixture(scope="module", params=("bubblewrap", "landlock"))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(request.param, workers=1, allowed_packages=(), canaries=False) as opened:
        yield opened


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_between_calls(name: str, sandbox: Sandbox) -> None:
    code, after = ATTACKS[name]
    source = f"{HEAD}\ndef f():\n    {code}\n    return 1\n"
    with sandbox.open(source, Limits(wall_seconds=0.5, memory_mb=96)) as child:
        outcomes = [child.call(Call("f", "")) for _ in range(3)]
    assert (outcomes[0].kind, outcomes[0].value) == ("value", "1")
    assert {outcome.kind for outcome in outcomes[1:]} == {after}
    with sandbox.open("def f():\n    return 2\n") as child:
        assert child.call(Call("f", "")).value == "2"
