"""Credit of one cycle: scored work in, rows for the learners out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spadelab.config import Settings
from spadelab.credit.advantages import Estimator, trrpp
from spadelab.credit.rewards import proposer_reward
from spadelab.credit.rows import PROPOSER, SOLVER, drop_faults, gold_row, proposer_rows, solver_rows
from spadelab.records import Admission, Environment, Episode, Row

Encode = Callable[[Environment], tuple[tuple[int, ...], tuple[int, ...]]]


def credit_solver(
    episodes: Sequence[Episode], settings: Settings, estimate: Estimator, version: int
) -> list[Row]:
    """Policy-gradient rows of the faultless episodes; none when the method is imitation alone."""
    if settings.training.method == "sft":
        return []
    kept = drop_faults(episodes)
    by_task = settings.credit.advantage in ("grpo", "dr_grpo", "rloo")
    groups = [e.environment if by_task else f"{e.kind}/{SOLVER}" for e in kept]
    rewards = [e.score.reward for e in kept]
    if settings.credit.advantage == "trrpp" and settings.credit.trrpp_level == "token":
        advantages = trrpp(rewards, groups, [len(e.generation.ids) for e in kept])
    else:
        advantages = estimate(rewards, groups)
    return solver_rows(kept, advantages, version)


def unmastered(
    environments: Sequence[Environment], solved: Mapping[str, tuple[int, int]], frontier_only: bool
) -> list[Environment]:
    """The tasks that the solver was measured on and did not always win; frontier: won at least once."""
    measured = [(e, *solved.get(e.id, (0, 0))) for e in environments]
    return [e for e, wins, n in measured if wins < n and (wins > 0 or not frontier_only)]


def credit_gold(
    environments: Sequence[Environment], encode: Encode, settings: Settings, version: int
) -> list[Row]:
    """Imitation rows: the executed answer of every given task.

    `encode` gives the prompt's and the gold completion's token ids.
    """
    weight = settings.training.gold_weight
    if weight == 0:
        return []
    return [
        gold_row(*encode(environment), weight, SOLVER, environment.kind, environment.id, version)
        for environment in environments
    ]


def credit_proposer(
    admissions: Sequence[Admission],
    solved: Mapping[str, tuple[int, int]],
    settings: Settings,
    estimate: Estimator,
    version: int,
) -> tuple[list[Row], list[float]]:
    """Rows and rewards of all drafts, the rejected ones included.

    A draft that the machinery failed to judge, in the gates or in play, is neither paid nor punished;
    neither is one that happens to be in the held-out benchmark.
    """
    credit = settings.credit
    judged = [
        a
        for a in admissions
        if a.rejection not in ("jail_died", "unavailable", "held_out")
        and (a.environment is None or solved.get(a.environment.id, (0, 0))[1])
    ]
    rewards = []
    for admission in judged:
        wins, n = solved.get(admission.environment.id, (0, 0)) if admission.environment else (0, 0)
        rewards.append(
            proposer_reward(
                admission, wins, n, credit.proposer_reward, credit.obey_tolerance, credit.invalid_reward
            )
        )
    if settings.training.method == "sft" or not settings.proposer.train:
        return [], rewards
    by_task = credit.proposer_advantage in ("grpo", "dr_grpo", "rloo")
    groups = [a.draft.kind if by_task else f"{a.draft.kind}/{PROPOSER}" for a in judged]
    return proposer_rows(judged, estimate(rewards, groups), version), rewards
