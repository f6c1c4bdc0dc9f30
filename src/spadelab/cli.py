"""The command `spadelab`: verbs, options and exit codes.

Exit codes: 0 done, 1 the answer is no (program failed, draft rejected, not ready), 2 the user can mend
it, 130 interrupted. Everything heavy is imported inside the verbs, so that help comes at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spadelab.command.boundary import hush_libraries, notify, verb
from spadelab.command.options import Jail, Json, override
from spadelab.command.verbs_audit import audit
from spadelab.command.verbs_environments import add_verbs
from spadelab.command.verbs_sandbox import sandbox

if TYPE_CHECKING:
    from spadelab.config import Settings

app = typer.Typer(
    help="Self-play post-training: one language model writes executable tasks and learns by solving them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Kind(StrEnum):
    """The task types."""

    deduction = "deduction"
    abduction = "abduction"
    induction = "induction"


class Role(StrEnum):
    """The roles a bundled model can be warm-started for."""

    solver = "solver"
    proposer = "proposer"
    shared = "shared"
    world_solver = "world-solver"
    world_proposer = "world-proposer"
    world_shared = "world-shared"


Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings in JSON, TOML or YAML.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One setting, such as run.seed=1; may be repeated."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, the result only.")]


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from importlib import metadata

        print(f"spadelab {metadata.version('spadelab')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Self-play post-training: one language model writes executable tasks and learns by solving them."""


def prepare(config: Path | None, overrides: list[str] | None, backend: str | None) -> Settings:
    """The settings of a verb that uses models, their notices shown."""
    from spadelab.config import load_settings

    settings, notices = load_settings(config, override(overrides, backend))
    if settings.sandbox.executor_type in ("docker", "podman") and not backend:
        from spadelab.command.preflight import settle_sandbox

        settings, further = settle_sandbox(settings)
        notices += further
    notify(notices)
    hush_libraries()
    return settings


@app.command()
@verb
def run(
    config: Config = None,
    overrides: Overrides = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and estimate the time; make no file.")
    ] = False,
    backend: Jail = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train by self-play: measure, learn cycle by cycle, measure again, report.

    The same run name with the same settings goes on where the newest checkpoint stands. Ctrl-C finishes
    the cycle, saves and says how to go on.
    """
    settings = prepare(config, overrides, backend)
    if dry_run:
        from spadelab.command.dry_run import rehearse

        return rehearse(settings, as_json)
    from spadelab.command.training import train

    return train(settings, as_json, quiet)


@app.command()
@verb
def resume(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or its name under runs/.")],
    overrides: Overrides = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a run; --set may change budgets, cycles and checkpoint habits only."""
    from spadelab.command.preflight import find_run, load_run_settings

    settings, notices = load_run_settings(find_run(name), override(overrides, None))
    notify(notices)
    hush_libraries()
    from spadelab.command.training import train

    return train(settings, as_json, quiet)


@app.command("eval")
@verb
def evaluate(
    model: Annotated[str, typer.Argument(help='"tiny" or a model folder, such as runs/NAME/models/solver.')],
    config: Config = None,
    overrides: Overrides = None,
    backend: Jail = None,
    as_json: Json = False,
) -> int:
    """Measure a model on the held-out tasks, by task type and difficulty."""
    settings = prepare(config, overrides, backend)
    from spadelab.command.measuring import measure

    return measure(model, settings, as_json)


@app.command()
@verb
def generate(
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder for tasks.jsonl and rejected.jsonl.")
    ],
    count: Annotated[int, typer.Option("--count", min=1, help="Tasks in the folder at the end.")] = 100,
    config: Config = None,
    overrides: Overrides = None,
    backend: Jail = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write tasks without training.

    Difficulties are drawn between self_play.initial_difficulty and self_play.max_difficulty. The same
    command goes on with a folder that holds tasks already.
    """
    settings = prepare(config, overrides, backend)
    from spadelab.command.generation import generate as write_tasks

    return write_tasks(settings, count, output, as_json, quiet)


@app.command("exec")
@verb
def execute(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A Python program.")],
    arguments: Annotated[
        str, typer.Option("--args", help="A JSON list of arguments ('[3]'), or '3, [1, 2]' as in a call.")
    ] = "[]",
    function: Annotated[str, typer.Option("--call", metavar="NAME", help="The function to call.")] = "f",
    timeout: Annotated[float, typer.Option(min=0.01, max=3600, help="Seconds of wall clock and CPU.")] = 5.0,
    memory: Annotated[int, typer.Option(min=16, help="MiB.")] = 256,
    trace: Annotated[bool, typer.Option("--trace", help="Show each executed statement on stderr.")] = False,
    backend: Jail = None,
    as_json: Json = False,
) -> int:
    """Run one program in the jail and print what the call returns."""
    from spadelab.command.execution import Request
    from spadelab.command.execution import execute as run_program

    request = Request(function, arguments, timeout, memory, backend or "auto", trace)
    return run_program(path, request, as_json)


@app.command()
@verb
def check(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A draft in blocks, a program, or an environment (.py).")
    ],
    kind: Annotated[Kind, typer.Option("--kind", help="The type of a program task.")] = Kind.deduction,
    arguments: Annotated[
        list[str] | None, typer.Option("--args", help="Input of a .py file; repeat it for induction.")
    ] = None,
    backend: Jail = None,
    as_json: Json = False,
) -> int:
    """Put one draft, or one interactive environment, through all gates and show what each says."""
    from spadelab.command.checking import check as check_draft

    return check_draft(path, kind.value, arguments or [], backend or "auto", as_json)


@app.command()
@verb
def doctor(backend: Jail = None, as_json: Json = False) -> int:
    """Show whether everything that a run needs is here, the jail above all."""
    hush_libraries()
    from spadelab.command.doctor import examine

    return examine(backend or "auto", as_json)


@app.command()
@verb
def report(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or its name under runs/.")],
    as_json: Json = False,
) -> int:
    """Write a run's HTML report again."""
    hush_libraries()
    from spadelab.command.preflight import find_run
    from spadelab.command.reporting import report as write_again

    return write_again(find_run(name), as_json)


@app.command()
@verb
def warmstart(
    role: Annotated[Role, typer.Option("--role", help="What the model will do.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="An empty or new folder for the model.")],
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps; the recipe's by default.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    overrides: Overrides = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make a bundled model from nothing: supervised training on synthetic tasks, then its scores."""
    family = "interactive" if role.value.startswith("world-") else "programs"
    settings = prepare(None, [f"self_play.family={family}", *(overrides or [])], None)
    from spadelab.command.warm_start import warm_start
    from spadelab.learning.warmstart import make_recipe

    return warm_start(make_recipe(role.value, steps, seed), out, settings, as_json, quiet)


@app.command()
@verb
def compare(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the results; a re-run goes on.")
    ],
    arms: Annotated[
        list[str] | None, typer.Option("--arm", help="One arm; may be repeated. By default all.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 .. N-1 of every arm.")] = 3,
    cpu_seconds: Annotated[float, typer.Option(min=1, help="Computing time of each arm.")] = 240,
    config: Config = None,
    overrides: Overrides = None,
) -> int:
    """Train self-play and its baselines for equal computing time and measure them on the held-out tasks."""
    hush_libraries()
    from spadelab.command.comparing import compare_arms

    return compare_arms(arms or [], seeds, cpu_seconds, config, overrides or [], out)


app.command()(audit)
app.add_typer(sandbox, name="sandbox")
add_verbs(app)
