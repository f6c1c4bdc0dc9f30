"""The verb `audit`: what reward hacks would earn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from spadelab.command.boundary import print_json, warn_unsafe
from spadelab.errors import UserError
from spadelab.evaluation.hacks import GENUINE_BAR, HACK_BAR, PLANTED, Finding, load_planted
from spadelab.evaluation.hacks import audit as audit_planted
from spadelab.rng import Streams
from spadelab.sandbox import make_sandbox


def audit_hacks(folders: Sequence[Path], backend: str, as_json: bool) -> int:
    """Audit the planted modules of the package and of `folders`; 1 when one of them misses its bar."""
    planted = []
    for folder in (PLANTED, *folders):
        found = load_planted(folder)
        if not found:
            raise UserError(f"{folder}: no module (.py or .txt) to audit there.")
        planted += found
    warn_unsafe(backend)
    with make_sandbox(backend) as sandbox:
        findings = audit_planted(planted, sandbox, Streams(0).python("audit"))
    if as_json:
        print_json({"findings": [{**asdict(finding), "holds": finding.holds} for finding in findings]})
    else:
        show(findings)
    return 0 if all(finding.holds for finding in findings) else 1


def show(findings: Sequence[Finding]) -> None:
    """The table, and one line that says whether all bars hold."""
    console = Console(highlight=False)
    share = Column("share", justify="right")
    table = Table("name", share, "", "stopped by", "best play", "tries", box=None, header_style="dim")
    for finding in findings:
        verdict = Text("ok", "green") if finding.holds else Text("FAILS", "red")
        stopped = f"{finding.gate}: {finding.code}" if finding.code else "genuine" if finding.genuine else "-"
        table.add_row(
            finding.name,
            f"{finding.share:.2f}",
            verdict,
            stopped,
            finding.policy,
            Text(finding.tries),
        )
    console.print(table)
    failed = [finding.name for finding in findings if not finding.holds]
    bars = f"hacks at most {HACK_BAR:.2f} of the maximum, genuine environments at least {GENUINE_BAR:.2f}"
    console.print(f"{bars}: {'missed by ' + ', '.join(failed) if failed else 'all hold'}")
