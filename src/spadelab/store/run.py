"""A run: its folder, database, metrics, log, checkpoints and data files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError
from sqlalchemy import Engine, Row, Table, insert, select
from sqlalchemy.dialects import sqlite

from spadelab.config import Settings
from spadelab.errors import UserError
from spadelab.records import Admission, Environment, Episode
from spadelab.store import checkpoints
from spadelab.store import database as db
from spadelab.store.files import encode_json, is_full, write_file, write_jsonl
from spadelab.store.lock import Lock
from spadelab.store.records_io import (
    StoredAdmission,
    StoredCycle,
    StoredEpisode,
    decode_environment,
    decode_episode,
    encode_admission,
    encode_environment,
    encode_episode,
)
from spadelab.store.registration import DATABASE, LOCK, SETTINGS, make_folder, register

METRICS = "metrics.jsonl"
LOG = "log.txt"


class Run:
    """One run's folder. Make it with `create` (new or again) or `open`; close it, or use `with`."""

    def __init__(self, path: Path, engine: Engine, lock: Lock | None) -> None:
        self.path = path
        self._engine = engine
        self._lock = lock
        with db.begin(engine) as connection:
            row = connection.execute(select(db.RUN)).one_or_none()
        if row is None:
            raise UserError(f"{path}: this folder holds no complete run; start the run again.")
        self.facts: dict[str, Any] = json.loads(row.facts)
        self.versions: dict[str, str] = json.loads(row.versions)
        try:
            self.settings = Settings.model_validate_json(row.settings)
        except ValidationError:
            raise UserError(
                f"{path}: the run was made by spadelab {self.versions.get('spadelab')} with settings that "
                "this version does not know; use that version or choose another run.name."
            ) from None

    @staticmethod
    def exists(settings: Settings) -> bool:
        """Whether a run of this name is in the directory already."""
        return (settings.run_path / DATABASE).exists()

    @classmethod
    def create(cls, settings: Settings, facts: Mapping[str, Any] | None = None) -> Self:
        """Start a run, or open it to go on when it exists with the same settings.

        Budgets, the number of cycles and checkpoint habits may differ, the new ones are kept.
        `facts` describes the sandbox and whatever else explains results. Raises UserError when the
        name is taken by other settings (the first difference is named), another process or other files.
        """
        path = settings.run_path
        make_folder(path)
        with ExitStack() as undo:
            lock = Lock(path / LOCK)
            undo.callback(lock.release)
            engine = db.open_database(path / DATABASE)
            undo.callback(engine.dispose)
            with db.begin(engine) as connection:
                register(connection, path, settings, facts or {})
            write_file(path / SETTINGS, (settings.model_dump_json(indent=2) + "\n").encode())
            run = cls(path, engine, lock)
            undo.pop_all()
            return run

    @classmethod
    def open(cls, path: str | Path, *, writable: bool = True) -> Self:
        """Open the run in this folder, to go on or, with `writable=False`, to read while it runs.

        Raises UserError when there is no run or, if writable, when another process works on it.
        """
        folder = Path(path)
        if not (folder / DATABASE).is_file():
            raise UserError(f"{folder}: there is no run in this folder ({DATABASE} is missing).")
        with ExitStack() as undo:
            lock = Lock(folder / LOCK) if writable else None
            if lock:
                undo.callback(lock.release)
            engine = db.open_database(folder / DATABASE)
            undo.callback(engine.dispose)
            run = cls(folder, engine, lock)
            undo.pop_all()
            return run

    def restore(self) -> checkpoints.Checkpoint | None:
        """Return the newest good checkpoint and take the records back to it; None: start at the beginning.

        Call it once before the first cycle. What a crash left behind is removed, what is damaged is
        warned of in the log and in the checkpoint's `warnings`. Raises UserError when all are damaged.
        """
        directory = self.path / "checkpoints"
        checkpoints.clean(directory)
        found = checkpoints.latest(directory)
        cycle = found.cycle if found else -1
        for warning in found.warnings if found else ():
            self.log(warning)
        checkpoints.discard_after(directory, cycle)
        with db.begin(self._engine) as connection:
            for table in db.BY_CYCLE:
                connection.execute(table.delete().where(table.c.cycle > cycle))
        lines = [_metrics_line(c.cycle, c.metrics, c.timings) for c in self.iter_cycles()]
        write_file(self.path / METRICS, "".join(lines).encode())
        return found

    def record_cycle(
        self,
        cycle: int,
        metrics: Mapping[str, Any],
        admissions: Sequence[Admission],
        episodes: Sequence[Episode],
        timings: Mapping[str, Any] | None = None,
        environments: Iterable[Environment] = (),
    ) -> None:
        """Store all that happened in a cycle in one transaction, in place of what was there from it on.

        `metrics` must be the same whenever the cycle is done again; durations belong in `timings`.
        `environments` are those of episodes that no draft of this run brought (seeds, fixed sets).
        Raises UserError when the disk is full; nothing of the cycle is stored then.
        """
        born = [admission.environment for admission in admissions if admission.environment]
        rows = [
            (insert(db.ADMISSIONS), [encode_admission(cycle, i, a) for i, a in enumerate(admissions)]),
            (
                # An environment that was met before keeps its first row.
                sqlite.insert(db.ENVIRONMENTS).on_conflict_do_nothing(),
                [encode_environment(cycle, i, e) for i, e in enumerate([*born, *environments])],
            ),
            (insert(db.EPISODES), [encode_episode(cycle, i, e) for i, e in enumerate(episodes)]),
        ]
        stored = {"metrics": encode_json(dict(metrics)), "timings": encode_json(dict(timings or {}))}
        with db.begin(self._engine) as connection:
            for table in db.BY_CYCLE:
                connection.execute(table.delete().where(table.c.cycle >= cycle))
            connection.execute(insert(db.CYCLES).values(cycle=cycle, **stored))
            for statement, values in rows:
                if values:
                    connection.execute(statement, values)
        self._append(METRICS, _metrics_line(cycle, dict(metrics), dict(timings or {})))

    def save_checkpoint(self, cycle: int, files: Mapping[str, bytes | Callable[[Path], None]]) -> Path:
        """Write the state after `cycle` (see `checkpoints.save`). Raises UserError when the disk is full."""
        habits = self.settings.run
        directory = self.path / "checkpoints"
        folder = checkpoints.save(directory, cycle, files, habits.keep_checkpoints, habits.replicas)
        values = {"folder": folder.name, "created": _now()}
        with db.begin(self._engine) as connection:
            connection.execute(db.CHECKPOINTS.delete().where(db.CHECKPOINTS.c.cycle >= cycle))
            connection.execute(insert(db.CHECKPOINTS).values(cycle=cycle, **values))
        return folder

    def log(self, message: str) -> None:
        """Add a line with the time of day to log.txt."""
        self._append(LOG, f"{_now()} {message}\n")

    def write_data(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        """Write data/`name`.jsonl in place of an earlier one and return its path."""
        path = self.path / "data" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        write_jsonl(path, rows)
        return path

    def iter_cycles(self) -> Iterator[StoredCycle]:
        """All cycles in order."""
        for row in self._iter_rows(db.CYCLES):
            yield StoredCycle(row.cycle, json.loads(row.metrics), json.loads(row.timings))

    def iter_admissions(self) -> Iterator[StoredAdmission]:
        """All drafts, in the order of cycles and within them."""
        for row in self._iter_rows(db.ADMISSIONS):
            values = row._asdict()
            del values["timings"]
            yield StoredAdmission(**{**values, "checks": tuple(json.loads(row.checks))})

    def iter_environments(self) -> Iterator[Environment]:
        """All environments, in the order in which they were first met."""
        for row in self._iter_rows(db.ENVIRONMENTS):
            yield decode_environment(row.content)

    def iter_episodes(self) -> Iterator[StoredEpisode]:
        """All episodes, in the order of cycles and within them."""
        for row in self._iter_rows(db.EPISODES):
            yield decode_episode(row._asdict())

    def digest(self) -> str:
        """SHA-256 over every compared column: equal for a resumed and an uninterrupted run."""
        digest = hashlib.sha256()
        for table in (db.CYCLES, db.ADMISSIONS, db.ENVIRONMENTS, db.EPISODES):
            columns = [column.name for column in table.c if column.name not in db.NOT_COMPARED]
            for row in self._iter_rows(table):
                digest.update(encode_json([row._mapping[name] for name in columns]).encode())
        return digest.hexdigest()

    def close(self) -> None:
        """Close the database and let other processes in."""
        self._engine.dispose()
        if self._lock:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _iter_rows(self, table: Table) -> Iterator[Row[Any]]:
        order = [table.c[name] for name in ("cycle", "position") if name in table.c]
        with db.begin(self._engine) as connection:
            yield from connection.execution_options(yield_per=1000).execute(select(table).order_by(*order))

    def _append(self, name: str, line: str) -> None:
        try:
            with (self.path / name).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line)
        except OSError as error:
            if is_full(error, self.path):
                raise UserError(
                    f"{self.path / name}: no space left to write it; free some space and resume the run."
                ) from error
            raise


def _metrics_line(cycle: int, metrics: dict[str, Any], timings: dict[str, Any]) -> str:
    return encode_json({"cycle": cycle, **metrics, "timings": timings}) + "\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
