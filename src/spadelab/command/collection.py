"""A folder of generated tasks that can be gone on with: tasks.jsonl, rejected.jsonl, settings.json."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from spadelab.command.arguments import make_folder
from spadelab.config import Settings
from spadelab.environments.programs import gold
from spadelab.errors import UserError
from spadelab.records import Admission, Environment
from spadelab.store.files import encode_json, is_full, write_file

TASKS, REJECTED, SETTINGS = "tasks.jsonl", "rejected.jsonl", "settings.json"


@dataclass(slots=True)
class Collection:
    """What the folder holds: `batch` is the number of the next batch, `keys` those of all tasks."""

    folder: Path
    batch: int = 0
    keys: set[str] = field(default_factory=set)
    by_kind: dict[str, list[Environment]] = field(default_factory=dict)
    rejections: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        """Tasks so far."""
        return len(self.keys)

    def take(self, environment: Environment) -> None:
        """Remember a task."""
        self.keys.add(environment.key)
        self.by_kind.setdefault(environment.kind, []).append(environment)

    def store(self, admissions: list[Admission], count: int) -> None:
        """Append a batch to the files, tasks beyond `count` left out. Raises UserError on a full disk."""
        tasks, rejected = "", ""
        for admission in admissions:
            draft, environment = admission.draft, admission.environment
            origin = {"batch": self.batch, "asked": draft.asked}
            if environment is None:
                failed = admission.checks[-1]
                self.rejections[failed.code] += 1
                why = {"kind": draft.kind, "code": failed.code, "reason": failed.reason, "text": draft.text}
                rejected += encode_json(origin | why) + "\n"
            elif len(self) < count:
                self.take(environment)
                right = {} if environment.demonstrations else {"gold": gold(environment)}
                tasks += encode_json(origin | asdict(environment) | right) + "\n"
        append(self.folder / REJECTED, rejected)
        append(self.folder / TASKS, tasks)
        self.batch += 1


def open_collection(folder: Path, settings: Settings) -> Collection:
    """The collection in the folder, new or old. Raises UserError when other settings made it."""
    make_folder(folder)
    made, now = folder / SETTINGS, settings.model_dump(mode="json", exclude={"run": {"name", "directory"}})
    if not made.exists():
        if any(folder.iterdir()):
            raise UserError(
                f"{folder}: the folder holds other files; choose an empty or new one for --output."
            )
        write_file(made, (json.dumps(now, indent=2) + "\n").encode())
    elif (before := json.loads(made.read_bytes())) != now:
        section = next(name for name in now if before.get(name) != now[name])
        raise UserError(
            f"{folder}: its tasks were made with other settings (section {section}, see {made}); "
            "choose another --output."
        )
    collection = Collection(folder)
    for row in read_rows(folder / TASKS):
        collection.batch = max(collection.batch, row["batch"] + 1)
        collection.take(restore_environment(row))
    for row in read_rows(folder / REJECTED):
        collection.batch = max(collection.batch, row["batch"] + 1)
        collection.rejections[row["code"]] += 1
    return collection


def append(path: Path, text: str) -> None:
    """Add whole lines to a file. Raises UserError on a full disk."""
    try:
        with path.open("a", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        if is_full(error, path.parent):
            raise UserError(f"{path}: no space left; free some and give the command again.") from error
        raise


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a JSONL file; a last one that a crash cut off is removed from the file."""
    if not path.exists():
        return []
    whole, _, torn = path.read_text(encoding="ascii").rpartition("\n")
    if torn:
        write_file(path, f"{whole}\n".encode() if whole else b"")
    return [json.loads(line) for line in whole.split("\n") if line]


def restore_environment(row: dict[str, Any]) -> Environment:
    """The environment in a line of tasks.jsonl."""
    return msgspec.convert({field.name: row[field.name] for field in fields(Environment)}, Environment)
