"""Every attack ends in its typed outcome, the same zygotes answer on, the next program finds nothing of it.

The last part takes layers out, and sees attacks get through: a suite that cannot fail is worthless.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from attacks import CLASSES
from attacks.ablation import run, runs_on, weaken
from attacks.attack import REACH
from attacks.siege import SECRET, Result, besiege

from spadelab import sandbox as package
from spadelab.sandbox import Call, Job, Limits, Sandbox, self_test
from spadelab.sandbox.backends import find_bwrap

ATTACKS = {f"{group}: {attack.name}": attack for group, some in CLASSES.items() for attack in some}
BACKENDS = ("bubblewrap", "landlock")
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the attacks use the system-call numbers of x86_64"
)


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    os.environ["SPADELAB_CANARY"] = SECRET
    with Sandbox(request.param, workers=2, allowed_packages=("numpy",)) as opened:
        assert opened.isolated
        yield opened
    del os.environ["SPADELAB_CANARY"]


@pytest.fixture(scope="module")
def siege(sandbox: Sandbox) -> tuple[dict[str, Result], list[str]]:
    """All attacks in one batch."""
    results, left = besiege(sandbox, list(ATTACKS.values()))
    return dict(zip(ATTACKS, results, strict=True)), left


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_contained(name: str, siege: tuple[dict[str, Result], list[str]]) -> None:
    result = siege[0][name]
    assert result.contained, (result.outcome, result.attack.expected)
    assert result.forgotten, result.after


def test_nothing_is_left_behind(siege: tuple[dict[str, Result], list[str]]) -> None:
    assert siege[1] == []


def test_there_are_enough_attacks() -> None:
    names = [attack.name for some in CLASSES.values() for attack in some]
    assert len(names) == len(ATTACKS) >= 250 and len(CLASSES) == 9
    assert min(map(len, CLASSES.values())) >= 10


WAIT = (
    REACH
    + """
def f():
    page = ctypes.cast(LIBC.syscall, ctypes.c_void_p).value & ~4095
    value = ctypes.c_int.from_address(page).value
    until = (ctypes.c_long * 2)(1, 0)
    return LIBC.syscall(ctypes.c_long(202), ctypes.c_void_p(page), 0, value, ctypes.byref(until), None, 0)
"""
)
WAKE = (
    REACH
    + """
def f():
    page = ctypes.cast(LIBC.syscall, ctypes.c_void_p).value & ~4095
    woken = 0
    for _ in range(10):
        mods["time"].sleep(0.05)
        woken += max(0, LIBC.syscall(ctypes.c_long(202), ctypes.c_void_p(page), 1, 100, None, None, 0))
    return woken
