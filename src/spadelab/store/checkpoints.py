"""Checkpoints: folders that are complete or absent, checked by checksums, kept in several copies.

`NNNNNN` is the checkpoint after cycle N, `NNNNNN-2` its second copy. A folder gets its name only
after all its files are on the disk, so whatever is called `tmp-*` is the remains of a crash.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spadelab.errors import UserError
from spadelab.store.files import is_full, sync_path

MANIFEST = "manifest.json"
FORMAT = 1
SPARE = 99  # the number of a copy that stands in while another one is replaced


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint. `warnings` has one sentence for each newer or better copy that was damaged."""

    cycle: int
    folder: Path
    warnings: tuple[str, ...] = ()


def save(
    directory: Path,
    cycle: int,
    files: Mapping[str, bytes | Callable[[Path], None]],
    keep: int = 2,
    replicas: int = 1,
) -> Path:
    """Write the checkpoint after `cycle` in `replicas` copies and return the first copy's folder.

    `files` maps names to contents, or to functions that write the file at the path they get. Keeps
    the newest `keep` undamaged checkpoints; those of later cycles belong to an abandoned course and go.
    Raises UserError when the disk is full: then all earlier checkpoints are as they were.
    """
    directory.mkdir(parents=True, exist_ok=True)
    folder = directory / f"{cycle:06d}"
    temporary = directory / f"tmp-{folder.name}-{os.getpid()}"
    try:
        for copy in range(1, replicas + 1):
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            if copy == 1:
                _fill(temporary, cycle, files)
            else:
                _duplicate(folder, temporary)
            _install(temporary, folder if copy == 1 else folder.with_name(f"{folder.name}-{copy}"))
    except Exception as error:
        if is_full(error, directory):
            raise UserError(
                f"{directory}: no space left for the checkpoint of cycle {cycle}; earlier checkpoints "
                "are intact, free some space and resume the run."
            ) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _prune(directory, cycle, keep)
    return folder


def latest(directory: Path) -> Checkpoint | None:
    """The newest checkpoint whose checksums hold, None when there is none at all.

    Damaged folders are passed over, first for another copy, then for an earlier cycle, with a warning
    each. Raises UserError when checkpoints exist but every one is damaged.
    """
    warnings: list[str] = []
    for cycle, folder in reversed(_list_folders(directory)):
        damage = find_damage(folder)
        if not damage:
            return Checkpoint(cycle, folder, tuple(warnings))
        warnings.append(f"Checkpoint {folder} is damaged ({damage}); using an earlier copy instead.")
    if warnings:
        raise UserError(
            f"{directory}: all checkpoints are damaged, the run cannot be resumed; "
            "restore the folder from a backup or choose another run.name."
        )
    return None


def find_damage(folder: Path) -> str:
    """What is wrong with a checkpoint in a few words, "" when all its checksums hold."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] != FORMAT or manifest["cycle"] != int(folder.name.partition("-")[0]):
            return f"{MANIFEST} belongs to another checkpoint"
        for name, digest in manifest["sha256"].items():
            if _hash_file(folder / name) != digest:
                return f"{name} does not match its checksum"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST} is not readable"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except OSError as error:
        return f"{error.filename} cannot be read: {error.strerror}"
    return ""


def clean(directory: Path) -> None:
    """Remove what crashes left behind. Only the process that owns the run may call it."""
    for leftover in directory.glob("tmp-*"):
        shutil.rmtree(leftover)


def discard_after(directory: Path, cycle: int) -> None:
    """Remove all checkpoints of cycles after `cycle`."""
    for number, folder in _list_folders(directory):
        if number > cycle:
            shutil.rmtree(folder)


def _fill(folder: Path, cycle: int, files: Mapping[str, bytes | Callable[[Path], None]]) -> None:
    digests = {}
    for name, content in files.items():
        path = folder / name
        if path.parent != folder or name == MANIFEST:
            raise ValueError(f"not a name for a checkpoint file: {name!r}")
        if isinstance(content, bytes):
            path.write_bytes(content)
            digests[name] = hashlib.sha256(content).hexdigest()
        else:
            content(path)
            digests[name] = _hash_file(path)
        sync_path(path)
    manifest = {"format": FORMAT, "cycle": cycle, "sha256": digests}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    sync_path(folder / MANIFEST)


def _duplicate(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        shutil.copyfile(path, target / path.name)
        sync_path(target / path.name)


def _install(temporary: Path, folder: Path) -> None:
    sync_path(temporary)
    if folder.exists():
        # Saved again: the old one stays valid, as a spare copy, until the new one has its name.
        spare = folder.with_name(f"{folder.name.partition('-')[0]}-{SPARE}")
        if spare.exists():
            shutil.rmtree(spare)
        folder.rename(spare)
        temporary.rename(folder)
        sync_path(folder.parent)
        shutil.rmtree(spare)
    else:
        temporary.rename(folder)
        sync_path(folder.parent)


def _prune(directory: Path, cycle: int, keep: int) -> None:
    discard_after(directory, cycle)
    copies: dict[int, list[Path]] = {}
    for number, folder in reversed(_list_folders(directory)):
        copies.setdefault(number, []).append(folder)
    good = 0
    for number, folders in copies.items():
        # The one just written needs no check; a damaged one must not push out a good one.
        if good < keep and (number == cycle or not all(find_damage(folder) for folder in folders)):
            good += 1
            continue
        for folder in folders:
            shutil.rmtree(folder)


def _list_folders(directory: Path) -> list[tuple[int, Path]]:
    """All checkpoint folders, oldest first; of one cycle the first copy comes last."""
    found = []
    for path in directory.glob("*"):
        match = re.fullmatch(r"(\d{6,})(?:-(\d+))?", path.name)
        if match and path.is_dir():
            found.append((int(match[1]), -int(match[2] or 1), path))
    return [(cycle, path) for cycle, _, path in sorted(found)]


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
