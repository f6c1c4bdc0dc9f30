"""The cycle: propose, gate, play, credit, step, curriculum, store. The only file that knows this order."""

from __future__ import annotations

import ctypes
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from spadelab.config import Settings
from spadelab.credit import assignment
from spadelab.credit.advantages import Rae, make_estimator
from spadelab.credit.assignment import MACHINERY
from spadelab.credit.delays import DelayedCredit
from spadelab.credit.regret import Arms, SkillPotential, pair_arms
from spadelab.credit.rewards import solve_counts
from spadelab.curriculum.plan import Curriculum
from spadelab.evaluation.metrics import describe_cycle
from spadelab.families import make_family
from spadelab.families.family import Stateful, play_limits, withhold
from spadelab.learning.players import Players
from spadelab.records import Admission, Cycle, Environment, Episode, Row
from spadelab.rng import Streams
from spadelab.roles.proposer import Request
from spadelab.sandbox import Sandbox
from spadelab.stopwatch import Stopwatch

Rows = dict[str, list[Row]]
"""What each player learns from."""


class Loop:
    """The state of a run between cycles, and the step from one cycle to the next."""

    def __init__(self, settings: Settings, sandbox: Sandbox, withheld: frozenset[str] = frozenset()) -> None:
        self.settings, self.sandbox, self.withheld = settings, sandbox, withheld
        self.streams = Streams(settings.run.seed)
        self.players = Players(settings)
        self.family = make_family(settings, sandbox)
        self.curriculum = Curriculum(settings, self.family.seeds())
        self.limits = play_limits(settings)
        self.estimators = {
            "solver": make_estimator(settings.credit.advantage),
            "proposer": make_estimator(settings.credit.proposer_advantage),
        }
        self.delays = {name: DelayedCredit(settings.credit.delay) for name in self.players.writers}
        self.potential = SkillPotential()
        # Ids of environments that broke the contract in play.
        self.broken: set[str] = set()
        self.next_cycle = 0
        # Seconds of computing and of wall clock, over all the processes that worked on this run.
        self.spent = self.elapsed = 0.0

    def run(self, more: Callable[[], bool]) -> Iterator[Cycle]:
        """Cycle after cycle while the budget lasts and `more()` says so."""
        minutes, seconds = self.settings.run.minutes, self.settings.run.cpu_seconds
        while self.next_cycle < self.settings.cycles and more():
            if self.elapsed >= 60 * (minutes or float("inf")) or self.spent >= (seconds or float("inf")):
                return
            yield self.step()

    def step(self) -> Cycle:
        """One cycle: every pair of players writes and plays, then everyone learns."""
        number, watch = self.next_cycle, Stopwatch(self.sandbox)
        rows: Rows = defaultdict(list)
        admissions: list[Admission] = []
        environments: dict[str, Environment] = {}
        episodes: list[Episode] = []
        draws = self.streams.python("curriculum")
        pairs = self.players.pair(self.streams.python("pairs"))
        requests = self.curriculum.plan(number, draws)
        for index, (writer, player) in enumerate(pairs):
            written = self.write(writer, requests[index :: len(pairs)], watch)
            avoided = self.players.avoided(player)
            chosen = self.curriculum.select(number, written, draws, player, len(pairs), avoided)
            with watch.measure("model"):
                played = self.family.play(self.players.policies[player], chosen, self.streams)
            self.broken |= assignment.broken_environments(played)
            rows[player] += self.teach(player, chosen, played)
            admissions, episodes = admissions + written, episodes + played
            environments |= {environment.id: environment for environment in chosen}
        arms = pair_arms(episode for episode in episodes if episode.environment not in self.broken)
        paid = [self.pay(writer, arms, rows) for writer in self.delays]
        rewards, copies = (list(chain.from_iterable(part)) for part in zip(*paid, strict=True))
        with watch.measure("learner"):
            learned = self.players.step(rows, self.streams.python("minibatches"))
        solved = {name: counts for name, counts in solve_counts(episodes).items() if name not in self.broken}
        chosen = list(environments.values())
        self.curriculum.update(number, admissions, chosen, solved)
        self.family.remember(admissions, chosen, solved)
        self.next_cycle = number + 1
        self.spent, self.elapsed = self.spent + watch.spent, self.elapsed + watch.elapsed
        timings = {"spent": self.spent, "elapsed": self.elapsed, "programs": watch.programs, **watch.seconds}
        tolerance = self.settings.credit.obey_tolerance
        metrics = {"learner": learned} | self.curriculum.describe(chosen, solved)
        metrics |= describe_cycle(admissions, chosen, episodes, solved, arms, rewards, copies, tolerance)
        return Cycle(number, metrics, admissions, chosen, episodes, timings)

    def write(self, writer: str, requests: list[Request], watch: Stopwatch) -> list[Admission]:
        """Drafts through the gates, with second attempts where the settings want them."""
        model, number, known = self.players.policies[writer], self.next_cycle, self.curriculum.buffer.known
        stream = self.streams.torch("proposer")
        admissions: list[Admission] = []
        with watch.measure("model"):
            drafts = self.family.write(model, requests, number, stream)
        for attempt in range(1 + self.settings.proposer.repairs):
            with watch.measure("sandbox"):
                judged = self.family.admit(model, drafts, known, number, self.streams)
            allowed = [withhold(admission, self.withheld) for admission in judged]
            admissions += self.curriculum.enrol(allowed, writer, number)
            failed = [a for a in allowed if a.environment is None and a.rejection not in MACHINERY]
            if attempt == self.settings.proposer.repairs or not failed:
                break
            with watch.measure("model"):
                drafts = self.family.repair(model, failed, number, stream)
        for admission in admissions:
            self.delays[writer].hold(number, admission, model.version)
        return admissions

    def teach(self, player: str, environments: list[Environment], episodes: list[Episode]) -> list[Row]:
        """The solver's rows: its own play, and right play of what it has not mastered."""
        settings, model = self.settings, self.players.policies[player]
        taught = [e for e in environments if e.id not in self.broken and not self.curriculum.is_held_out(e)]
        names = {environment.id for environment in taught}
        trained = [episode for episode in episodes if episode.environment in names]
        rows = assignment.credit_solver(trained, settings, self.estimators["solver"], model.version)
        lessons = assignment.unmastered(
            taught, solve_counts(trained), settings.training.gold_tasks == "frontier"
        )
        draws = self.streams.python("curriculum")
        lessons = self.curriculum.learn(lessons, settings.training.gold_replay, draws)
        return rows + assignment.credit_gold(
            lessons, lambda e: self.family.demonstrate(model, e), settings, model.version
        )

    def pay(self, writer: str, arms: Mapping[str, Arms] | None, rows: Rows) -> tuple[list[float], ...]:
        """Add the rows of the drafts that are due, of all with `arms` None; rewards, and shares of copies."""
        delayed = self.delays[writer]
        for name, returns in (arms or {}).items():
            delayed.observe(self.next_cycle, name, returns)
        held = delayed.flush() if arms is None else delayed.due(self.next_cycle)
        copies = self.family.copies([h.admission.environment for h in held if h.admission.environment])
        paid, rewards = assignment.credit_proposer(
            held, self.settings, self.estimators["proposer"], self.potential, self.broken, copies
        )
        rows[writer] += paid
        return rewards, list(copies.values())

    def flush(self) -> None:
        """Pay for the drafts that still wait for their reward: the end of the run."""
        rows: Rows = defaultdict(list)
        for writer in self.delays:
            self.pay(writer, None, rows)
        if any(rows.values()):
            self.players.step(rows, self.streams.python("minibatches"))

    def files(self) -> dict[str, bytes | Callable[[Path], None]]:
        """Everything that has state, as checkpoint files; a good moment to give unused memory back."""
        release_memory()
        counters = {
            "next_cycle": self.next_cycle,
            "spent": self.spent,
            "elapsed": self.elapsed,
            "broken": sorted(self.broken),
        }
        state = counters | {name: part.state() for name, part in self._parts()}
        return {**self.players.files(), "state.json": json.dumps(state).encode()}

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint folder."""
        state = json.loads((folder / "state.json").read_bytes())
        self.next_cycle, self.spent, self.elapsed = state["next_cycle"], state["spent"], state["elapsed"]
        self.broken = set(state["broken"])
        for name, part in self._parts():
            part.restore(state[name])
        self.players.restore(folder)

    def _parts(self) -> Iterator[tuple[str, Stateful]]:
        yield from (("streams", self.streams), ("curriculum", self.curriculum), ("family", self.family))
        yield "potential", self.potential
        yield from ((f"delayed {name}", delayed) for name, delayed in self.delays.items())
        yield from ((f"baselines {k}", e) for k, e in self.estimators.items() if isinstance(e, Rae))


def release_memory() -> None:
    """Let the C library return its free pages: tensors of ever other sizes leave it with tens of MiB."""
    with suppress(AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)