"""
)


def test_programs_that_run_side_by_side_cannot_wake_each_other(sandbox: Sandbox) -> None:
    """A futex in the read-only pages of libc is one and the same in every process."""
    (waited,), (woken,) = sandbox.map([Job(source, (Call("f", ""),)) for source in (WAIT, WAKE)])
    assert (waited.value, woken.value) == ("-1", "0")


def test_many_hungry_programs_at_once(sandbox: Sandbox) -> None:
    hungry = Job("def f(n):\n    return len(bytearray(n))\n", (Call("f", str(60 << 20)),), Limits(20, 5, 96))
    assert {outcome.value for (outcome,) in sandbox.map([hungry] * 24)} == {str(60 << 20)}


def test_canaries(sandbox: Sandbox) -> None:
    results = self_test(sandbox)
    assert len(results) >= 12
    assert all(result.contained for result in results), results
    assert all(sandbox.facts()["canaries"].values())


def test_the_zygote_is_confined_itself(sandbox: Sandbox) -> None:
    facts = sandbox.facts()
    assert facts["layers"]["landlock"] > 0 or facts["backend"] == "bubblewrap"
    seen = 0
    for process in psutil.Process().children(recursive=True):
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a child that has just ended
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if status["Name"] == "bwrap" or status["State"].startswith("Z"):
            continue
        seen += 1
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert int(status["Uid"].split()[0]) != 0
    assert seen >= 2


@pytest.mark.skipif(os.geteuid() != 0, reason="run by an ordinary user, the tests above are this one")
@pytest.mark.parametrize("backend", BACKENDS)
def test_attacks_against_an_ordinary_user(backend: str) -> None:
    python, setpriv = shutil.which("python3", path="/usr/bin:/usr/local/bin"), shutil.which("setpriv")
    if not python or not setpriv:
        pytest.skip("needs setpriv and an interpreter that every user may run")
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    if not version.startswith(f"Python 3.{sys.version_info.minor}."):
        pytest.skip("the system's interpreter has another version")
    # Copies, since the test suite itself may lie where only root may look.
    libraries = Path("/tmp") / f"spadelab-siege-{backend}-{os.getpid()}"
    try:
        sandbox = libraries / "spadelab" / "sandbox"
        shutil.copytree(Path(package.__file__).parent, sandbox)
        (libraries / "spadelab" / "__init__.py").touch()
        shutil.copytree(Path(msgspec.__file__).parent, libraries / "msgspec")
        shutil.copytree(Path(__file__).parent / "attacks", libraries / "attacks")
        libraries.chmod(0o755)
        result = subprocess.run(
            [
                setpriv,
                "--reuid",
                "1001",
                "--regid",
                "1001",
                "--clear-groups",
                python,
                "-m",
                "attacks.siege",
                backend,
            ],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(libraries), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            timeout=120,
            check=False,
        )
    finally:
        shutil.rmtree(libraries)
    count = len(ATTACKS) - len(CLASSES["packages"])
    assert result.stdout == f"{count} attacks as user 1001\n", result.stderr


# --- without a layer ----------------------------------------------------------------------------

PLAIN = ("child filter", "landlock", "namespaces")
BOTH = ("child filter", "zygote filter")
# Missing layers, and what an attack gives then; None is any value.
BREACHES: list[tuple[tuple[str, ...], str, str | None]] = [
    (("child filter",), "network: pipe", "(4, 5)"),
    (("child filter",), "files: duplicate a descriptor", "4"),
    (("child filter",), "files: system call flock", "0"),
    (("child filter",), "processes: kill the zygote", "None"),
    (("child filter",), "processes: system call executable mapping", "0"),
    (("child filter",), "processes: own number", None),
    (("child filter", "rlimits"), "processes: fork that ends at once", "True"),
    (("child filter", "rlimits"), "processes: raise own limits", "None"),
    (("child filter", "landlock"), "files: list root", None),
    (PLAIN, "files: list root", None),
    (PLAIN, "files: read passwd", None),
    (BOTH, "files: memfd", "4"),
    (BOTH, "network: socket AF_INET", "4"),
    (BOTH, "network: socket pair", "4"),
    (("rlimits",), "resources: memory by malloc", None),
]


@pytest.fixture(scope="module")
def bubblewrap() -> None:
    if not find_bwrap():
        pytest.skip("needs bubblewrap")


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("missing", dict.fromkeys(layers for layers, _, _ in BREACHES), ids="+".join)
def test_without_a_layer_attacks_get_through(missing: tuple[str, ...]) -> None:
    with weaken(*missing) as jail:
        for layers, name, value in BREACHES:
            if layers == missing:
                outcome = run(jail, ATTACKS[name])
                assert not Result(ATTACKS[name], outcome, outcome).contained, name
                assert outcome.kind == "value", (name, outcome)
                assert value is None or outcome.value == value, (name, outcome)


@pytest.mark.usefixtures("bubblewrap")
def test_the_second_wall_stands_when_the_first_has_fallen() -> None:
    """Without the child's filter the zygote's, Landlock, the mounts and the limits each stop something."""
    with weaken("child filter") as jail:
        fallen = [
            run(jail, ATTACKS[name]) for name in ("files: memfd", "files: read passwd", "processes: fork")
        ]
    assert [(o.kind, o.error) for o in fallen] == [
        ("program_error", "PermissionError"),
        ("program_error", "PermissionError"),
        ("program_error", "BlockingIOError"),
    ]
    assert fallen[1].message == "[Errno 13] Permission denied: '/etc/passwd'"
    with weaken("child filter", "zygote filter", "landlock") as jail:
        hidden = run(jail, ATTACKS["files: read passwd"])
    # Of /etc there is only a folder, which root has made for itself.
    assert hidden.error == ("PermissionError" if os.geteuid() == 0 else "FileNotFoundError")


@pytest.mark.usefixtures("bubblewrap")
def test_without_a_deadline_or_a_limit_of_cpu_time_a_loop_goes_on() -> None:
    with weaken() as jail:
        assert runs_on(jail, ATTACKS["resources: endless loop"], 0.5)
        assert not runs_on(jail, ATTACKS["rewards: success by exit code"], 0.5)
    with weaken("rlimits") as jail:
        outcome = run(jail, ATTACKS["resources: processor time"], Limits(wall_seconds=1.5, cpu_seconds=0.5))
        assert outcome.kind == "wall_timeout"


@pytest.mark.usefixtures("bubblewrap")
def test_a_jail_with_all_layers_contains_the_same_attacks() -> None:
    with weaken() as jail:
        for _, name, _ in BREACHES:
            outcome = run(jail, ATTACKS[name])
            assert Result(ATTACKS[name], outcome, outcome).contained, (name, outcome)
