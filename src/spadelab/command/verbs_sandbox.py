"""The verbs `sandbox ...`, light to import; they run `command.sandbox_doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from spadelab.command.boundary import verb
from spadelab.command.options import Json, read_backend

sandbox = typer.Typer(help="Look at the jail for generated programs.", no_args_is_help=True)


@sandbox.callback()
def main() -> None:
    """Look at the jail for generated programs."""


@sandbox.command()
@verb
def doctor(
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME|URL",
            parser=read_backend,
            help="Test this one, or a service's address.",
        ),
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="The image of docker or podman, as in sandbox.image.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Attack each jail that this machine could have: which hold, and how to get the others."""
    from spadelab.command.sandbox_doctor import examine

    return examine(backend, image, as_json)
