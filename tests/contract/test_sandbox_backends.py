"""Backends beside bubblewrap and Landlock: containers, their walls, and what is said where they lack."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from container_files import build_root

from spadelab.sandbox import Call, Job, Limits, Sandbox, SandboxUnavailable, knock
from spadelab.sandbox.backends import INSIDE, Flavour, make_environment
from spadelab.sandbox.container import ENGINES, PROFILE, build_walls, find_fault, has_image, launch_container
from spadelab.sandbox.door import await_visitor, open_door
from spadelab.sandbox.launches import list_launches

SOURCES = Path(knock.__file__).parents[2]
ADD = Job("def f(x):\n    return x + 1\n", (Call("f", "1"),))

LOOPING = """
import sys
from spadelab.sandbox import Call, Job, Limits, Sandbox
loop = Job("def f():\\n    while True: pass\\n", (Call("f", ""),), Limits(60, 60))
with Sandbox(sys.argv[1], 1, (), canaries=False, image=sys.argv[2]) as sandbox:
    print(sandbox._pool.first.zygote, sandbox._pool.first._launch.stop[-1], flush=True)
    sandbox.map([loop] * 2)
"""


def flag(command: tuple[str, ...], name: str) -> list[str]:
    """The values of a repeated option."""
    return [value for option, value in itertools.pairwise(command) if option == name]


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """A root file system that every user can read."""
    folder = Path("/tmp", f"spadelab-root-{secrets.token_hex(4)}")
    try:
        folder.mkdir()
        yield build_root(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """An engine that answers, and the image with which it starts that file system."""
    name: str = request.param
    fault = find_fault(name)
    if fault:
        pytest.skip(fault)
    root: Path = request.getfixturevalue("root")
    if name == "podman":
        yield [name, str(root)]
        return
    image = f"spadelab-test:{secrets.token_hex(4)}"
    archive = shutil.make_archive(str(tmp_path_factory.mktemp("image") / "root"), "tar", root)
    subprocess.run([name, "import", archive, image], capture_output=True, timeout=120, check=True)
    try:
        yield [name, image]
    finally:
        subprocess.run([name, "image", "rm", image], capture_output=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def container(engine: list[str]) -> Iterator[Sandbox]:
    name, image = engine
    with Sandbox(name, 1, ("numpy",), image=image) as sandbox:
        yield sandbox


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the search path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_container_contains(engine: list[str], container: Sandbox) -> None:
    facts = container.facts()
    assert facts["backend"] == engine[0] and facts["uid"] >= 65534  # more than that: podman without root
    assert len(facts["canaries"]) >= 16 and all(facts["canaries"].values())
    assert facts["layers"]["namespaces"] and facts["layers"]["seccomp"] == "strict"
    assert [outcome.value for (outcome,) in container.map([ADD] * 20)] == ["2"] * 20


def test_a_child_in_a_container_lives_and_dies_as_elsewhere(container: Sandbox) -> None:
    source = "items = []\ndef f(x):\n    items.append(x)\n    return items\ndef g():\n    while True: pass\n"
    with container.open(source, Limits(wall_seconds=0.5)) as child:
        assert [child.call(Call("f", text)).value for text in ("1", "2")] == ["[1]", "[1, 2]"]
        assert child.call(Call("g", "")).kind == "wall_timeout"
    (outcome,) = container.run(Job("def f():\n    return len(bytearray(1 << 29))\n", (Call("f", ""),)))
    assert outcome.kind == "memory"


def test_packages_are_lent_to_a_container(container: Sandbox) -> None:
    source = "import numpy\ndef f(x):\n    return int(numpy.arange(x).sum())\n"
    (outcome,) = container.run(Job(source, (Call("f", "5"),), Limits(wall_seconds=30, memory_mb=512)))
    assert outcome.value == "10", outcome


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into the jail's process")
def test_nothing_of_a_containers_environment_is_in_the_zygote(container: Sandbox) -> None:
    environment = psutil.Process(container._pool.first.zygote).environ()
    assert environment == make_environment(Flavour(0))


TRIES = """
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
tries = {
    **{f"write to {folder}": lambda folder=folder: os.open(folder + "/x", os.O_CREAT | os.O_WRONLY)
       for folder in ("/tmp", "/dev/shm", "/dev/mqueue")},
    "another user": lambda: os.setuid(1),
    "network": lambda: socket.socket(socket.AF_INET),
    "namespace": lambda: call("unshare", 0x10000000),
    "trace": lambda: call("ptrace", 0, 0, 0, 0),
    "memory file": lambda: os.memfd_create("x"),
}
found = {}
for name, attempt in tries.items():
    try:
        attempt()
        found[name] = ""
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
print(json.dumps(found))
"""


def attempt(engine: list[str], *options: str) -> dict[str, str]:
    """What becomes of each of TRIES in a container with these options, without any wall of the zygote's."""
    name, image = engine
    what = [*(["--rootfs"] if name == "podman" else []), image]
    command = [name, "run", *options, "--entrypoint", "python3", *what, "-c", TRIES]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(result.stdout)


