"""The verb `audit`, light to import; what it runs is in `command.auditing`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spadelab.command.boundary import verb
from spadelab.command.options import Jail, Json
from spadelab.errors import UserError


@verb
def audit(
    hacks: Annotated[bool, typer.Option("--hacks", help="What reward hacks would earn.")] = False,
    cases: Annotated[
        list[Path] | None,
        typer.Option("--cases", metavar="DIR", help="A folder of further hacks; may be repeated."),
    ] = None,
    backend: Jail = None,
    as_json: Json = False,
) -> int:
    """Try to cheat the proposer's reward: every planted hack must earn next to nothing."""
    if not hacks:
        raise UserError("choose what to audit: --hacks.")
    from spadelab.command.auditing import audit_hacks

    return audit_hacks(cases or [], backend or "auto", as_json)
