"""How much may run at once: the cores and the memory that this process may use.

What counts is real memory. A program that runs counts with its whole limit, since it may take it at any
moment. A session that waits for its next call counts with what it holds, whatever its limit is: the
kernel's figure of available memory has that taken off already, and all that others use as well.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_READ_EVERY = 0.25  # seconds; in that time a machine can fill only a part of the half that stays free
_CGROUPS = Path("sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Memory:
    """Mebibytes that this process and its children may use in all, and may still take."""

    total: int
    available: int


def count_cores(root: Path = Path("/")) -> int:
    """Cores that this process may use: its affinity, and no more than the quota of its control groups.

    `root` is where /proc and /sys are found.
    """
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for folder in _find_groups(root, "cpu"):
        quota, period = _read_quota(folder)
        if quota > 0 and period > 0:
            cores = min(cores, quota / period)
    return max(1, math.ceil(cores))


def read_memory(root: Path = Path("/")) -> Memory:
    """Memory of the machine, or of the tightest control group around this process."""
    total, available = _read_machine(root)
    for folder in _find_groups(root, "memory"):
        limit = _read_number(folder / "memory.max", folder / "memory.limit_in_bytes")
        used = _read_number(folder / "memory.current", folder / "memory.usage_in_bytes")
        if limit is not None and used is not None and limit < total:
            total = limit
            available = min(available, max(0, limit - used + _read_cache(folder)))
    return Memory(total >> 20, available >> 20)


class Budget:
    """The memory of the programs that run at the same time, in mebibytes. Safe to use from many threads.

    `total` bounds the sum of their limits, half of the memory by default; they also fit into what is
    available now. One program may always run, so that nothing waits for ever.
    """

    def __init__(self, total: int | None = None) -> None:
        self.total = total or read_memory().total // 2
        self._reserved = 0
        self._running = 0
        self._available = 0
        self._read_at = -math.inf
        self._change = threading.Condition()

    def admit(self, megabytes: int, wait: bool) -> bool:
        """Reserve room for a program; without room, wait until others are done, or answer False.

        Only a caller that runs nothing itself may wait. `release` gives the room back.
        """
        with self._change:
            while not self._has_room(megabytes):
                if not wait:
                    return False
                self._change.wait(_READ_EVERY)
            self._reserved += megabytes
            self._running += 1
            return True

    def release(self, megabytes: int) -> None:
        """The program is done; what a session still holds is seen by the kernel."""
        with self._change:
            self._reserved -= megabytes
            self._running -= 1
            self._change.notify_all()

    def _has_room(self, megabytes: int) -> bool:
        wanted = self._reserved + megabytes
        return not self._running or (wanted <= self.total and wanted <= self._read_available())

    def _read_available(self) -> int:
        now = time.monotonic()
        if now - self._read_at > _READ_EVERY:
            self._available = read_memory().available
            self._read_at = now
        return self._available


def _read_machine(root: Path) -> tuple[int, int]:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return size, size
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return kilobytes["MemTotal"] << 10, kilobytes["MemAvailable"] << 10


def _find_groups(root: Path, controller: str) -> Iterator[Path]:
    """Folders of the control groups around this process, in both versions, innermost first.

    In a container the path may be the host's and lead nowhere: what is mounted is then the own group.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / _CGROUPS / controller if controllers else root / _CGROUPS
        folder = base / path.lstrip("/")
        while folder != base:
            if folder.is_dir():
                yield folder
            folder = folder.parent
        yield base


def _read_quota(folder: Path) -> tuple[float, float]:
    """(microseconds of CPU time, in so many microseconds), 0 for no bound."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return (0.0 if quota == "max" else float(quota)), float(period)
    except (OSError, ValueError):
        pass
    old = [_read_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
    return float(old[0] or 0), float(old[1] or 0)


def _read_number(*paths: Path) -> int | None:
    """The number in the first file that holds one; "max" is none."""
    for path in paths:
        try:
            return int(path.read_text())
        except (OSError, ValueError):
            continue
    return None


def _read_cache(folder: Path) -> int:
    """Bytes of files that the kernel drops when memory is wanted."""
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    counts = dict(line.split() for line in lines)
    return int(counts.get("total_inactive_file", counts.get("inactive_file", 0)))
