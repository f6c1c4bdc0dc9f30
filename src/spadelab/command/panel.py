"""How a run is watched: a live panel on a terminal, one plain line an event anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from spadelab.command.progress import Measure, Progress, rates, show_duration
from spadelab.config import Settings

if TYPE_CHECKING:
    from spadelab.evaluation.heldout import HeldOutResult
    from spadelab.records import Cycle

WIDTH = 96
REFRESHES_PER_SECOND = 2


class Audience:
    """Keeps the progress of a run and shows it in plain lines. A context manager.

    `stopping` tells whether the user asked for an end.
    """

    live = False

    def __init__(self, progress: Progress, stream: IO[str] | None) -> None:
        self.progress, self._stream = progress, stream
        self.stopping: Callable[[], bool] = lambda: False

    def stage(self, text: str) -> None:
        """What the run does now."""
        self.progress.enter(text)
        self.say(text)

    def cycle(self, cycle: Cycle) -> None:
        """A cycle is over."""
        self.progress.take_cycle(cycle)
        self.say(describe_cycle_line(self.progress))

    def heldout(self, label: str, result: HeldOutResult) -> None:
        """A held-out measure is over."""
        interval = result.accuracy
        self.progress.take_measure(
            Measure(label, interval.estimate, interval.low, interval.high, result.by_kind())
        )
        kinds = "  ".join(f"{kind} {value:.3f}" for kind, value in result.by_kind().items())
        self.say(f"held-out ({label})  {self.progress.heldout[-1]}  {kinds}")

    def say(self, line: str) -> None:
        """Print a line at once."""
        if self._stream:
            print(line, file=self._stream, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


class LiveAudience(Audience):
    """Shows a panel that renews itself; what is said scrolls by above it."""

    live = True

    def __init__(self, progress: Progress, console: Console) -> None:
        super().__init__(progress, None)
        self._live = Live(
            get_renderable=lambda: draw_panel(self.progress, self.stopping()),
            console=console,
            refresh_per_second=REFRESHES_PER_SECOND,
        )

    def cycle(self, cycle: Cycle) -> None:
        """A cycle is over: the panel shows it."""
        self.progress.take_cycle(cycle)

    def say(self, line: str) -> None:
        """Print a line above the panel."""
        self._live.console.print(Text(line))

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


def open_audience(settings: Settings, heldout: list[Measure], as_json: bool, quiet: bool) -> Audience:
    """The audience for this terminal; with `as_json` stdout belongs to the result, lines go to stderr."""
    progress = Progress(settings, heldout=heldout)
    stream = sys.stderr if as_json else sys.stdout
    if quiet:
        return Audience(progress, None)
    console = Console(file=stream, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveAudience(progress, console)
    return Audience(progress, stream)


def describe_cycle_line(progress: Progress) -> str:
    """One cycle as a plain line."""
    cycle = progress.last
    assert cycle is not None
    metrics = cycle.metrics
    parts = [
        f"cycle {cycle.number + 1}/{progress.settings.cycles}",
        f"valid {metrics['valid']:.0%}",
        f"solved {show_kinds(metrics['solve_rate'], '.0%')}",
        f"difficulty {show_kinds(metrics['difficulty'], '.1f')}",
        f"asked {show_kinds(metrics['target'], '.1f')}",
        f"reward {metrics['proposer_reward']:+.2f}",
        *(f"{value:.0f} {name}" for name, value in rates(cycle).items()),
        f"{show_duration(cycle.timings.get('elapsed', 0.0))} used",
        f"{show_duration(progress.remaining)} left",
    ]
    return "  ".join(parts)


def show_kinds(values: dict[str, float], form: str) -> str:
    """ "abd 33% ded 45%": one value for each task type, "-" when there is none."""
    return " ".join(f"{kind[:3]} {value:{form}}" for kind, value in sorted(values.items())) or "-"


def draw_panel(progress: Progress, stopping: bool) -> Panel:
    """The whole panel from what is known so far."""
    so_far = show_duration(time.monotonic() - progress.started)
    clock = Text.assemble(
        ("stopping after this cycle; Ctrl-C again stops at once" if stopping else progress.stage, "bold"),
        f"   {so_far} so far, {show_duration(progress.remaining)} left",
    )
    parts: list[Text | Table] = [clock]
    if progress.last is not None:
        bar = Table.grid(expand=True)  # a bar alone would not end its line
        bar.add_row(ProgressBar(total=1.0, completed=progress.share))
        parts += [bar, _draw_kinds(progress.last)]
    if progress.last is not None or progress.heldout:
        parts.append(_draw_numbers(progress))
    title = f"spadelab  {progress.settings.run_path}"
    return Panel(Group(*parts), title=title, title_align="left", width=WIDTH, border_style="dim")


def _draw_kinds(cycle: Cycle) -> Table:
    metrics = cycle.metrics
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("task type", "solved", "difficulty written", "difficulty asked"):
        table.add_column(name, justify="left" if name == "task type" else "right", header_style="dim")
    for kind in sorted({*metrics["target"], *metrics["solve_rate"]}):
        table.add_row(
            kind,
            _show(metrics["solve_rate"].get(kind), ".0%"),
            _show(metrics["difficulty"].get(kind), ".1f"),
            _show(metrics["target"].get(kind), ".1f"),
        )
    return table


def _draw_numbers(progress: Progress) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    cycle, measures = progress.last, progress.heldout
    if cycle is not None:
        table.add_row(
            f"cycle {cycle.number + 1}/{progress.settings.cycles}",
            f"valid {cycle.metrics['valid']:.0%}",
            f"proposer reward {cycle.metrics['proposer_reward']:+.2f}",
        )
        saved = (
            "none yet"
            if progress.saved is None
            else f"{show_duration(time.monotonic() - progress.saved)} ago"
        )
        speeds = [f"{value:.0f} {name}" for name, value in rates(cycle).items()]
        table.add_row(*([*speeds, "", ""][:2]), f"checkpoint {saved}")
    if measures:
        latest = f"latest {measures[-1]} ({measures[-1].label})" if len(measures) > 1 else ""
        table.add_row("held-out", f"start {measures[0]}", latest)
    return table


def _show(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
