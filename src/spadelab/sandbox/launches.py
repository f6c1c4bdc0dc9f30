"""The backends in their order, and the ways to start a jail under each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .backends import Flavour, Launch, find_bwrap, launch_bwrap, launch_plain
from .container import ENGINES, default_image, find_fault, launch_container
from .jail import Jail
from .jobs import SandboxUnavailable

BACKENDS = ("bubblewrap", "landlock", *ENGINES, "unsafe")


def start_jail(backend: str, flavour: Flavour, image: str | None = None) -> Jail:
    """The first jail of `list_launches` that comes up. Raises SandboxUnavailable with reasons and cure."""
    reasons: list[str] = []
    try:
        for launch in list_launches(backend, flavour, image):
            try:
                jail = Jail(launch)
            except SandboxUnavailable as error:
                reasons.append(str(error))
                continue
            if launch.backend == "landlock" and not jail.facts["landlock"]:
                jail.close()
                reasons.append("landlock: this kernel has none")
                continue
            return jail
    except FileNotFoundError as error:
        raise SandboxUnavailable(f"there is no system-call filter for this machine ({error})") from None
    raise SandboxUnavailable(_advise(backend, reasons, image or default_image()))


def list_launches(backend: str, flavour: Flavour, image: str | None = None) -> Iterator[Launch]:
    """The ways to start `flavour`, best first. `backend`: "auto" or one of BACKENDS.

    Lazy: an engine of containers is asked only when what comes before did not work. Raises
    SandboxUnavailable for an engine that was named and does not answer.
    """
    if backend in ("auto", "bubblewrap"):
        yield from (launch_bwrap(path, flavour) for path in find_bwrap())
    if backend in ("auto", "landlock"):
        yield launch_plain("landlock", flavour)
    for engine in ENGINES:
        if backend not in ("auto", engine):
            continue
        fault = find_fault(engine, image)
        if not fault:
            yield from launch_container(engine, flavour, image)
        elif backend == engine:
            raise SandboxUnavailable(f'{fault}; mend that or write sandbox.executor_type "auto"')
    if backend == "unsafe":
        yield launch_plain("unsafe", flavour)


def _advise(backend: str, reasons: Sequence[str], image: str) -> str:
    if backend in ENGINES:
        cure = f'mend {backend} or sandbox.image ({image}), or write sandbox.executor_type "auto"'
    else:
        cure = (
            "allow unprivileged user namespaces, use a kernel with Landlock (5.13 or later), or start docker "
            "or podman"
        )
    named = "; ".join(dict.fromkeys(reasons)) or "no bubblewrap was found"
    return f"no jail can be built here ({named}): {cure}; `--sandbox unsafe` runs programs without isolation"
