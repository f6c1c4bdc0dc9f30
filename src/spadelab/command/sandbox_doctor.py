"""The verb `sandbox doctor`: which jails hold here, shown by attacks on them, and how to get the others."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from spadelab.command.boundary import print_json
from spadelab.command.cures import Place, advise, explain, find_place
from spadelab.sandbox import SandboxUnavailable, make_sandbox, self_test
from spadelab.sandbox.capabilities import Capabilities, measure_capabilities
from spadelab.sandbox.container import ENGINES, default_image, find_fault, has_image

LOCAL = ("bubblewrap", "landlock", *ENGINES)


@dataclass(frozen=True, slots=True)
class Finding:
    """One backend: whether its self-test held, else the reason and the cure."""

    backend: str
    works: bool
    reason: str = ""
    cure: str = ""
    layers: dict[str, Any] = field(default_factory=dict)
    canaries: dict[str, bool] = field(default_factory=dict)


def examine(backend: str | None, image: str | None, as_json: bool) -> int:
    """Test one backend or all; the exit code: 0 when one works, 1 when none does."""
    place, able = find_place(), measure_capabilities()
    if backend == "auto":
        backend = None
    if backend is None:
        findings = [_survey(name, image, place, able) for name in LOCAL]
        findings.append(Finding("remote", False, "not asked: --backend http://HOST:PORT tests a service"))
    else:
        findings = [_test(backend, image, place, able)]
    works = [finding.backend for finding in findings if finding.works]
    report = {
        "system": platform.platform(),
        "place": asdict(place),
        "capabilities": {name: getattr(able, name) or "yes" for name in able.__struct_fields__},
        "backends": {finding.backend: asdict(finding) for finding in findings},
        "auto": works[0] if works and backend is None else None,
    }
    if as_json:
        print_json(report)
    else:
        show(report, findings)
    return 0 if works else 1


def _survey(backend: str, image: str | None, place: Place, able: Capabilities) -> Finding:
    """As `_test`, but no image is downloaded for it."""
    wanted = image or default_image()
    if backend in ENGINES and not find_fault(backend, image) and not has_image(backend, wanted):
        reason = f"not tried: the image {wanted} is not here"
        return Finding(backend, False, reason, f"{backend} pull {wanted}, then --backend {backend} tests it")
    return _test(backend, image, place, able)


def _test(backend: str, image: str | None, place: Place, able: Capabilities) -> Finding:
    try:
        with make_sandbox(backend, 1, (), canaries=False, image=image) as sandbox:
            results, facts = self_test(sandbox), sandbox.facts()
            isolated = sandbox.isolated
    except SandboxUnavailable as error:
        name = "remote" if "://" in backend else backend
        return Finding(backend, False, explain(name, place, able) or str(error), advise(name, place, able))
    layers = {**facts["layers"], "uid": facts["uid"]}
    canaries = {result.name: result.contained for result in results}
    if not isolated:
        return Finding(backend, False, "no isolation at all", "choose another backend", layers, canaries)
    leaks = [f"{result.name} ({result.detail})" for result in results if not result.contained]
    if leaks:
        return Finding(backend, False, f"it leaks: {', '.join(leaks)}", "do not use it", layers, canaries)
    return Finding(backend, True, layers=layers, canaries=canaries)


def show(report: dict[str, Any], findings: Sequence[Finding]) -> None:
    """The system, and one paragraph a backend."""
    console = Console(highlight=False, soft_wrap=True)
    place = report["place"]
    console.print(Text(f"{report['system']} ({place['kind']}{', root' if place['root'] else ''})"))
    for name, answer in report["capabilities"].items():
        console.print(Text(f"  {name:<12}{answer}"))
    for finding in findings:
        held = sum(finding.canaries.values())
        proof = f"works: {held} of {len(finding.canaries)} canary attacks contained"
        console.print(Text(f"{finding.backend}:", "bold"), Text(proof if finding.works else finding.reason))
        if finding.layers:
            console.print(Text(f"  layers: {', '.join(map(_show_layer, finding.layers.items()))}"))
        if finding.cure:
            console.print(Text(f"  cure: {finding.cure}"))
    if report["auto"]:
        console.print(Text(f"auto takes {report['auto']}"))
    elif not any(finding.works for finding in findings):
        console.print(Text("no jail works here: spadelab refuses to run generated programs", "red"))


def _show_layer(layer: tuple[str, Any]) -> str:
    name, value = layer
    shown = ("no", "yes")[value] if isinstance(value, bool) else value
    return f"{name.replace('_', ' ')} {'no' if shown == '' else shown}"
