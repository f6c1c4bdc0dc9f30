"""Files that are either complete or absent, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spadelab.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_WORDS = ("No space left", "disk is full", "quota exceeded", "File too large")
SPARE_BYTES = 65536


def is_full(error: BaseException, folder: Path) -> bool:
    """Whether the error means that the folder's disk, quota or file size limit is used up.

    Libraries that write in native code hide the number of the error, so text and free space count too.
    """
    if isinstance(error, OSError):
        return error.errno in FULL
    return any(word in str(error) for word in FULL_WORDS) or shutil.disk_usage(folder).free < SPARE_BYTES


def sync_path(path: Path) -> None:
    """Force a file or a folder's entries to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes) -> None:
    """Replace the file in one step: readers see the old content or the new, also after a crash.

    Raises UserError when the disk is full; the old content stays.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        sync_path(temporary)
        temporary.replace(path)
        sync_path(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if is_full(error, path.parent):
            raise UserError(f"{path}: no space left to write it; free some and run again.") from error
        raise


def encode_json(value: Any) -> str:
    """One line of strict JSON in ASCII; numbers that JSON lacks (NaN, infinities) become null.

    ASCII, because text from a model may hold lone surrogates, which UTF-8 cannot express.
    """
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_replace_non_finite(value), allow_nan=False)


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {key: _replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    return value


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object a line, all or nothing; return how many. Raises UserError on a full disk."""
    lines = [encode_json(row) for row in rows]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)
