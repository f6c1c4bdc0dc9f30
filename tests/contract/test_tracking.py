"""TensorBoard events: every number of every cycle, read back by TensorBoard itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from spadelab.errors import UserError
from spadelab.store.tracking import Tracker, flatten

METRICS = {"valid": 0.5, "target": {"deduction": 5}, "rejections": {}, "name": "x", "bins": [1, 2]}


def test_numbers_keep_their_paths() -> None:
    assert dict(flatten(METRICS)) == {"valid": 0.5, "target/deduction": 5.0}


def read(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder)).Reload()


def test_a_resumed_run_replaces_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    first = Tracker(tmp_path, 0)
    for cycle in range(4):
        first.record(cycle, {**METRICS, "valid": cycle})
    first.close()
    second = Tracker(tmp_path, 2)
    second.record(2, {**METRICS, "valid": 20})
    second.close()
    events = read(tmp_path)
    assert set(events.Tags()["scalars"]) == {"valid", "target/deduction"}
    assert [(e.step, e.value) for e in events.Scalars("valid")] == [(0, 0.0), (1, 1.0), (2, 20.0)]


def test_without_tensorboard_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'spadelab\[track\]'"):
        Tracker(tmp_path, 0)
