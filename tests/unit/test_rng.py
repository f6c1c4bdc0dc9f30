"""Random streams: independent, reproducible, restorable."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from spadelab.rng import Streams

PINNED = (1139649923, 3004945052, 980691118)


def draw(streams: Streams, name: str = "a") -> tuple[object, ...]:
    return (
        streams.python(name).random(),
        streams.python(name).gauss(0, 1),
        float(streams.numpy(name).random()),
        int(streams.numpy(name).integers(10, dtype="uint32")),
        torch.rand(3, generator=streams.torch(name)).tolist(),
    )


def test_same_seed_same_numbers_whatever_the_order() -> None:
    one, other = Streams(7), Streams(7)
    other.numpy("new")
    draw(other, "b")
    assert draw(one) == draw(other)


def test_pinned_numbers() -> None:
    """A change here breaks every recorded run."""
    streams = Streams(0)
    assert streams.python("pin").getrandbits(32) == PINNED[0]
    assert int(streams.numpy("pin").integers(2**32)) == PINNED[1]
    assert int(torch.randint(2**31, (), generator=streams.torch("pin"))) == PINNED[2]


def test_names_seeds_and_libraries_are_independent() -> None:
    values = [
        Streams(1).python("a").random(),
        Streams(1).python("b").random(),
        Streams(2).python("a").random(),
        float(Streams(1).numpy("a").random()),
        float(torch.rand((), generator=Streams(1).torch("a"), dtype=torch.float64)),
        Streams(11).python("").random(),
        Streams(1).python("1").random(),
    ]
    assert len(set(values)) == len(values)


def test_a_stream_is_kept() -> None:
    streams = Streams(1)
    assert streams.python("a") is streams.python("a")
    assert streams.numpy("a") is streams.numpy("a")
    assert streams.torch("a") is streams.torch("a")


def test_restore_into_the_same_and_into_a_new_object() -> None:
    streams = Streams(3)
    draw(streams)
    held = streams.python("a")
    state = json.loads(json.dumps(streams.state()))
    expected = draw(streams)
    draw(streams)
    streams.restore(state)
    assert held is streams.python("a")
    assert draw(streams) == expected
    fresh = Streams(3)
    fresh.restore(state)
    assert draw(fresh) == expected


def test_streams_younger_than_the_state_start_again() -> None:
    streams = Streams(3)
    state = streams.state()
    first = draw(streams)
    draw(streams)
    streams.restore(state)
    assert draw(streams) == first


def test_another_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed 3"):
        Streams(4).restore(Streams(3).state())


def test_no_torch_until_asked_and_no_dependence_on_the_hash_seed() -> None:
    code = (
        "import sys; from spadelab.rng import Streams; s = Streams(5);"
        "print(s.python('a').random(), s.numpy('a').random(), 'torch' in sys.modules)"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].endswith(b"False\n")
