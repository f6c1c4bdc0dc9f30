"""The verb `doctor`: is everything here that a run needs?"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from spadelab.command.boundary import print_json
from spadelab.command.preflight import check_model
from spadelab.config_sections import BUNDLED_MODELS
from spadelab.errors import UserError
from spadelab.sandbox import SandboxUnavailable, make_sandbox, self_test
from spadelab.store.registration import read_versions


def examine(backend: str, as_json: bool) -> int:
    """Show what is found; the exit code: 0 all well, 1 with problems, each with its cure."""
    problems: list[str] = []
    findings = {
        "machine": examine_machine(),
        "versions": read_versions(),
        "torch": examine_torch(problems),
        "models": examine_models(problems),
        "sandbox": examine_sandbox(backend, problems),
    }
    if as_json:
        print_json({**findings, "problems": problems})
    else:
        show(findings, problems)
    return 1 if problems else 0


def examine_machine() -> dict[str, Any]:
    """Cores this process may use, memory, disk of this folder in GiB."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30, 1),
        "disk_free_gib": round(shutil.disk_usage(Path.cwd()).free / 2**30, 1),
    }


def examine_torch(problems: list[str]) -> dict[str, Any]:
    """Whether torch can be loaded, and on which devices it computes."""
    try:
        import torch
    except (ImportError, OSError) as error:
        problems.append(f"torch cannot be imported ({error}); install it again.")
        return {"devices": []}
    cuda = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return {"devices": ["cpu", *cuda, *(["mps"] if torch.backends.mps.is_available() else [])]}


def examine_models(problems: list[str]) -> dict[str, str]:
    """The folder of each bundled model, "missing" where it is not complete."""
    found = {}
    for name in BUNDLED_MODELS:
        try:
            found[name] = str(check_model(name))
        except UserError as error:
            problems.append(str(error))
            found[name] = "missing"
    return found


def examine_sandbox(backend: str, problems: list[str]) -> dict[str, Any]:
    """Facts of the jail and the canary attacks against it."""
    try:
        with make_sandbox(backend, canaries=False) as sandbox:
            results, facts = self_test(sandbox), sandbox.facts()
    except SandboxUnavailable as error:
        problems.append(str(error))
        return {"backend": None}
    if facts["backend"] == "unsafe":
        problems.append("--sandbox unsafe is no jail at all: the canary attacks get through.")
    else:
        problems += [f"the jail leaks: {r.name} ({r.detail})" for r in results if not r.contained]
    facts["canaries"] = {result.name: result.contained for result in results}
    return facts


def show(findings: dict[str, Any], problems: list[str]) -> None:
    """Everything as aligned lines, problems last."""
    console = Console(highlight=False, soft_wrap=True)
    for title, values in findings.items():
        console.print(Text(title, "bold"))
        for key, value in values.items():
            console.print(Text(f"  {key:<18}{show_value(key, value)}"))
    for problem in problems:
        console.print(Text(f"problem: {problem}", "red"))
    console.print(Text("everything a run needs is here" if not problems else "not ready", "bold"))


def show_value(key: str, value: Any) -> str:
    """A value for human eyes."""
    if key == "canaries":
        leaks = [name for name, contained in value.items() if not contained]
        return f"{len(value) - len(leaks)} of {len(value)} contained" + (f", not: {leaks}" if leaks else "")
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
