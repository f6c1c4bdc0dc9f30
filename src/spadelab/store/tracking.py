"""Metrics as TensorBoard events, for those who watch their runs there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spadelab.errors import UserError


class Tracker:
    """Writes every number of a cycle's metrics, `a/b` for nested ones.

    Raises UserError where TensorBoard is not installed.
    """

    def __init__(self, folder: Path, first_cycle: int) -> None:
        """What an interrupted run wrote from `first_cycle` on is marked as gone."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError(
                "run.tensorboard is true, but TensorBoard is not installed; pip install 'spadelab[track]', "
                "or set run.tensorboard=false."
            ) from None
        self._writer = SummaryWriter(str(folder), purge_step=first_cycle)

    def record(self, cycle: int, metrics: Mapping[str, Any]) -> None:
        """Write one cycle."""
        for name, value in flatten(metrics):
            self._writer.add_scalar(name, value, cycle)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def flatten(metrics: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a nested mapping with their paths; texts and lists are left out."""
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)):
            yield f"{prefix}{name}", float(value)
