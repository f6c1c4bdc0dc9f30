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
    killed = tmp_path / "killed"
    command = [sys.executable, str(TARGET), str(killed), str(KILLS), "11"]
    hits = int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()[-1])
    # A run that got through between two kills is complete; it must have been hit often before.
    assert hits >= KILLS // 2
    records, weights = digests(killed / "small")
    expected_records, expected_weights = digests(tmp_path / "killed-timing" / "small")
    assert len(weights) >= 4
    assert records == expected_records
    assert weights == expected_weights
    assert not list((killed / "small" / "checkpoints").glob("tmp-*"))
