"""The verb `pool`: the environments that a run stored, and what the solver made of them."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from spadelab.command.arguments import make_folder
from spadelab.command.boundary import print_json
from spadelab.command.playing import show
from spadelab.command.preflight import find_run
from spadelab.errors import UserError
from spadelab.records import Environment
from spadelab.store.files import encode_json, write_file
from spadelab.store.run import Run

SHOWN_ID = 12


@dataclass(slots=True)
class Entry:
    """An environment with its plain faultless episodes and how many of them won."""

    environment: Environment
    episodes: int = 0
    wins: int = 0

    def facts(self) -> dict[str, object]:
        """All but the source; `solve_rate` is None when nobody played."""
        facts = asdict(self.environment)
        del facts["source"]
        rate = self.wins / self.episodes if self.episodes else None
        return facts | {"episodes": self.episodes, "wins": self.wins, "solve_rate": rate}


def read_entries(name: str) -> list[Entry]:
    """All environments of a run, in the order in which they were first met."""
    with Run.open(find_run(name), writable=False) as run:
        entries = {environment.id: Entry(environment) for environment in run.iter_environments()}
        for episode in run.iter_episodes():
            entry = entries.get(episode.environment)
            if entry and episode.arm == "plain" and not episode.fault:
                entry.episodes += 1
                entry.wins += episode.outcome == "correct"
    return list(entries.values())


def find_entry(entries: list[Entry], prefix: str) -> Entry:
    """The entry whose id begins with the prefix. Raises UserError unless there is exactly one."""
    found = [entry for entry in entries if entry.environment.id.startswith(prefix.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(f"{prefix}: no environment's id begins so; see spadelab pool ls.")
    raise UserError(f"{prefix}: the ids of {len(found)} environments begin so; write more of it.")


def list_entries(name: str, kind: str | None, family: str | None, limit: int | None, as_json: bool) -> int:
    """The table of the environments, the newest `limit` of them."""
    entries = [
        entry
        for entry in read_entries(name)
        if kind in (None, entry.environment.kind) and family in (None, entry.environment.family)
    ][-(limit or 0) :]
    if as_json:
        print_json([{**entry.facts(), "source": entry.environment.source} for entry in entries])
        return 0
    right = ("difficulty", "cycle", "episodes", "solve rate")
    columns = [Column(title, justify="right", no_wrap=True) for title in right]
    table = Table(Column("id", no_wrap=True), "kind", "name", *columns, box=None, header_style="dim")
    for entry in entries:
        environment = entry.environment
        rate = f"{entry.wins / entry.episodes:.2f}" if entry.episodes else "-"
        numbers = (environment.difficulty, environment.born, entry.episodes)
        table.add_row(
            environment.id[:SHOWN_ID], environment.kind, Text(environment.name), *map(str, numbers), rate
        )
    Console(highlight=False).print(table)
    return 0


def show_entry(name: str, prefix: str, as_json: bool) -> int:
    """The facts that are set, one a line, an empty line, and the source."""
    entry = find_entry(read_entries(name), prefix)
    if as_json:
        print_json({**entry.facts(), "source": entry.environment.source})
        return 0
    for key, value in entry.facts().items():
        if value not in ("", (), None) and key not in ("trace", "demonstrations"):
            show(f"{key}: {value}")
    show(f"\n{entry.environment.source}")
    return 0


def diff_entries(name: str, first: str, second: str) -> int:
    """The unified diff of two sources; nothing when they are equal."""
    entries = read_entries(name)
    old, new = (find_entry(entries, prefix).environment for prefix in (first, second))
    lines = difflib.unified_diff(
        old.source.splitlines(), new.source.splitlines(), old.id[:SHOWN_ID], new.id[:SHOWN_ID], lineterm=""
    )
    for line in lines:
        show(line)
    return 0


def export_entries(name: str, out: Path, as_json: bool) -> int:
    """Write ID.py and ID.json of every environment, ID shortened as in the table."""
    entries = read_entries(name)
    make_folder(out)
    for entry in entries:
        path = out / entry.environment.id[:SHOWN_ID]
        write_file(path.with_suffix(".py"), entry.environment.source.encode("utf-8", "backslashreplace"))
        write_file(path.with_suffix(".json"), (encode_json(entry.facts()) + "\n").encode())
    if as_json:
        print_json({"environments": len(entries), "folder": str(out)})
    else:
        print(f"{len(entries)} environments in {out}")
    return 0
