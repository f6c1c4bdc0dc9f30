"""The tables of a run's database, and how it is opened.

Compared columns are equal in a resumed and in an uninterrupted run. Times of day and durations are
not, so they live in columns of their own: `timings` and `created`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
)
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, ProgrammingError

from spadelab.errors import UserError
from spadelab.store.files import is_full

TABLES = MetaData()

RUN = Table(
    "run",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("settings", String, nullable=False),
    Column("versions", String, nullable=False),
    Column("facts", String, nullable=False),
    Column("created", String, nullable=False),
)
CYCLES = Table(
    "cycles",
    TABLES,
    Column("cycle", Integer, primary_key=True),
    Column("metrics", String, nullable=False),
    Column("timings", String, nullable=False),
)
ADMISSIONS = Table(
    "admissions",
    TABLES,
    Column("cycle", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("draft", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("asked", Float, nullable=False),
    Column("code", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("environment", String),
    Column("text", String, nullable=False),
    Column("checks", String, nullable=False),
    Column("timings", String, nullable=False),
)
ENVIRONMENTS = Table(
    "environments",
    TABLES,
    Column("id", String, primary_key=True),
    Column("cycle", Integer, nullable=False, index=True),
    Column("position", Integer, nullable=False),
    Column("key", String, nullable=False, index=True),
    Column("family", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("difficulty", Integer, nullable=False),
    Column("content", String, nullable=False),
)
EPISODES = Table(
    "episodes",
    TABLES,
    Column("cycle", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("environment", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("reward", Float, nullable=False),
    Column("fault", Boolean, nullable=False),
    Column("reason", String, nullable=False),
    Column("finish", String, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("text", String, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("arm", String, nullable=False),
    Column("opening", String, nullable=False),
    Column("turns", String, nullable=False),
    Index("episodes_by_environment", "environment"),
)
CHECKPOINTS = Table(
    "checkpoints",
    TABLES,
    Column("cycle", Integer, primary_key=True),
    Column("folder", String, nullable=False),
    Column("created", String, nullable=False),
)
BY_CYCLE = (CYCLES, ADMISSIONS, ENVIRONMENTS, EPISODES, CHECKPOINTS)
NOT_COMPARED = ("timings", "created")


def open_database(path: Path) -> Engine:
    """Open or make the database and its tables. Raises UserError when the file is something else."""
    engine = create_engine(URL.create("sqlite", database=str(path)))

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        # A checkpoint promises that the rows up to its cycle are on the disk, hence FULL.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    with guard_database(path):
        TABLES.create_all(engine)
    return engine


@contextmanager
def begin(engine: Engine) -> Iterator[Connection]:
    """One transaction: all of it or nothing. Raises UserError when the disk is full."""
    with guard_database(Path(engine.url.database or "")), engine.begin() as connection:
        yield connection


@contextmanager
def guard_database(path: Path) -> Iterator[None]:
    """Turn the database's complaints about its file into a UserError."""
    try:
        yield
    except (IntegrityError, ProgrammingError, DataError):
        raise  # our own mistake, not the file's
    except DatabaseError as error:
        if is_full(error, path.parent):
            raise UserError(
                f"{path}: no space left for the run's records; free some space and resume the run."
            ) from error
        if "disk I/O error" in str(error):
            raise UserError(
                f"{path}: the system refused to write the run's records ({error.orig}); check the disk and "
                "its limits, then resume the run."
            ) from error
        raise UserError(
            f"{path}: the run's database cannot be used ({error.orig}); restore it from a backup or "
            "choose another run.name."
        ) from error
