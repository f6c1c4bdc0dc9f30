"""The cycle: propose, gate, play, credit, step, curriculum, store. The only file that knows this order."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spadelab.config import Settings
from spadelab.credit.advantages import Rae, make_estimator
from spadelab.credit.assignment import credit_gold, credit_proposer, credit_solver, unmastered
from spadelab.credit.rewards import solve_counts
from spadelab.curriculum.plan import Curriculum
from spadelab.environments.programs import GateSettings, admit, gold, shape_key
from spadelab.environments.seeds import identity_environments
from spadelab.evaluation.metrics import describe_cycle
from spadelab.learning.players import Players
from spadelab.play.episodes import play
from spadelab.records import Admission, Check, Environment, Episode
from spadelab.rng import Streams
from spadelab.roles.proposer import propose
from spadelab.roles.solver import solver_prompt
from spadelab.sandbox import Limits, Sandbox


@dataclass(frozen=True, slots=True)
class Cycle:
    """All that happened in one cycle. `timings` are not reproducible, the rest is.

    They are seconds, but for "programs": the number of programs that the sandbox ran.
    """

    number: int
    metrics: dict[str, Any]
    admissions: list[Admission]
    environments: list[Environment]
    episodes: list[Episode]
    timings: dict[str, float]


class Loop:
    """The state of a run between cycles, and the step from one cycle to the next."""

    def __init__(self, settings: Settings, sandbox: Sandbox, withheld: frozenset[str] = frozenset()) -> None:
        self.settings, self.sandbox, self.withheld = settings, sandbox, withheld
        self.streams = Streams(settings.run.seed)
        self.players = Players(settings)
        self.curriculum = Curriculum(settings, identity_environments())
        self.limits = self.limits_of(settings)
        self.gates = GateSettings(limits=self.limits)
        self.estimators = {
            "solver": make_estimator(settings.credit.advantage),
            "proposer": make_estimator(settings.credit.proposer_advantage),
        }
        self.next_cycle = 0
        # Seconds of computing and of wall clock, over all the processes that worked on this run.
        self.spent = self.elapsed = 0.0

    @staticmethod
    def limits_of(settings: Settings) -> Limits:
        """The limits of one program in the jail."""
        box = settings.sandbox
        return Limits(box.timeout_seconds, box.timeout_seconds, box.memory_limit_mb)

    def run(self, more: Callable[[], bool]) -> Iterator[Cycle]:
        """Cycle after cycle while the budget lasts and `more()` says so."""
        minutes, seconds = self.settings.run.minutes, self.settings.run.cpu_seconds
        while self.next_cycle < self.settings.cycles and more():
            if self.elapsed >= 60 * (minutes or float("inf")) or self.spent >= (seconds or float("inf")):
                return
            yield self.step()

    def step(self) -> Cycle:
        """One cycle."""
        number, settings = self.next_cycle, self.settings
        timings: dict[str, float] = defaultdict(float)
        started, clock, executed = computing(self.sandbox), time.monotonic(), self.sandbox.executions
        draws, solver = self.streams.python("curriculum"), self.players.solver
        with timed(timings, "model"):
            requests = self.curriculum.plan(number, draws)
            drafts = propose(
                self.players.proposer, requests, settings, number, self.streams.torch("proposer")
            )
        with timed(timings, "sandbox"):
            admissions = admit(drafts, self.sandbox, self.gates, self.curriculum.buffer.known, number)
        admissions = [self.withhold(admission) for admission in admissions]
        environments = self.curriculum.select(admissions, draws)
        waited = self.sandbox.seconds
        with timed(timings, "model"):
            episodes = play(
                solver,
                environments,
                settings.solver.rollouts,
                settings.solver,
                self.sandbox,
                self.limits,
                self.streams.torch("solver"),
            )
        timings["sandbox"] += self.sandbox.seconds - waited
        timings["model"] -= self.sandbox.seconds - waited
        solved = solve_counts(episodes)
        rows = credit_solver(episodes, settings, self.estimators["solver"], solver.version)
        lessons = unmastered(environments, solved, settings.training.gold_tasks == "frontier")
        lessons = self.curriculum.learn(lessons, settings.training.gold_replay, draws)
        rows += credit_gold(lessons, self.encode_gold, settings, solver.version)
        proposer_rows, rewards = credit_proposer(
            admissions, solved, settings, self.estimators["proposer"], self.players.proposer.version
        )
        with timed(timings, "learner"):
            learned = self.players.step(rows + proposer_rows, self.streams.python("minibatches"))
        self.curriculum.update(number, admissions, environments, solved)
        self.next_cycle = number + 1
        self.spent += computing(self.sandbox) - started
        self.elapsed += time.monotonic() - clock
        programs = float(self.sandbox.executions - executed)
        timings |= {"spent": self.spent, "elapsed": self.elapsed, "programs": programs}
        targets = {kind: target.value for kind, target in self.curriculum.targets.items()}
        metrics = {"target": targets, "learner": learned} | describe_cycle(
            admissions, environments, episodes, solved, rewards, settings.credit.obey_tolerance
        )
        return Cycle(number, metrics, admissions, environments, episodes, dict(timings))

    def withhold(self, admission: Admission) -> Admission:
        """Refuse a draft whose program is in the held-out benchmark."""
        environment = admission.environment
        if environment is None or self.withheld.isdisjoint((environment.key, shape_key(environment.source))):
            return admission
        check = Check("held_out", False, "held_out", "the program is part of the held-out benchmark")
        return replace(admission, checks=(*admission.checks, check), environment=None)

    def encode_gold(self, environment: Environment) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Token ids of the solver's prompt and of the completion that execution proved right."""
        solver = self.players.solver
        prompt = solver_prompt(environment, self.settings.solver.prompts)
        return solver.encode_prompt(prompt), solver.encode_completion(gold(environment))

    def files(self) -> dict[str, bytes | Callable[[Path], None]]:
        """Everything that has state, as checkpoint files."""
        state = {
            "next_cycle": self.next_cycle,
            "spent": self.spent,
            "elapsed": self.elapsed,
            "streams": self.streams.state(),
            "curriculum": self.curriculum.state(),
            "baselines": {k: e.state() for k, e in self.estimators.items() if isinstance(e, Rae)},
        }
        return {**self.players.files(), "state.json": json.dumps(state).encode()}

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint folder."""
        state = json.loads((folder / "state.json").read_bytes())
        self.next_cycle, self.spent, self.elapsed = state["next_cycle"], state["spent"], state["elapsed"]
        self.streams.restore(state["streams"])
        self.curriculum.restore(state["curriculum"])
        for name, estimator in self.estimators.items():
            if isinstance(estimator, Rae):
                estimator.restore(state["baselines"][name])
        self.players.restore(folder)


def computing(sandbox: Sandbox) -> float:
    """CPU seconds of this process plus the time it waited for the jails, which compute meanwhile."""
    return time.process_time() + sandbox.seconds


@contextmanager
def timed(timings: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds of the block to `timings[name]`."""
    start = time.perf_counter()
    yield
    timings[name] += time.perf_counter() - start
