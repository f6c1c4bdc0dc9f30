"""Checkpoints are complete or absent: through kill -9, damage and a full disk."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from store_helpers import crash_at, damage, in_limited_child, kill_after, names, start
from store_writer import make_files

from spadelab.errors import UserError
from spadelab.store import checkpoints
from spadelab.store.files import write_file


def test_checkpoint_returns_what_was_saved_and_keeps_the_newest(tmp_path: Path) -> None:
    assert checkpoints.latest(tmp_path) is None
    for cycle in (1, 2, 3):
        files = {
            "a.bin": b"%d" % cycle,
            "b.bin": lambda path, c=cycle: path.write_bytes(b"by function %d" % c),
        }
        folder = checkpoints.save(tmp_path, cycle, files, keep=2, replicas=2)
    found = checkpoints.latest(tmp_path)
    assert found == checkpoints.Checkpoint(3, folder)
    assert (folder / "a.bin").read_bytes() == b"3"
    assert (folder / "b.bin").read_bytes() == b"by function 3"
    assert names(tmp_path) == ["000002", "000002-2", "000003", "000003-2"]


def test_checkpoints_survive_kill_9_at_any_moment(tmp_path: Path) -> None:
    pause = random.Random(1)
    promised, leftovers = 0, 0
    for _ in range(20):
        lines = kill_after(start("checkpoints", tmp_path), pause.randint(1, 2), pause.random())
        promised = max([promised, *map(int, lines)])
        leftovers += any(name.startswith("tmp-") for name in names(tmp_path))
        found = checkpoints.latest(tmp_path)
        assert found
        assert found.warnings == ()
        assert found.cycle >= promised
        assert {
            path.name: path.read_bytes()
            for path in found.folder.iterdir()
            if path.name != checkpoints.MANIFEST
        } == make_files(found.cycle)
    assert promised >= 20
    assert leftovers > 0, "no kill fell inside a checkpoint"
    checkpoints.clean(tmp_path)
    assert not any(name.startswith("tmp-") for name in names(tmp_path))


@pytest.mark.parametrize(("cycle", "keep"), [(2, 1), (3, 2)])
def test_no_step_of_saving_is_without_a_good_checkpoint(tmp_path: Path, cycle: int, keep: int) -> None:
    start_state = tmp_path / "start"
    for earlier in (1, 2):
        checkpoints.save(start_state, earlier, {"a": b"old", "b": b"old"}, keep, replicas=2)
    step, new = 1, 0
    while True:
        directory = tmp_path / f"{step}"
        shutil.copytree(start_state, directory)
        files = {"a": b"new", "b": b"new"}
        crashed = crash_at(step, lambda d=directory, f=files: checkpoints.save(d, cycle, f, keep, replicas=2))
        found = checkpoints.latest(directory)
        assert found, f"nothing left after a crash at step {step}"
        assert found.warnings == ()
        content = {(found.folder / name).read_bytes() for name in ("a", "b")}
        assert content in ({b"old"}, {b"new"})
        assert found.cycle == (cycle if content == {b"new"} else 2)
        new += content == {b"new"}
        if not crashed:
            break
        checkpoints.clean(directory)
        checkpoints.save(directory, cycle, {"a": b"again"}, keep, replicas=2)
        assert (directory / f"{cycle:06d}" / "a").read_bytes() == b"again"
        step += 1
    assert step > 20
    assert 1 < new < step, "the steps before and after the change must both be hit"
    kept = [f"{number:06d}" for number in range(cycle - keep + 1, cycle + 1)]
    assert names(directory) == sorted([*kept, *(f"{name}-2" for name in kept)])


@pytest.mark.parametrize(
    "hurt",
    [
        lambda folder: damage(folder / "weights"),
        lambda folder: (folder / "weights").write_bytes(b""),
        lambda folder: (folder / "state").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"format": 1, "cyc'),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: shutil.copy(folder.with_name("000001") / "manifest.json", folder),
    ],
)
def test_damaged_checkpoint_falls_back_with_a_warning(tmp_path: Path, hurt: Callable[[Path], object]) -> None:
    for cycle in (1, 2):
        checkpoints.save(tmp_path, cycle, make_files(cycle))
    hurt(tmp_path / "000002")
    found = checkpoints.latest(tmp_path)
    assert found
    assert found.cycle == 1
    assert len(found.warnings) == 1
    assert str(tmp_path / "000002") in found.warnings[0]


def test_damaged_copy_falls_back_to_the_replica_first(tmp_path: Path) -> None:
    for cycle in (1, 2):
        checkpoints.save(tmp_path, cycle, make_files(cycle), replicas=2)
    damage(tmp_path / "000002/weights")
    found = checkpoints.latest(tmp_path)
    assert found
    assert found.folder == tmp_path / "000002-2"
    assert len(found.warnings) == 1


def test_all_damaged_is_an_error_not_a_new_start(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, 1, make_files(1))
    damage(tmp_path / "000001/state")
    with pytest.raises(UserError, match="all checkpoints are damaged"):
        checkpoints.latest(tmp_path)


def test_a_damaged_checkpoint_does_not_push_out_a_good_one(tmp_path: Path) -> None:
    for cycle in (1, 2):
        checkpoints.save(tmp_path, cycle, make_files(cycle), keep=2)
    damage(tmp_path / "000002/weights")
    checkpoints.save(tmp_path, 3, make_files(3), keep=2)
    assert names(tmp_path) == ["000001", "000003"]


def test_saving_again_after_a_fallback_replaces_the_abandoned_course(tmp_path: Path) -> None:
    for cycle in (1, 2, 3):
        checkpoints.save(tmp_path, cycle, make_files(cycle), keep=3)
    checkpoints.save(tmp_path, 2, {"other": b"x"}, keep=3)
    assert names(tmp_path) == ["000001", "000002"]
    assert names(tmp_path / "000002") == ["manifest.json", "other"]


def test_checkpoint_file_names_stay_inside(tmp_path: Path) -> None:
    for name in ("../escape", "/tmp/escape", "manifest.json", "a/b"):
        with pytest.raises(ValueError, match="not a name"):
            checkpoints.save(tmp_path / "c", 1, {name: b""})
    assert names(tmp_path / "c") == []


def write_to_full_device(_path: Path) -> None:
    Path("/dev/full").write_bytes(b"x")


def raise_like_native_code(_path: Path) -> None:
    raise RuntimeError("I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("writer", [write_to_full_device, raise_like_native_code])
def test_full_disk_leaves_the_earlier_checkpoint(tmp_path: Path, writer: Callable[[Path], None]) -> None:
    checkpoints.save(tmp_path, 1, make_files(1), keep=1)
    with pytest.raises(UserError, match="no space left for the checkpoint of cycle 2"):
        checkpoints.save(tmp_path, 2, {"small": b"x", "weights": writer}, keep=1)
    assert names(tmp_path) == ["000001"]
    assert checkpoints.latest(tmp_path) == checkpoints.Checkpoint(1, tmp_path / "000001")


def test_other_errors_of_a_writer_are_not_called_a_full_disk(tmp_path: Path) -> None:
    def fail(_path: Path) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        checkpoints.save(tmp_path, 1, {"weights": fail})
    assert names(tmp_path) == []


def test_real_writes_beyond_a_limit_leave_everything_intact(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints"
    checkpoints.save(directory, 1, make_files(1), keep=1)
    message = in_limited_child(
        lambda: checkpoints.save(directory, 2, make_files(2), keep=1) and None, 100_000
    )
    assert "no space left for the checkpoint of cycle 2" in message
    assert names(directory) == ["000001"]
    assert checkpoints.find_damage(directory / "000001") == ""

    path = tmp_path / "file"
    write_file(path, b"older")
    with path.open("rb") as reader:
        write_file(path, b"old")
        assert reader.read() == b"older", "a reader must see one content or the other, not a mixture"
    message = in_limited_child(lambda: write_file(path, bytes(200_000)), 100_000)
    assert "no space left" in message
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["checkpoints", "file"]
