"""The sandbox among other processes: users, signals, missing kernel features, the committed filters."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from spadelab.sandbox import Call, Job, Sandbox, SandboxUnavailable, policy
from spadelab.sandbox.backends import Launch, find_bwrap
from spadelab.sandbox.jail import Jail

SOURCES = Path(policy.__file__).parents[2]

HONEST = """
from spadelab.sandbox import Call, Job, Sandbox
job = Job("def f(x):\\n    return x + 1\\n", (Call("f", "1"),))
with Sandbox(BACKEND, workers=1, allowed_packages=()) as sandbox:
    print(sandbox.facts()["backend"], sandbox.run(job)[0].value)
"""

LOOPING = """
import signal, sys, time
from spadelab.sandbox import Call, Job, Limits, Sandbox
loop = Job("def f():\\n    while True: pass\\n", (Call("f", ""),), Limits(60, 60))
honest = Job("def f():\\n    return 1\\n", (Call("f", ""),))
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background
with Sandbox(sys.argv[1], workers=2, canaries=False) as sandbox:
    sandbox.run(honest)
    print("ready", flush=True)
    try:
        sandbox.map([loop] * 4)
    except KeyboardInterrupt:
        print("interrupted", [o.value for (o,) in sandbox.map([honest] * 9)], flush=True)
"""


def script(code: str, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-c", code, *arguments]
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "unsafe"])
def test_jails_die_with_the_host(backend: str) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", LOOPING, backend],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
    )
    assert host.stdout is not None and host.stdout.readline() == "ready\n"
    time.sleep(0.4)
    descendants = psutil.Process(host.pid).children(recursive=True)
    assert len(descendants) >= 6  # two zygotes and four loops
    host.kill()
    host.wait()
    host.stdout.close()
    _, alive = psutil.wait_procs(descendants, timeout=5)
    for process in alive:
        process.kill()
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def test_an_interrupt_leaves_the_sandbox_usable() -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", LOOPING, "auto"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
        start_new_session=True,
    )
    assert host.stdout is not None and host.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.killpg(host.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
    out, _ = host.communicate(timeout=30)
    assert out == f"interrupted {['1'] * 9}\n"
    assert host.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_an_ordinary_user(backend: str, tmp_path: Path) -> None:
    python, setpriv = shutil.which("python3", path="/usr/bin:/usr/local/bin"), shutil.which("setpriv")
    if not python or not setpriv:
        pytest.skip("needs setpriv and an interpreter that every user may run")
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    if not version.startswith(f"Python 3.{sys.version_info.minor}."):
        pytest.skip("the system's interpreter has another version")
    # Copies, since the test suite itself may lie where only root may look.
    libraries = Path("/tmp") / f"spadelab-user-test-{os.getpid()}"
    try:
        shutil.copytree(
            SOURCES / "spadelab", libraries / "spadelab", ignore=shutil.ignore_patterns("*.safetensors")
        )
        shutil.copytree(Path(msgspec.__file__).parent, libraries / "msgspec")
        libraries.chmod(0o755)
        command = [setpriv, "--reuid", "1001", "--regid", "1001", "--clear-groups", python, "-c"]
        result = subprocess.run(
            [*command, HONEST.replace("BACKEND", repr(backend))],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(libraries), "PATH": "/usr/bin:/bin"},
            timeout=60,
            check=False,
        )
    finally:
        shutil.rmtree(libraries)
    assert result.stdout == f"{backend} 2\n", result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root's own rights are at stake")
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_root_is_dropped_for_the_host_too(backend: str) -> None:
    with Sandbox(backend, workers=1, canaries=False) as sandbox:
        assert sandbox.facts()["layers"]["root_dropped"]
        sandbox.run(Job("def f():\n    return 1\n", (Call("f", ""),)))
        users = set()
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # a child may end while it is looked at
                if process.name() != "bwrap" and process.status() != psutil.STATUS_ZOMBIE:
                    users.add(process.uids().real)
    assert users == {65534}


def test_without_namespaces_landlock_takes_over() -> None:
    """In a user namespace that forbids further ones, as many containers are."""
    paths = find_bwrap()
    if not paths:
        pytest.skip("needs bubblewrap to build such a place")
    prefix = (paths[0], "--unshare-user", "--uid", "1000", "--disable-userns", "--dev-bind", "/", "/", "--")
    auto = script(HONEST.replace("BACKEND", "'auto'"), prefix=prefix)
    assert auto.stdout == "landlock 2\n", auto.stderr
    refused = script(HONEST.replace("BACKEND", "'bubblewrap'"), prefix=prefix)
    assert refused.returncode != 0
    reason = refused.stderr.strip().splitlines()[-1]
    assert "SandboxUnavailable: no jail can be built here (bubblewrap:" in reason
    assert "user namespaces" in reason and "--sandbox unsafe" in reason


def test_a_jail_that_does_not_start_says_why() -> None:
    with pytest.raises(SandboxUnavailable, match="landlock: no such thing"):
        Jail(Launch("landlock", ("/bin/sh", "-c", "echo no such thing >&2"), {}))
    with pytest.raises(SandboxUnavailable, match="No such file"):
        Jail(Launch("bubblewrap", ("/nowhere/bwrap",), {}))


def test_unsafe_is_only_used_when_named() -> None:
    with pytest.raises(ValueError, match="choose auto, bubblewrap, landlock, docker, podman, unsafe"):
        Sandbox("none")
    with Sandbox("unsafe", workers=1) as sandbox:
        assert not sandbox.isolated and sandbox.facts()["layers"]["seccomp"] == ""
        assert sandbox.run(Job("def f():\n    return 1\n", (Call("f", ""),)))[0].value == "1"


def test_the_committed_filters_are_what_the_policy_says() -> None:
    try:
        built = policy.build_all()
    except OSError as error:
        pytest.skip(f"libseccomp is not installed ({error})")
    for name, code in built.items():
        assert (policy.FILTERS / name).read_bytes() == code, f"run python -m spadelab.sandbox.policy ({name})"
