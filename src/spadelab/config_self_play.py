"""The settings of the cycle: what is written, how hard, and what is played again."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Family = Literal["programs", "interactive"]
ProgramKind = Literal["deduction", "abduction", "induction"]
Skill = Literal[
    "mathematical_reasoning",
    "logical_deduction",
    "spatial_reasoning",
    "pattern_recognition",
    "optimization",
    "causal_inference",
]
Kind = ProgramKind | Skill
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Difficulty = Annotated[float, Field(ge=1)]
Temperature = Annotated[float, Field(gt=0, le=10)]

# Where the bundled solver's warm start ends, and where the bundled proposer's does.
FIRST_DIFFICULTY: dict[Kind, Difficulty] = {"deduction": 5.0, "abduction": 4.0, "induction": 1.0}
LARGEST_DIFFICULTY: dict[Kind, Difficulty] = {"deduction": 24.0, "abduction": 24.0, "induction": 12.0}
# The same for skills: turns of an environment's own solution.
FIRST_TURNS, LARGEST_TURNS = 3.0, 12.0


class Section(BaseModel):
    """What all sections share: no unknown keys, no changes after loading, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())


class SelfPlaySettings(Section):
    """The cycle and its difficulty target."""

    family: Family = "programs"
    """What is written: program tasks, or whole multi-turn environments."""
    mode: Literal["self_play", "fixed", "uniform", "library"] = "self_play"
    """The baselines: "fixed" (one task set), "uniform" (no curriculum), "library" (hand-written ones)."""
    population: int = Field(default=1, ge=1, le=8)
    """Players; beyond 1 each cycle pairs every proposer with the solver of another player."""
    iterations: Count = 1
    rounds_per_iteration: Count = 100
    """Cycles in an iteration; the run has `iterations * rounds_per_iteration` cycles."""
    tasks_per_round: Count = 48
    """Drafts in a cycle, over all task types."""
    initial_difficulty: Difficulty | dict[Kind, Difficulty] = FIRST_DIFFICULTY
    """Executed statements asked for at first; one number, or one for each task type."""
    max_difficulty: Difficulty | dict[Kind, Difficulty] = LARGEST_DIFFICULTY
    """Most executed statements ever asked for; one number, or one for each task type."""
    task_types: dict[Kind, NonNegative] = {"deduction": 0.4, "abduction": 0.4, "induction": 0.2}
    """Relative share of each task type; a type that is not named gets none."""
    step: float = Field(default=1.0, gt=0)
    """Change of the difficulty target after a cycle outside [low, high]."""
    low: Share = 0.2
    high: Share = 0.35
    """Solve rates between which the difficulty target stays."""
    ahead: Share = 0.4
    """How far above the target is still asked for, as a share of it; at least one statement."""
    replay: Share = 0.25
    """Share of drafts asked for below the target, against forgetting."""
    revisit: Share = 0.0
    """Share of the played environments that come from the pool instead of new drafts."""
    bandit: Share = 0.0
    """How far the shares of task types follow what is learnable: 0 not at all, 1 entirely."""
    holdout: float = Field(default=0.0, ge=0, lt=1)
    """Share of admitted environments that are played and measured, but never trained on."""
    regenerate_every: Count = 1
    """Cycles that a set of environments is played before new ones are written."""

    @model_validator(mode="after")
    def _check_relations(self) -> Self:
        if self.low >= self.high:
            raise ValueError(
                f"self_play.low is {self.low} and self_play.high is {self.high}, but low must be the lesser"
            )
        for kind in self.task_types:
            if (kind in FIRST_DIFFICULTY) != (self.family == "programs"):
                raise ValueError(
                    f"self_play.task_types names {kind}, which is not of the family "
                    f'"{self.family}" (setting self_play.family)'
                )
            if self.start_of(kind) > self.limit_of(kind):
                raise ValueError(
                    f"self_play.initial_difficulty is {self.start_of(kind):g} for {kind}, but it must not "
                    f"exceed self_play.max_difficulty ({self.limit_of(kind):g})"
                )
        if not sum(self.task_types.values()) > 0:
            raise ValueError("self_play.task_types has no share above 0, but one type must have one")
        return self

    def start_of(self, kind: Kind) -> float:
        """The first difficulty target of a task type."""
        return _of(self.initial_difficulty, kind, FIRST_DIFFICULTY.get(kind, FIRST_TURNS))

    def limit_of(self, kind: Kind) -> float:
        """The highest difficulty target of a task type."""
        return _of(self.max_difficulty, kind, LARGEST_DIFFICULTY.get(kind, LARGEST_TURNS))


def _of(value: float | dict[Kind, float], kind: Kind, default: float) -> float:
    return value.get(kind, default) if isinstance(value, dict) else value
