"""The verbs `play` and `pool`, light to import; they run `command.playing` and `command.pooling`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spadelab.command.boundary import verb
from spadelab.command.options import Jail, Json

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or its name under runs/.")]

pool = typer.Typer(help="Look at the environments that a run stored.", no_args_is_help=True)


@verb
def play(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="An environment's .py file, or library:NAME for one of ours."),
    ],
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Which instance.")] = 0,
    backend: Jail = None,
) -> int:
    """Play an interactive environment yourself. At the prompt also :hint, :solution and :quit."""
    from spadelab.command.playing import play as start

    return start(file, seed, backend or "auto")


@pool.command("ls")
@verb
def list_pool(
    run: RunName,
    kind: Annotated[str | None, typer.Option("--kind", help="Only this task type or skill.")] = None,
    family: Annotated[str | None, typer.Option("--family", help="Only this family.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The newest N only.")] = None,
    as_json: Json = False,
) -> int:
    """List environments with what the solver made of them."""
    from spadelab.command.pooling import list_entries

    return list_entries(run, kind, family, limit, as_json)


@pool.command("show")
@verb
def show_pool(
    run: RunName,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The beginning of an id.")],
    as_json: Json = False,
) -> int:
    """Print one environment: its facts, then its source."""
    from spadelab.command.pooling import show_entry

    return show_entry(run, identifier, as_json)


@pool.command("diff")
@verb
def diff_pool(
    run: RunName,
    first: Annotated[str, typer.Argument(metavar="ID1")],
    second: Annotated[str, typer.Argument(metavar="ID2")],
) -> int:
    """Show how the sources of two environments differ, as a unified diff."""
    from spadelab.command.pooling import diff_entries

    return diff_entries(run, first, second)


@pool.command("export")
@verb
def export_pool(
    run: RunName,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for ID.py and ID.json.")],
    as_json: Json = False,
) -> int:
    """Write every environment's source and facts as files."""
    from spadelab.command.pooling import export_entries

    return export_entries(run, out, as_json)


def add_verbs(app: typer.Typer) -> None:
    """Make `play` and `pool` verbs of the command."""
    app.command()(play)
    app.add_typer(pool, name="pool")
