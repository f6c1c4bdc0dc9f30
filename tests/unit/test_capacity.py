"""Cores and memory as control groups of both versions give them, and the budget of running programs."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from spadelab.sandbox.capacity import Budget, Memory, count_cores, read_memory

MEMINFO = (
    "MemTotal:       8388608 kB\nMemFree:         102400 kB\nMemAvailable:    4194304 kB\nHugePages:  0\n"
)


def make(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A root folder with /proc and control groups."""
    for name, text in {"proc/meminfo": MEMINFO, "proc/self/cgroup": groups, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V2 = "0::/slice/job\n"
V1 = "4:memory:/slice/job\n3:cpu,cpuacct:/slice/job\n0::/\n"
GROUPS = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("", {}, Memory(8192, 4096)),
        (V2, {f"{GROUPS}/slice/job/memory.max": "max\n"}, Memory(8192, 4096)),
        (
            V2,
            {
                f"{GROUPS}/slice/job/memory.max": "1073741824\n",
                f"{GROUPS}/slice/job/memory.current": "629145600\n",
                f"{GROUPS}/slice/job/memory.stat": "anon 1\ninactive_file 104857600\n",
            },
            Memory(1024, 524),
        ),
        (  # the limit of an outer group, in a container that sees the host's path
            V2,
            {f"{GROUPS}/memory.max": "2147483648\n", f"{GROUPS}/memory.current": "0\n"},
            Memory(2048, 2048),
        ),
        (
            V1,
            {
                f"{GROUPS}/memory/slice/job/memory.limit_in_bytes": "9223372036854771712\n",
                f"{GROUPS}/memory/slice/job/memory.usage_in_bytes": "1\n",
                f"{GROUPS}/memory/slice/memory.limit_in_bytes": "536870912\n",
                f"{GROUPS}/memory/slice/memory.usage_in_bytes": "639631360\n",
                f"{GROUPS}/memory/slice/memory.stat": "inactive_file 0\ntotal_inactive_file 209715200\n",
            },
            Memory(512, 102),
        ),
    ],
)
def test_memory(tmp_path: Path, groups: str, files: dict[str, str], expected: Memory) -> None:
    assert read_memory(make(tmp_path, groups, files)) == expected


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("", {}, 10_000),
        (V2, {f"{GROUPS}/slice/job/cpu.max": "max 100000\n"}, 10_000),
        (V2, {f"{GROUPS}/slice/job/cpu.max": "50000 100000\n"}, 1),
        (V2, {f"{GROUPS}/slice/cpu.max": "150000 100000\n"}, 2),
        (V1, {f"{GROUPS}/cpu/slice/job/cpu.cfs_quota_us": "-1\n", f"{GROUPS}/cpu/cpu.shares": "2"}, 10_000),
        (
            V1,
            {
                f"{GROUPS}/cpu/slice/job/cpu.cfs_quota_us": "100000\n",
                f"{GROUPS}/cpu/slice/job/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
    ],
)
def test_cores(tmp_path: Path, groups: str, files: dict[str, str], quota: int) -> None:
    assert count_cores(make(tmp_path, groups, files)) == min(len(os.sched_getaffinity(0)), quota)


def test_this_machine() -> None:
    memory = read_memory()
    assert 0 <= memory.available <= memory.total and memory.total > 100
    assert 1 <= count_cores() <= (os.cpu_count() or 1)
    assert Budget().total == memory.total // 2


def test_a_budget_bounds_the_sum_and_lets_one_pass() -> None:
    budget = Budget(100)
    assert budget.admit(60, wait=False) and not budget.admit(60, wait=False) and budget.admit(40, wait=False)
    budget.release(60)
    assert budget.admit(60, wait=False)
    for megabytes in (60, 40):
        budget.release(megabytes)
    assert budget.admit(1000, wait=True)  # larger than the budget: alone
    assert not budget.admit(1, wait=False)
    budget.release(1000)


def test_what_waits_for_memory_gets_it() -> None:
    budget = Budget(100)
    assert budget.admit(80, wait=False)
    order: list[str] = []

    def wait() -> None:
        budget.admit(80, wait=True)
        order.append("admitted")

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.1)
    order.append("released")
    budget.release(80)
    thread.join(10)
    assert order == ["released", "admitted"]


def test_a_budget_beyond_what_is_available_is_not_used() -> None:
    budget = Budget(10 * read_memory().total)
    assert budget.admit(1, wait=False)
    assert not budget.admit(read_memory().total, wait=False)