def test_the_walls_of_a_container_hold_alone(engine: list[str]) -> None:
    walled = attempt(engine, *build_walls(engine[0]))
    writes = {walled.pop(name) for name in list(walled) if name.startswith("write")}
    assert writes <= {"EROFS", "EACCES", "ENOENT", "EMFILE"}, writes
    assert set(walled.values()) == {"EPERM"}, walled
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
    bare = attempt(engine, "--rm", "--network", "none", "--security-opt", "seccomp=unconfined", *limits)
    assert set(bare.values()) == {""}, bare


def test_containers_die_with_the_host(engine: list[str]) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", LOOPING, *engine],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
    )
    assert host.stdout is not None
    number, name = host.stdout.readline().split()
    zygote = psutil.Process(int(number))
    deadline = time.monotonic() + 20
    while len(zygote.children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    processes = [zygote, *zygote.children()]
    assert len(processes) >= 3
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    _, alive = psutil.wait_procs(processes, timeout=10)
    for process in alive:
        process.kill()
    assert not alive
    listing = [engine[0], "ps", "--all", "--quiet", "--filter", f"name={name}"]
    while left := subprocess.run(listing, capture_output=True, timeout=60, check=True).stdout:
        assert time.monotonic() < deadline + 20, left
        time.sleep(0.1)


def test_an_image_that_is_missing_is_named(engine: list[str]) -> None:
    name, image = engine
    # Neither of these asks a registry that is far away.
    missing = "localhost/spadelab:nowhere" if name == "docker" else "/nowhere/root"
    assert has_image(name, image) and not has_image(name, "localhost/spadelab:nowhere")
    with pytest.raises(
        SandboxUnavailable, match=rf"\({name}: .*Error.*mend {name} or sandbox.image \({missing}"
    ):
        Sandbox(name, workers=1, image=missing)


def test_the_command_line_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "swordfish")
    (launch,) = launch_container("docker", Flavour(1), None)
    command = launch.command
    assert command[:2] == ("docker", "run") and "swordfish" not in " ".join(command)
    wanted = {
        "--network": ["none"],
        "--cap-drop": ["ALL"],
        "--user": ["65534:65534"],
        "--security-opt": ["no-new-privileges", f"seccomp={PROFILE}", "label=disable"],
        "--pids-limit": ["1024"],
        "--entrypoint": ["python3"],
        "--env": [],
        "--volume": [],
    }
    assert {name: flag(command, name) for name in wanted} == wanted
    assert "--read-only" in command and "--privileged" not in command
    assert flag(command, "--memory") and flag(command, "--cpus")
    mounts = flag(command, "--mount")
    assert all(mount.startswith("type=bind,source=/") and mount.endswith(",readonly") for mount in mounts)
    files = {Path(mount.split(",")[1]).name for mount in mounts}
    assert files == {*INSIDE, "knock.py", "door"}, "nothing else of the host is in a container"
    place = command.index("--entrypoint") + 2
    assert command[place] == f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"
    assert json.loads(command[-1])["environment"]["PYTHONHASHSEED"] == "1"
    (named,) = launch_container("docker", Flavour(0), "mine:1")
    assert named.command[named.command.index("--entrypoint") + 2] == "mine:1"


def test_an_engine_that_is_missing_or_ill_is_named(place: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"^docker is not installed; mend that or write"):
        Sandbox("docker", workers=1)
    program(place / "docker", "echo 'Cannot connect to the daemon' >&2; exit 1")
    with pytest.raises(SandboxUnavailable, match=r"^docker does not answer \(Cannot connect to the daemon\)"):
        Sandbox("docker", workers=1)
    program(place / "docker", "exec /bin/sleep 60")
    assert "no answer within 0.2 s" in find_fault("docker", seconds=0.2)
    program(place / "docker", "exit 0")
    assert find_fault("docker", "python:3.11") == ""
    with pytest.raises(SandboxUnavailable, match=r"^docker starts no folder, .* is /srv/root: make"):
        Sandbox("docker", workers=1, image="/srv/root")


