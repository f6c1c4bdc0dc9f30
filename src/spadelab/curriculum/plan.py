"""What is asked for and what is played next: difficulty targets, the pool, and the two baselines."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from spadelab.config import Settings
from spadelab.credit.rewards import obeys
from spadelab.curriculum.buffer import Buffer
from spadelab.curriculum.difficulty import Band, DifficultyTarget
from spadelab.curriculum.skills import SkillBandit
from spadelab.records import Admission, Environment
from spadelab.roles.proposer import Request

# Tasks of the "fixed" baseline: written once by the start proposer at uniform difficulty.
FIXED_TASKS = {"programs": 512, "interactive": 128}
BUFFER_CAPACITY = 1024
# Latest unmastered tasks that are imitated again.
LESSONS = 512


class Curriculum:
    """Difficulty targets per task kind, the bandit over kinds, the pool, and the mode of the run."""

    def __init__(self, settings: Settings, seeds: Iterable[Environment]) -> None:
        play = settings.self_play
        self.mode, self.size, self.references = play.mode, play.tasks_per_round, settings.proposer.references
        self.fixed_tasks = FIXED_TASKS[play.family]
        self.tolerance = settings.credit.obey_tolerance
        self.shares = {kind: share for kind, share in play.task_types.items() if share > 0}
        self.targets: dict[str, DifficultyTarget] = {
            kind: DifficultyTarget(
                play.start_of(kind),
                Band(1.0, play.limit_of(kind), play.low, play.high, play.step, play.replay, ahead=play.ahead),
            )
            for kind in self.shares
        }
        self.bandit = SkillBandit(self.shares, play.bandit)
        self.buffer = Buffer(BUFFER_CAPACITY)
        self.seeds = [seed for seed in seeds if seed.kind in self.shares]
        self.revisits = round(play.revisit * self.size)
        self.holdout, self.interval = play.holdout, play.regenerate_every
        self.fixed: list[Environment] = self.seeds if self.mode == "library" else []
        # What each player goes on with until the next regeneration.
        self.current: dict[str, list[Environment]] = {}
        self.lessons: list[Environment] = []

    def plan(self, cycle: int, stream: random.Random) -> list[Request]:
        """The drafts to ask for in this cycle; none while the last ones are still played."""
        if self.mode == "library" or (self.mode == "fixed" and self.fixed) or cycle % self.interval:
            return []
        count = self.fixed_tasks if self.mode == "fixed" else self.size - self.revisits
        shares = self.bandit.shares()
        kinds = stream.choices(list(shares), weights=list(shares.values()), k=count)
        return [Request(kind, self._difficulty(kind, stream), self._examples(kind, stream)) for kind in kinds]

    def enrol(self, admissions: Iterable[Admission], writer: str, cycle: int) -> list[Admission]:
        """The admissions with their environments signed by `writer`, and known from now on.

        Whoever writes them again, in this cycle or later, has written a copy: an environment has one writer.
        """
        signed = []
        for admission in admissions:
            if admission.environment:
                environment = replace(admission.environment, writer=writer)
                self.buffer.add(environment, 0, 0, cycle)
                admission = replace(admission, environment=environment)
            signed.append(admission)
        return signed

    def select(
        self,
        cycle: int,
        admissions: Sequence[Admission],
        stream: random.Random,
        player: str = "solver",
        players: int = 1,
        avoided: str | None = None,
    ) -> list[Environment]:
        """The environments that `player`, one of `players`, plays: the new ones, and some of the pool.

        The pool makes up for drafts that failed, with nothing that `avoided` wrote. Between two
        regenerations each player goes on with the ones it got.
        """
        size = self.size // players
        new = [a.environment for a in admissions if a.environment is not None]
        if self.mode in ("fixed", "library"):
            self.fixed = self.fixed + new
            others = [environment for environment in self.fixed if environment.writer != avoided]
            return stream.sample(others, min(size, len(others)))
        if cycle % self.interval == 0:
            missing = max(0, size - len(new))
            self.current[player] = new + self.buffer.sample(missing, stream, avoided=avoided)
        return self.current.get(player, [])

    def is_held_out(self, environment: Environment) -> bool:
        """Whether an environment is measured only; its id decides, so it never changes sides."""
        return self.holdout > 0 and int(environment.id[:8], 16) < self.holdout * 2**32

    def learn(self, lessons: Sequence[Environment], count: int, stream: random.Random) -> list[Environment]:
        """Tasks whose answers are imitated in this cycle: `lessons`, and `count` earlier ones again.

        Two thirds of the earlier ones are lessons not long ago, one third are mastered tasks.
        """
        past = stream.sample(self.lessons, min(count * 2 // 3, len(self.lessons)))
        past += self.buffer.replay(count - len(past), stream)
        self.lessons = [*self.lessons, *lessons][-LESSONS:]
        return [*lessons, *past]

    def update(
        self,
        cycle: int,
        admissions: Sequence[Admission],
        environments: Sequence[Environment],
        solved: dict[str, tuple[int, int]],
    ) -> None:
        """Move the targets by the new tasks' solve rates and remember every measured task.

        What is not in `solved` broke the contract while it was played: it leaves the pool.
        """
        new = {a.environment.id for a in admissions if a.environment is not None}
        rates: defaultdict[str, list[float]] = defaultdict(list)
        for environment in environments:
            wins, n = solved.get(environment.id, (0, 0))
            # The pool is trained on again: what is held out is known there, against copies, and no more.
            kept = (0, 0) if self.is_held_out(environment) else (wins, n)
            self.buffer.add(environment, *kept, cycle)
            if environment.id not in solved:
                self.buffer.remove(environment.key)
            if n and environment.id in new and environment.kind in self.targets:
                rates[environment.kind].append(wins / n)
            if n and environment.kind in self.shares:
                self.bandit.update(environment.kind, 0 < wins < n)
        if self.mode != "self_play":
            return
        for kind, values in rates.items():
            written = [(a.draft, a.environment) for a in admissions if a.environment]
            obeyed = [
                draft.kind == kind and obeys(draft.asked, environment.difficulty, self.tolerance)
                for draft, environment in written
                if environment.kind == kind
            ]
            self.targets[kind].update(sum(values) / len(values), sum(obeyed) / len(obeyed))

    def _difficulty(self, kind: str, stream: random.Random) -> int:
        if self.mode == "self_play":
            return self.targets[kind].sample(stream)
        return stream.randint(1, self.targets[kind].band.highest)

    def _examples(self, kind: str, stream: random.Random) -> tuple[Environment, ...]:
        found = self.buffer.references(kind, self.references, stream)
        return tuple(found or [seed for seed in self.seeds if seed.kind == kind][: self.references])

    def describe(
        self, environments: Sequence[Environment], solved: dict[str, tuple[int, int]]
    ) -> dict[str, Any]:
        """Targets, shares of kinds, and the solve rate of what is never trained on, as metrics."""
        kept = [solved[e.id] for e in environments if self.is_held_out(e) and solved.get(e.id, (0, 0))[1]]
        measured = {"holdout_rate": sum(w / n for w, n in kept) / len(kept)} if kept else {}
        return {
            "target": {kind: target.value for kind, target in self.targets.items()},
            "shares": self.bandit.shares(),
            **measured,
        }

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {
            "bandit": self.bandit.state(),
            "current": msgspec.to_builtins(self.current),
            "targets": {kind: target.state() for kind, target in self.targets.items()},
            "buffer": self.buffer.state(),
            "fixed": msgspec.to_builtins(self.fixed),
            "lessons": msgspec.to_builtins(self.lessons),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        for kind, target in self.targets.items():
            target.restore(state["targets"][kind])
        self.bandit.restore(state["bandit"])
        self.current = msgspec.convert(state["current"], dict[str, list[Environment]])
        self.buffer.restore(state["buffer"])
        self.fixed = msgspec.convert(state["fixed"], list[Environment])
        self.lessons = msgspec.convert(state["lessons"], list[Environment])
