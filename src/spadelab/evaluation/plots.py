"""The report's plots: numbers in, inline SVG out. Matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spadelab.evaluation.findings import Series
from spadelab.evaluation.metrics import histogram
from spadelab.evaluation.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE, AFTER, ACCENT, FAINT = "#a3adba", "#1f5fa8", "#c2571a", "#d5dae1"
KIND_COLOURS = {"deduction": "#1f5fa8", "abduction": "#c2571a", "induction": "#2f8552"}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small files, and the page's own font
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": "#39424e",
    "text.parse_math": False,
    "axes.edgecolor": "#b6bec9",
    "axes.labelcolor": "#39424e",
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e8ebef",
    "xtick.color": "#6b7684",
    "ytick.color": "#6b7684",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}
Panel = Callable[["Axes"], None]


def draw(name: str, panels: Sequence[Panel], height: float = 2.9, width: float = 10.2) -> str:
    """One SVG element with the panels side by side. Equal input gives equal text; `name` keeps ids apart."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own matplotlibrc says
        settings: Any = {**STYLE, "svg.hashsalt": name}
        matplotlib.rcParams.update(settings)
        figure = Figure(figsize=(width, height), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            panel(axes)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    svg = buffer.getvalue()
    # The prologue is for files of their own; the numbered ids are the same in every figure, and unused.
    return re.sub(r' id="[a-z0-9]+_\d+"', "", svg[svg.index("<svg") :])


def plot_accuracy(before: Mapping[str, Interval], after: Mapping[str, Interval]) -> str:
    """Grouped bars with intervals: accuracy by group of tasks, before and (where measured) after."""

    def panel(axes: Axes) -> None:
        width = 0.38 if after else 0.5
        for offset, values, colour, label in ((-1, before, BEFORE, "start"), (1, after, AFTER, "now")):
            places = [i + (offset * width / 2 if after else 0) for i in range(len(values))]
            heights = [interval.estimate for interval in values.values()]
            if values:
                axes.bar(places, heights, width * 0.94, color=colour, label=label)
                axes.errorbar(
                    places, heights, _spread(values.values()), fmt="none", ecolor="#39424e", capsize=3
                )
            for x, interval in zip(places, values.values(), strict=True):
                axes.annotate(f"{interval.estimate:.3f}", (x, interval.high), (0, 3), **_ABOVE)
        axes.set_xticks(range(len(before)), list(before))
        axes.grid(False, axis="x")
        _finish(axes, "Held-out accuracy", limit=(0, 1.08), legend=True)

    return draw("accuracy", [panel], height=3.0)


def plot_levels(before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]) -> str:
    """Accuracy by difficulty level, a panel for each task type."""

    def make(kind: str) -> Panel:
        def panel(axes: Axes) -> None:
            for cells, colour, label in ((before, BEFORE, "start"), (after, AFTER, "now")):
                points = sorted((int(level), value) for level, value in cells.get(kind, {}).items())
                if points:
                    axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=label)
            _finish(axes, kind, "difficulty level (statements)", limit=(-0.03, 1.05), legend=True)

        return panel

    return draw("levels", [make(kind) for kind in before])


def plot_heldout(points: Sequence[tuple[int, Interval]]) -> str:
    """Held-out accuracy over the cycles at which it was measured."""

    def panel(axes: Axes) -> None:
        cycles, intervals = [cycle for cycle, _ in points], [interval for _, interval in points]
        axes.plot(cycles, [i.estimate for i in intervals], color=AFTER, marker="o", markersize=4)
        axes.fill_between(
            cycles, [i.low for i in intervals], [i.high for i in intervals], color=AFTER, alpha=0.15
        )
        _finish(axes, "Held-out accuracy over the run", "cycle")

    return draw("heldout", [panel], height=2.6)


def plot_difficulty(written: Mapping[str, Series], targets: Mapping[str, Series]) -> str:
    """Difficulty of admitted drafts and the difficulty target over cycles, a panel for each task type."""

    def make(kind: str) -> Panel:
        def panel(axes: Axes) -> None:
            if kind in written:
                _trend(axes, written[kind], _colour(kind), "written")
            if kind in targets:
                axes.plot(*targets[kind], color="#39424e", linewidth=1.2, linestyle="--", label="target")
            _finish(axes, kind, "cycle", legend=True)
            axes.set_ylim(bottom=0)

        return panel

    return draw("difficulty", [make(kind) for kind in sorted({*written, *targets})])