def test_a_container_that_does_not_start_says_why(place: Path) -> None:
    program(place / "podman", '[ "$1" = version ] || { echo "Error: no such image" >&2; exit 125; }')
    with pytest.raises(SandboxUnavailable, match=r"podman: Error: no such image\): mend podman"):
        Sandbox("podman", workers=1)
    advice = "echo 'docker: no space left' >&2; echo >&2; echo \"Run 'docker run --help' for more\" >&2"
    program(place / "docker", f'[ "$1" = version ] || {{ {advice}; exit 125; }}')
    with pytest.raises(SandboxUnavailable, match=r"\(docker: no space left\): mend .* \(python:3"):
        Sandbox("docker", workers=1)


def test_podman_without_root_may_do_without_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    first, *_, last = [launch.command for launch in launch_container("podman", Flavour(0), None)]
    limits = {"--memory", "--cpus", "--pids-limit"}
    assert limits <= set(first) and not limits & set(last)
    assert flag(last, "--security-opt") == flag(first, "--security-opt")


def test_auto_asks_the_engines_last_and_only_those_that_answer(place: Path) -> None:
    program(place / "docker", "exit 1")
    program(place / "podman", "exit 0")
    found = [launch.backend for launch in list_launches("auto", Flavour(0))]
    assert list(dict.fromkeys(found)) in (["bubblewrap", "landlock", "podman"], ["landlock", "podman"])
    program(place / "podman", "exit 1")
    assert "podman" not in [launch.backend for launch in list_launches("auto", Flavour(0))]


def test_an_image_of_another_python_is_refused() -> None:
    order = {"python": "3.2", "door": "/nowhere", "arguments": [], "environment": {}}
    command = [sys.executable, "-I", "-S", knock.__file__, json.dumps(order)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "sandbox.image has Python 3." in result.stderr and "lent from Python 3.2" in result.stderr


def test_a_door_lets_one_visitor_in_and_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "hall" / "door"
    visit = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])"
    )
    with open_door(path) as listener:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        visitor = subprocess.Popen([sys.executable, "-c", f"{visit}; s.send(b'hello')", str(path)])
        with await_visitor(listener, visitor, 30) as connection:
            assert connection.recv(9) == b"hello"
        visitor.wait()
        with await_visitor(listener, visitor, 30) as connection:  # it has ended: nobody will come
            assert connection.recv(9) == b""
        with subprocess.Popen(["/bin/sleep", "60"]) as waiting, pytest.raises(TimeoutError):
            try:
                await_visitor(listener, waiting, 0.2)
            finally:
                waiting.kill()
    assert not path.parent.exists()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as late, pytest.raises(FileNotFoundError):
        late.connect(str(path))


def test_a_package_that_does_not_load_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("import nowhere\n")
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "__init__.py").write_text("")
    (tmp_path / "whole" / "part.py").write_text("raise LookupError('only elsewhere')\n")
    (tmp_path / "whole" / "other.py").write_text("x = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    tmp_path.chmod(0o755)
    with Sandbox(workers=1, allowed_packages=("broken_package",), canaries=False) as sandbox:
        reason = r"sandbox\.allowed_packages: broken_package cannot be imported in the jail \(No module"
        with pytest.raises(SandboxUnavailable, match=reason):
            sandbox.run(Job("import broken_package\ndef f():\n    return 1\n", (Call("f", ""),)))
    source = "import whole.other\ndef f():\n    return whole.other.x\n"
    with Sandbox(workers=1, allowed_packages=("whole",), canaries=False) as sandbox:
        (outcome,) = sandbox.run(Job(source, (Call("f", ""),)))
    assert outcome.value == "7", outcome


def test_pytest_works_in_the_jail() -> None:
    source = """
import pytest
@pytest.mark.parametrize("x", [1])
def test_half(x):
    assert x / 3 == pytest.approx(0.333, abs=1e-3)
def f():
    test_half(1)
    with pytest.raises(ZeroDivisionError, match="division") as caught:
        1 / 0
    return str(caught.value), [0.1 + 0.2] == pytest.approx([0.3]), 1 == pytest.approx(2)
def g():
    with pytest.raises(KeyError):
        pass
"""
    calls = (Call("f", ""), Call("g", ""))
    with Sandbox(workers=1, allowed_packages=("pytest",), canaries=False) as sandbox:
        works, fails = sandbox.run(Job(source, calls, Limits(wall_seconds=30)))
    assert works.value == "('division by zero', True, False)", works
    assert (fails.kind, fails.error, fails.message) == ("program_error", "Failed", "DID NOT RAISE KeyError")
