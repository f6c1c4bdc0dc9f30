"""Options that several verbs share; light to import."""

from __future__ import annotations

from typing import Annotated

import typer

BACKENDS = ("auto", "bubblewrap", "landlock", "docker", "podman", "remote", "unsafe")
SERVICE = ("http://", "https://")


def read_backend(text: str) -> str:
    """The name of a backend, or the address of a service; the parser of `--sandbox`."""
    if text in BACKENDS or text.startswith(SERVICE):
        return text
    raise typer.BadParameter(
        f"{text!r} is no sandbox; choose {', '.join(BACKENDS)}, or write a service's address, http://..."
    )


Jail = Annotated[
    str | None,
    typer.Option(
        "--sandbox",
        metavar="NAME|URL",
        parser=read_backend,
        help=f"The jail for generated programs: {', '.join(BACKENDS[:-1])}, or the address of a service; "
        "unsafe means none at all.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]


def override(overrides: list[str] | None, backend: str | None) -> list[str]:
    """All overrides, `--sandbox` among them."""
    if backend is None:
        return list(overrides or [])
    if backend.startswith(SERVICE):
        return [*(overrides or []), "sandbox.executor_type=remote", f"sandbox.url={backend}"]
    return [*(overrides or []), f"sandbox.executor_type={backend}"]