def plot_judged(stretches: Sequence[str], difficulty: Sequence[float], rates: Sequence[Interval]) -> str:
    """The same proposals twice: their difficulty as written, and the frozen start model's solve rate."""
    places = range(len(stretches))

    def harder(axes: Axes) -> None:
        axes.bar(places, difficulty, 0.55, color=FAINT)
        for x, value in zip(places, difficulty, strict=True):
            axes.annotate(f"{value:.1f}", (x, value), (0, 3), **_ABOVE)
        axes.set_xticks(places, list(stretches))
        _finish(axes, "Difficulty as written (statements)", "cycles")
        axes.margins(y=0.15)

    def solved(axes: Axes) -> None:
        values = [interval.estimate for interval in rates]
        axes.errorbar(places, values, _spread(rates), color=ACCENT, marker="o", markersize=5, capsize=4)
        axes.set_xticks(places, list(stretches))
        axes.set_xlim(-0.5, len(stretches) - 0.5)
        _finish(axes, "Solve rate of the frozen start model", "cycles", limit=(0, 1))

    return draw("judged", [harder, solved])


def plot_histogram(early: Sequence[float], late: Sequence[float], episodes: int) -> str:
    """Shares of early and late tasks by solve rate, each rate its own bar where `episodes` are few."""
    bins = min(episodes - 1, 10)
    if bins == episodes - 1:
        labels = [f"{wins}/{episodes}" for wins in range(episodes + 1)]
    else:
        labels = ["0", *(f"{i / bins:.1f} to {(i + 1) / bins:.1f}" for i in range(bins)), "1"]

    def panel(axes: Axes) -> None:
        width = 0.4 if late else 0.6
        for offset, rates, colour, label in ((-1, early, BEFORE, "early"), (1, late, AFTER, "late")):
            places = [i + (offset * width / 2 if late else 0) for i in range(len(labels))]
            if rates:
                counts = [count / len(rates) for count in histogram(rates, bins)]
                axes.bar(places, counts, width * 0.94, color=colour, label=label)
        axes.set_xticks(range(len(labels)), labels)
        _finish(axes, "Share of tasks by solve rate", "solve rate", legend=True)

    return draw("histogram", [panel], height=2.7)


def plot_progress(solve_rates: Mapping[str, Series], valid: Series, obeyed: Series, reward: Series) -> str:
    """Solve rate by task type, share of valid and of obedient drafts, and the proposer's reward."""

    def solving(axes: Axes) -> None:
        for kind, series in solve_rates.items():
            _trend(axes, series, _colour(kind), kind)
        _finish(axes, "Solve rate", "cycle", limit=(0, 1.02), legend=bool(solve_rates))

    def writing(axes: Axes) -> None:
        _trend(axes, valid, AFTER, "valid")
        _trend(axes, obeyed, ACCENT, "as asked")
        _finish(axes, "Drafts: valid, and written as asked", "cycle", limit=(0, 1.02), legend=True)

    def paying(axes: Axes) -> None:
        _trend(axes, reward, AFTER, "")
        _finish(axes, "Proposer reward (mean)", "cycle")

    return draw("progress", [solving, writing, paying])


_ABOVE: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 9}


def _trend(axes: Axes, series: Series, colour: str, label: str) -> None:
    """The values, faint, and their running mean over about a twentieth of the run."""
    cycles, values = series
    if len(values) < 20:
        axes.plot(cycles, values, color=colour, marker="o", markersize=3, label=label)
        return
    half = len(values) // 40
    windows = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    axes.plot(cycles, values, color=colour, linewidth=0.8, alpha=0.3)
    axes.plot(cycles, [sum(window) / len(window) for window in windows], color=colour, label=label)


def _finish(
    axes: Axes, title: str, bottom: str = "", limit: tuple[float, float] | None = None, legend: bool = False
) -> None:
    axes.set_title(title)
    axes.set_xlabel(bottom)
    axes.tick_params(length=0)
    if limit:
        axes.set_ylim(*limit)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best")
    if bottom in ("cycle", "difficulty level (statements)"):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))


def _spread(intervals: Any) -> list[list[float]]:
    """Distances below and above the estimates, as error bars want them."""
    pairs = [(i.estimate - i.low, i.high - i.estimate) for i in intervals]
    return [[low for low, _ in pairs], [high for _, high in pairs]]


def _colour(kind: str) -> str:
    return KIND_COLOURS.get(kind, "#6a4c93")
