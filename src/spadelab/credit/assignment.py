"""Credit of one cycle: scored work in, rows for the learners out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from spadelab.config import Settings
from spadelab.credit.advantages import Estimator, trrpp
from spadelab.credit.delays import Held
from spadelab.credit.regret import SkillPotential, beats_luck, plain_returns, window_reward
from spadelab.credit.rewards import count_wins, discount, obeys
from spadelab.credit.rows import PROPOSER, SOLVER, drop_faults, gold_row, proposer_rows, solver_rows
from spadelab.records import Environment, Episode, Generation, Row

Demonstrate = Callable[[Environment], Sequence[Generation]]
MACHINERY = ("jail_died", "unavailable", "held_out")
"""Rejections and faults that are not the draft's: neither paid nor punished."""


def broken_environments(episodes: Iterable[Episode]) -> set[str]:
    """Ids of the environments that broke the contract while they were played: the proposer's fault."""
    return {e.environment for e in episodes if e.score.fault and e.score.outcome not in MACHINERY}


def credit_solver(
    episodes: Sequence[Episode], settings: Settings, estimate: Estimator, version: int
) -> list[Row]:
    """Policy-gradient rows of the faultless plain episodes; none when the method is imitation alone.

    Hinted episodes measure the regret; a policy that will not have the hint learns nothing from them.
    """
    if settings.training.method == "sft":
        return []
    kept = [episode for episode in drop_faults(episodes) if episode.arm == "plain"]
    by_task = settings.credit.advantage in ("grpo", "dr_grpo", "rloo")
    groups = [e.environment if by_task else f"{e.kind}/{SOLVER}" for e in kept]
    rewards = [e.score.reward for e in kept]
    if settings.credit.advantage == "trrpp" and settings.credit.trrpp_level == "token":
        advantages = trrpp(rewards, groups, [_count_sampled(e) for e in kept])
    else:
        advantages = estimate(rewards, groups)
    return solver_rows(kept, advantages, version)


def _count_sampled(episode: Episode) -> int:
    """Tokens of an episode that the solver drew: an observation between them has no weight."""
    sequences = (episode.generation, *episode.continuations)
    return sum(sum(s.sampled) if s.sampled else len(s.ids) for s in sequences)


def unmastered(
    environments: Sequence[Environment], solved: Mapping[str, tuple[int, int]], frontier_only: bool
) -> list[Environment]:
    """The tasks that the solver was measured on and did not always win; frontier: won at least once."""
    measured = [(e, *solved.get(e.id, (0, 0))) for e in environments]
    return [e for e, wins, n in measured if wins < n and (wins > 0 or not frontier_only)]


def credit_gold(
    environments: Sequence[Environment], demonstrate: Demonstrate, settings: Settings, version: int
) -> list[Row]:
    """Imitation rows: right play of every given environment, as execution recorded it."""
    weight = settings.training.gold_weight
    return [
        gold_row(generation, weight, SOLVER, environment.kind, environment.id, version)
        for environment in (environments if weight else ())
        for generation in demonstrate(environment)
    ]


def credit_proposer(
    held: Sequence[Held],
    settings: Settings,
    estimate: Estimator,
    potential: SkillPotential,
    broken: Collection[str],
    copies: Mapping[str, float],
) -> tuple[list[Row], list[float]]:
    """Rows and rewards of the drafts that are due, the rejected ones included.

    A draft that the machinery failed to judge, in the gates or in play, is neither paid nor punished;
    neither is one that happens to be in the held-out benchmark. `broken` has the ids of environments
    that failed in play, `copies` the share of near copies by environment id. Wins that luck explains earn
    nothing.
    """
    judged = [h for h in held if h.admission.rejection not in MACHINERY and _is_measured(h, broken)]
    earned = earn(judged, settings.credit.proposer_reward, potential, broken, settings.credit.delay > 0)
    rewards = []
    for item, value in zip(judged, earned, strict=True):
        environment, asked = item.admission.environment, item.admission.draft.asked
        if value is None or environment is None:
            rewards.append(settings.credit.invalid_reward)
            continue
        obeyed = environment.kind == item.admission.draft.kind
        if not obeyed or not obeys(asked, environment.difficulty, settings.credit.obey_tolerance):
            value = min(value, 0.0)
        returns = plain_returns(item.window)
        if environment.luck and not beats_luck(count_wins(returns), len(returns), environment.luck):
            value = min(value, 0.0)
        rewards.append(discount(value, copies.get(environment.id, 0.0), settings.credit.copy_discount))
    if settings.training.method == "sft" or not settings.proposer.train:
        return [], rewards
    by_task = settings.credit.proposer_advantage in ("grpo", "dr_grpo", "rloo")
    kinds = [item.admission.draft.kind for item in judged]
    groups = kinds if by_task else [f"{kind}/{PROPOSER}" for kind in kinds]
    drafts = [(item.admission.draft, item.version) for item in judged]
    return proposer_rows(drafts, estimate(rewards, groups)), rewards


def earn(
    held: Sequence[Held], rule: str, potential: SkillPotential, broken: Collection[str], delayed: bool
) -> list[float | None]:
    """What the rule pays for each draft; None for rejected drafts and broken environments."""
    sound = [h for h in held if h.admission.environment and h.admission.environment.id not in broken]
    if rule == "learning_potential":
        skills = [h.admission.draft.kind for h in sound]
        values = potential.score(skills, [plain_returns(h.window) for h in sound], delayed)
    else:
        values = [window_reward(rule, h.window) for h in sound]
    paid = {id(h): value for h, value in zip(sound, values, strict=True)}
    return [paid.get(id(h)) for h in held]


def _is_measured(held: Held, broken: Collection[str]) -> bool:
    environment, generation = held.admission.environment, held.admission.draft.generation
    if environment is None:  # without a token it was never written: its prompt left no room
        return generation is None or len(generation.ids) > 0
    return environment.id in broken or bool(held.window)
