"""What a watcher of a run sees: lines, panel, estimates, and how Ctrl-C is heard."""

from __future__ import annotations

import io
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from spadelab.command.interruption import Interruption
from spadelab.command.panel import Audience, LiveAudience, describe_cycle_line, draw_panel, open_audience
from spadelab.command.progress import Measure, Progress, rates, show_duration
from spadelab.config import Settings
from spadelab.evaluation.heldout import HeldOutResult
from spadelab.records import Admission, Cycle, Draft, Generation

METRICS = {
    "valid": 0.875,
    "solve_rate": {"abduction": 0.25, "deduction": 0.5},
    "difficulty": {"abduction": 3.5, "deduction": 4.0},
    "target": {"abduction": 3.0, "deduction": 4.25, "induction": 2.0},
    "proposer_reward": -0.125,
    "tokens": 3000,
}
TIMINGS = {"model": 1.5, "sandbox": 0.5, "learner": 1.0, "programs": 200.0, "elapsed": 30.0, "spent": 24.0}
WRITTEN = Draft("d", "deduction", "", 3, Generation("", (), (5,) * 150, (0.0,) * 150, "stop"))
CYCLE = Cycle(9, METRICS, [Admission(WRITTEN, ())], [], [], TIMINGS)
SETTINGS = Settings.model_validate({"self_play": {"rounds_per_iteration": 40}, "run": {"name": "watched"}})


def draw(progress: Progress, stopping: bool = False, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(draw_panel(progress, stopping))
    return console.export_text()


def test_a_cycle_is_one_plain_line_with_everything_in_it() -> None:
    progress = Progress(SETTINGS)
    progress.take_cycle(CYCLE)
    line = describe_cycle_line(progress)
    assert "\n" not in line and "\x1b" not in line
    for part in (
        "cycle 10/40",
        "valid 88%",
        "solved abd 25% ded 50%",
        "difficulty abd 3.5 ded 4.0",
        "asked abd 3.0 ded 4.2 ind 2.0",
        "reward -0.12",
        "2100 tok/s",
        "400 programs/s",
        "30 s used",
        "1 min 30 s left",
    ):
        assert part in line


@pytest.mark.parametrize(
    ("run", "share"),
    [({}, 0.25), ({"minutes": 1}, 0.5), ({"cpu_seconds": 30}, 0.8), ({"minutes": 0.25}, 1.0)],
)
def test_the_tightest_budget_decides_how_far_the_run_is(run: dict[str, float], share: float) -> None:
    progress = Progress(SETTINGS.model_copy(update={"run": SETTINGS.run.model_copy(update=run)}))
    assert progress.share == 0 and progress.remaining is None
    progress.take_cycle(CYCLE)
    assert progress.share == pytest.approx(share)
    assert progress.remaining == pytest.approx(30 * (1 - share) / share)


def test_the_last_measure_counts_in_what_remains() -> None:
    progress = Progress(SETTINGS)
    progress.enter("measuring")
    progress.stage_started = time.monotonic() - 100
    progress.take_measure(Measure("start", 0.4, 0.37, 0.43, {}))
    progress.take_cycle(CYCLE)
    assert progress.remaining == pytest.approx(90 + 100, abs=1)


def test_the_panel_shows_the_state_of_the_run() -> None:
    progress = Progress(SETTINGS, heldout=[Measure("start", 0.4, 0.37, 0.43, {})])
    assert "runs/watched" in draw(progress) and "start 0.400 [0.370, 0.430]" in draw(progress)
    assert "latest" not in draw(progress)
    progress.take_cycle(CYCLE)
    progress.take_measure(Measure("cycle 10", 0.5, 0.47, 0.53, {}))
    text = draw(progress)
    for part in ("10/40", "88%", "-0.12", "2100 tok/s", "400 programs/s", "latest 0.500", "(cycle 10)"):
        assert part in text
    assert any(line.startswith("│ task type") for line in text.splitlines())
    (row,) = [line for line in text.splitlines() if "deduction" in line]
    assert [cell for cell in row.split() if cell[0].isdigit()] == ["50%", "4.0", "4.2"]
    (row,) = [line for line in text.splitlines() if "induction" in line]
    assert row.split()[2:5] == ["-", "-", "2.0"]
    assert "learning" in text and "stopping" not in text
    assert "stopping after this cycle" in draw(progress, stopping=True)


def test_the_panel_dates_the_newest_checkpoint() -> None:
    progress = Progress(SETTINGS)
    progress.take_cycle(replace(CYCLE, number=8))
    assert "checkpoint none yet" in draw(progress)
    progress.take_cycle(CYCLE)
    assert progress.saved is not None
    progress.saved -= 65
    assert "checkpoint 1 min 05 s ago" in draw(progress)


def test_a_cycle_without_tasks_can_be_shown() -> None:
    empty = METRICS | {"solve_rate": {}, "difficulty": {}, "tokens": 0, "valid": 0.0}
    progress = Progress(SETTINGS)
    progress.take_cycle(replace(CYCLE, metrics=empty, admissions=[], timings={"elapsed": 0.0}))
    assert "solved -" in describe_cycle_line(progress)
    assert "0%" in draw(progress, width=40)
    assert rates(progress.last or CYCLE) == {}


def test_plain_lines_come_at_once_and_without_colour() -> None:
    stream = io.StringIO()
    audience = Audience(Progress(SETTINGS), stream)
    audience.stage("measuring on 4 held-out tasks (start)")
    audience.heldout("start", HeldOutResult(("deduction", "induction"), (1, 1), (1.0, 0.0), 0))
    audience.cycle(CYCLE)
    first, second, third = stream.getvalue().splitlines()
    assert first == "measuring on 4 held-out tasks (start)"
    assert second.startswith("held-out (start)  0.500 [") and "deduction 1.000" in second
    assert third.startswith("cycle 10/40") and "\x1b" not in stream.getvalue()


def test_the_live_panel_stops_cleanly_and_keeps_what_was_said() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, _environ={"TERM": "xterm"})
    audience = LiveAudience(Progress(SETTINGS), console)
    with audience:
        audience.stage("a [stage] with brackets")
        audience.cycle(CYCLE)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "a [stage] with brackets" in text and "10/40" in text
    assert text.rstrip().endswith("\x1b[?25h")  # the cursor is visible again


def test_pipes_and_quiet_get_no_panel(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json, quiet in ((False, False), (True, False), (False, True)):
        audience = open_audience(SETTINGS, [], as_json, quiet)
        assert not audience.live
        audience.say("a line")
    out, err = capsys.readouterr()
    assert out == err == "a line\n"  # plain: stdout; JSON: stderr; quiet: nowhere


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "?"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (7620, "2 h 07 min"),
    ],
)
def test_durations_are_for_people(seconds: float | None, text: str) -> None:
    assert show_duration(seconds) == text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_aborts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with Interruption("stopping soon") as interruption:
        assert not interruption.asked
        os.kill(os.getpid(), number)
        assert interruption.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
    assert capfd.readouterr().err == "\nstopping soon\n"


def test_command_files_are_free_of_torch_where_help_needs_them() -> None:
    """`spadelab --help` must come at once: what the command line imports at its top may not be heavy."""
    import spadelab.cli
    import spadelab.command.boundary as boundary

    for module in (spadelab.cli, boundary):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        top = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
        assert not [line for line in top if any(name in line for name in ("torch", "transformers", "rich"))]
