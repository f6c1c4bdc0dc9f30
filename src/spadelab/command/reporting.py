"""The verb `report`: a run's HTML report, written again."""

from __future__ import annotations

from pathlib import Path

from spadelab.command.boundary import print_json
from spadelab.evaluation.report import write_report
from spadelab.store.run import Run


def report(folder: Path, as_json: bool) -> int:
    """Write the report of the run in `folder`, also while it is going on, and print its path."""
    with Run.open(folder, writable=False) as run:
        path = write_report(run)
    if as_json:
        print_json({"report": str(path)})
    else:
        print(path)
    return 0
