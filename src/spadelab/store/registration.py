"""Giving a run its folder and its row, or recognising that it has them already."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from spadelab.config import Settings
from spadelab.errors import UserError
from spadelab.store import database as db
from spadelab.store.files import encode_json

DATABASE = "run.sqlite"
SETTINGS = "settings.json"
LOCK = "lock"
FIRST_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", LOCK)
PACKAGES = ("spadelab", "torch", "transformers", "numpy", "sympy", "safetensors")
# What may change when a run goes on: how long, where and how safely, never what is computed.
FREE_KEYS = {
    "run": {"minutes", "cpu_seconds", "directory", "checkpoint_every", "keep_checkpoints", "replicas"},
    "self_play": {"iterations", "rounds_per_iteration"},
}


def make_folder(path: Path) -> None:
    """Make the run's folder. Raises UserError when it cannot be made or holds other files than a run's."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path}: the run's folder cannot be made ({error.strerror}); choose another run.directory."
        ) from None
    others = sorted(entry.name for entry in path.iterdir() if entry.name not in FIRST_FILES)
    if others and not (path / DATABASE).exists():
        raise UserError(
            f"{path}: the folder holds {others[0]} but no run; choose another run.name or remove the folder."
        )


def register(connection: Connection, path: Path, settings: Settings, facts: Mapping[str, Any]) -> None:
    """Write the run's row, or check that the one there has the same settings but for the free ones.

    Raises UserError with the first setting that differs.
    """
    row = connection.execute(select(db.RUN.c.settings)).one_or_none()
    if row is not None:
        _compare_settings(path, json.loads(row.settings), settings)
        connection.execute(db.RUN.update().values(settings=settings.model_dump_json()))
        return
    connection.execute(
        insert(db.RUN).values(
            id=1,
            settings=settings.model_dump_json(),
            versions=encode_json({"python": platform.python_version(), **read_versions()}),
            facts=encode_json(dict(facts)),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    )


def read_versions() -> dict[str, str]:
    """Installed versions of what results depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _compare_settings(path: Path, old: dict[str, Any], settings: Settings) -> None:
    new = settings.model_dump(mode="json")
    for section, values in new.items():
        for key, value in values.items():
            before = old.get(section, {}).get(key)
            if before != value and key not in FREE_KEYS.get(section, ()):
                raise UserError(
                    f"{path}: this run exists with {section}.{key} {encode_json(before)}, not "
                    f"{encode_json(value)}; choose another run.name or use the run's own {SETTINGS}."
                )
