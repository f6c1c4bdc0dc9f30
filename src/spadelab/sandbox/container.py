"""Jails in containers of docker or podman: the same zygote behind the engine's walls.

One long-lived container a jail. The zygote connects to a socket that is mounted into the container, and
over it descriptors pass as they do between processes of the host: a child's channel never touches the
engine, whose standard streams carry only what a start that failed has to say.
"""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .backends import HERE, INSIDE, JAIL_FOLDER, Flavour, Launch, make_environment, zygote_arguments
from .packages import find_roots, list_paths

ENGINES = ("docker", "podman")
PROFILE = HERE / "filters" / "container.json"
_NOBODY = "65534:65534"
_DOOR = f"{JAIL_FOLDER}/door"
_PACKAGES = f"{JAIL_FOLDER}/packages"
_PROBE_SECONDS = 10.0


def find_fault(engine: str, image: str | None = None, seconds: float = 10.0) -> str:
    """Why `engine` cannot be used here, or not with `image`; "" when it answers within `seconds`."""
    if sys.platform != "linux":
        return f"{engine}: the jail's socket does not reach into a virtual machine; run spadelab on Linux"
    path = shutil.which(engine)
    if path is None:
        return f"{engine} is not installed"
    try:
        answer = subprocess.run(
            [path, "version"], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{engine}: no answer within {seconds:g} s; is its daemon well?"
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"{engine} does not answer ({reason})"
    if engine == "docker" and image and image.startswith("/"):
        return f"docker starts no folder, and sandbox.image is {image}: make an image of it (docker import)"
    return ""


def default_image() -> str:
    """The official slim image of the Python that runs this."""
    return f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


def has_image(engine: str, image: str) -> bool:
    """Whether a container can start from `image` at once, without a download."""
    if image.startswith("/"):
        return True
    command = [engine, "image", "inspect", image]
    try:
        found = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False)
        return found.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def launch_container(engine: str, flavour: Flavour, image: str | None) -> Iterator[Launch]:
    """The ways to start `flavour` in a container of `engine`, best first.

    `image`: a name, or for podman the path of a folder that holds a root file system; None: the official
    slim image of the Python that runs this.
    """
    yield _launch((engine,), flavour, image)
    if engine == "podman" and shutil.which("runc"):
        # Where crun, the usual runtime, refuses cgroups of the mixed kind, or systemd is not there.
        yield _launch(("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"), flavour, image)
    if engine == "podman" and os.geteuid() != 0:
        # Where the system lends its users no control groups, above all none for the CPU.
        yield _launch((engine,), flavour, image, bounded=False)


def _launch(engine: tuple[str, ...], flavour: Flavour, image: str | None, bounded: bool = True) -> Launch:
    name = f"spadelab-{secrets.token_hex(8)}"
    door = Path(tempfile.gettempdir(), name, "door")
    roots = find_roots(flavour.packages)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    order = {
        "door": _DOOR,
        "arguments": zygote_arguments(flavour, JAIL_FOLDER, dict.fromkeys(roots, _PACKAGES), container=True),
        "environment": make_environment(flavour),
        "python": version if roots else "",
    }
    image = image or default_image()
    command = [*engine, "run", "--name", name, *build_walls(engine[0], bounded), *_mount(door, _DOOR)]
    for file in (*INSIDE, "knock.py"):
        command += _mount(HERE / file, f"{JAIL_FOLDER}/{file}")
    for path in list_paths(roots):
        command += _mount(path, f"{_PACKAGES}/{path.name}")
    command += ["--entrypoint", "python3", *(["--rootfs"] if image.startswith("/") else []), image]
    command += ["-I", "-S", f"{JAIL_FOLDER}/knock.py", json.dumps(order)]
    return Launch(engine[0], tuple(command), dict(os.environ), door, (*engine, "rm", "--force", name))


def build_walls(engine: str, bounded: bool = True) -> list[str]:
    """What the container may not do and, `bounded`, how much it may use: half of the machine's memory, two
    cores. The limits of each program hold without that.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    ours = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    cores = min(2, os.cpu_count() or 1)
    processes = 4096 if ours == resource.RLIM_INFINITY else min(4096, ours)
    return [
        *("--rm", "--log-driver", "none", "--hostname", "jail", "--network", "none", "--read-only"),
        *("--cap-drop", "ALL", "--user", _NOBODY, "--workdir", "/"),
        *("--security-opt", "no-new-privileges", "--security-opt", f"seccomp={PROFILE}"),
        # SELinux keeps containers from the host's files and sockets: here from the zygote and the door.
        *("--security-opt", "label=disable"),
        *(("--memory", f"{memory}b", "--cpus", str(cores), "--pids-limit", "1024") if bounded else ()),
        # As in `jail`, where only root may set it for a container's user.
        *("--oom-score-adj", "1000"),
        # Not even /dev/shm and /dev/mqueue can be written to.
        *("--ipc", "none", "--ulimit", "msgqueue=0:0"),
        # The engines' own defaults may lie above what they are allowed here; the zygote sets lower ones.
        *("--ulimit", "nofile=1024:1024", "--ulimit", f"nproc={processes}:{processes}"),
        # podman would mount writable folders, and lend the host's proxy settings, which may hold passwords.
        *(("--read-only-tmpfs=false", "--http-proxy=false") if engine == "podman" else ()),
    ]


def _mount(source: Path, target: str) -> list[str]:
    return ["--mount", f"type=bind,source={source},target={target},readonly"]
