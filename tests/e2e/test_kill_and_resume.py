"""kill -9 anywhere, then resume: the same weights and the same records, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spadelab.store.run import Run

TARGET = Path(__file__).with_name("kill_target.py")
KILLS = 20


def digests(run: Path) -> tuple[str, dict[str, bytes]]:
    with Run.open(run, writable=False) as opened:
        records = opened.digest()
    weights = {p.name: p.read_bytes() for p in sorted((run / "checkpoints").glob("[0-9]*/*.safetensors"))}
    models = {str(p.relative_to(run)): p.read_bytes() for p in sorted(run.glob("models/*/*.safetensors"))}
    return records, weights | models


def test_killed_twenty_times_equals_never_killed(tmp_path):
    command = [sys.executable, str(TARGET), str(tmp_path), str(KILLS), "11"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    hits, runs = map(int, output.split()[-2:])
    assert hits == KILLS
    records, weights = digests(tmp_path / "reference" / "small")
    assert len(weights) >= 4
    for run in range(1, runs + 1):
        folder = tmp_path / f"run{run}" / "small"
        assert digests(folder) == (records, weights)
        assert not list((folder / "checkpoints").glob("tmp-*"))
