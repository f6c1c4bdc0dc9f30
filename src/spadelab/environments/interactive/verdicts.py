"""What the probes of a draft say: one function a gate, each raises Rejected or passes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spadelab.environments.interactive.contract import Manifest
from spadelab.environments.interactive.hints import check_hint
from spadelab.environments.interactive.places import have_place
from spadelab.environments.interactive.plays import Play
from spadelab.environments.interactive.probes import PROBED, REPLIES, Instance
from spadelab.environments.interactive.session import SLACK, WIN, Fault, Session, episode_return
from spadelab.environments.trials import Rejected

_TYPES = ("bad_type", "output_limit", "output_too_long")
# Session names limits as the jail does; countable names are those of the gates of program tasks.
_CODES = {
    "wall_timeout": "timeout",
    "cpu_timeout": "timeout",
    "output_limit": "output_too_long",
    "protocol_error": "crash",
}
THOUGHTLESS = ("junk", "borrowed", "sweep", "random:actions", "random:words")
"""Groups of probes that do not look at the instance."""


@dataclass(slots=True)
class Evidence:
    """All that was seen of a draft.

    `resets` and `answers`: faults of the first process. `instances` is empty when an answer of
    `solution()` is unusable. `alone`: each solution by the calls of real play, before all else. `plays`:
    the probes, in one process, some of them in turn; `again`: a probe and how it went by the calls of real
    play in another process, in turn with others. `disagreements`: what two processes that were asked the
    same answered differently.
    """

    manifest: Manifest
    machinery: tuple[str, str] | None = None
    load: tuple[str, str] | None = None
    resets: list[tuple[int, Fault]] = field(default_factory=list)
    answers: list[tuple[int, Fault]] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    alone: list[Session] = field(default_factory=list)
    plays: list[Play] = field(default_factory=list)
    again: list[tuple[Play, Session]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def of(self, *groups: str) -> list[Play]:
        """Probes of these groups that met no fault."""
        return [p for p in self.plays if p.policy.partition(":")[0] in groups and p.fault is None]


def reject(fault: Fault, seed: int, what: str = "") -> Rejected:
    """The verdict on a fault."""
    code = "exit" if "exit code" in fault.reason else _CODES.get(fault.code, fault.code)
    return Rejected(code, " ".join(f"on seed {seed} {what} {fault.reason}".split()))


def check_load(evidence: Evidence) -> None:
    """The module can be executed."""
    for failure in (evidence.machinery, evidence.load):
        if failure:
            raise Rejected(*failure)


def check_contract(evidence: Evidence) -> None:
    """Types are those of the contract, on every seed, whatever was played."""
    for seed, fault in evidence.resets:
        raise reject(fault, seed)
    for play in evidence.plays:
        made = play.session.opening or play.dead or not play.policy.startswith("random")
        if play.fault and (play.fault.code in _TYPES or not made):
            raise reject(play.fault, play.seed)
    for session in evidence.alone:
        if session.fault and session.fault.code in _TYPES:
            raise reject(session.fault, session.seed)


def check_determinism(evidence: Evidence) -> None:
    """Two processes agree, with other hash seeds, in another order, other instances played in between."""
    for what in evidence.disagreements:
        raise Rejected("non_deterministic", f"two fresh processes disagree about {what}")
    for play, session in evidence.again:
        if not play.fault and not _agree(play.session, session):
            raise Rejected(
                "non_deterministic",
                f"on seed {play.seed} the same actions give another transcript in a second process or beside"
                " other instances: all randomness must come from random.Random(seed), nothing may be shared",
            )
    solved = {play.seed: play for play in evidence.plays if play.policy == "solution"}
    for session in evidence.alone:
        same = solved.get(session.seed)
        if same and not same.dead and not session.fault and not _agree(same.session, session):
            raise Rejected(
                "non_deterministic",
                f"on seed {session.seed} the solution gives another transcript in a process of its own",
            )


def _agree(one: Session, other: Session) -> bool:
    """Whether two transcripts are equal; what a fault says depends on how it was met."""
    faults = one.fault is None, other.fault is None
    return (one.opening, one.steps, faults[0]) == (other.opening, other.steps, faults[1])


def check_seeds(evidence: Evidence) -> None:
    """Seeds make different instances."""
    seen = {(instance.opening, instance.solution) for instance in evidence.instances}
    transcripts = {(s.opening, tuple(s.steps)) for s in evidence.alone}
    if evidence.instances and len(seen) == 1 and len(transcripts) <= 1:
        raise Rejected("ignores_seed", "all seeds give the same instance: draw it from random.Random(seed)")


def check_solvable(evidence: Evidence) -> None:
    """`solution()` wins on every gate seed."""
    for seed, fault in evidence.answers:
        raise reject(fault, seed)
    for session in evidence.alone:
        if session.fault:
            raise reject(session.fault, session.seed, "playing solution():")
        if session.terminated and episode_return(session) >= WIN:
            continue
        end = "ends" if session.terminated else "has not terminated"
        raise Rejected(
            "unsolvable",
            f"on seed {session.seed} playing solution() {end} after {len(session.steps)} turns with a return"
            f" of {sum(step.reward for step in session.steps):g}: it must terminate with 1 within MAX_TURNS",
        )


def check_nontrivial(evidence: Evidence, most: float) -> None:
    """Players that do not look at the instance win on few; `most`: win rate, in [0, 1], of each group."""
    if _timeout_pays(evidence):
        return  # that is the next gate's finding
    for seed, plays in _by_seed(evidence.of("junk")).items():
        if all(play.won for play in plays):
            raise Rejected("trivial", f"on seed {seed} every action wins, or it is won before it begins")
    fewest = max(2, min(PROBED, len(evidence.instances) - 1))
    policies = defaultdict(list)
    for play in evidence.of("junk", "borrowed", "sweep", "copy", "text", "sink"):
        policies[play.policy].append(play)
    for play in evidence.of("odd"):
        if play.policy == "odd" and play.session.steps:
            policies[f"junk:{play.session.steps[-1].action}"].append(play)
    for policy, plays in policies.items():
        seeds = {play.seed for play in plays}
        if len(seeds) >= fewest and {play.seed for play in plays if play.won} == seeds:
            code = "answer_shown" if policy.startswith("copy") else "trivial"
            raise Rejected(code, f"{_describe(policy)} wins on every seed")
    if _shows_answer(evidence):
        raise Rejected(
            "answer_shown", "the winning actions always stand at the same place of the observation"
        )
    for group in THOUGHTLESS:
        rate, count = _win_rate(evidence, group)
        if beyond_luck(rate, count, most):
            raise Rejected("trivial", f"{_describe(group)} wins {rate:.0%} of the episodes")


def measure_luck(evidence: Evidence) -> float:
    """The win rate of the luckiest play among those at random and the solutions of other instances."""
    return max(_win_rate(evidence, group)[0] for group in THOUGHTLESS if group not in ("junk", "sweep"))


def check_robust(evidence: Evidence) -> None:
    """No legal action is a fault, nothing is paid for running out of turns or after the end."""
    for play in evidence.plays:
        if play.fault and play.fault.code != "reward_range":
            actions = ", ".join(repr(a)[:40] for a in play.actions[-3:])
            raise reject(play.fault, play.seed, f"with actions such as {actions}:")
    if _timeout_pays(evidence):
        raise Rejected(
            "timeout_pays", "running out of turns is rewarded: the last turn pays whatever is played"
        )
    for play in evidence.plays:
        if play.paid_late and play.policy.startswith(("solution", "junk")):
            raise Rejected("pays_after_end", f"on seed {play.seed} a step after the end of the episode pays")


def check_rewards(evidence: Evidence) -> None:
    """Rewards are finite, sum to [0, 1], and depend on the actions."""
    for seed, fault in [(s.seed, s.fault) for s in (*evidence.alone, *(p.session for p in evidence.plays))]:
        if fault:
            raise reject(fault, seed)
    for seed, plays in _by_seed(evidence.of("junk")).items():
        if len(plays) > 2 and min(play.gain for play in plays) > SLACK:
            raise Rejected("action_independent", f"on seed {seed} any action at all is rewarded")
    for seed, plays in _by_seed(evidence.of("borrowed", "random", "own")).items():
        gains = [play.gain for play in plays if not play.won and play.policy != "random:words"]
        if len(gains) > 3 and min(gains) > SLACK and max(gains) - min(gains) < SLACK:
            raise Rejected(
                "action_independent", f"on seed {seed} all wrong actions get the same {gains[0]:g}"
            )


def check_hints(evidence: Evidence) -> None:
    """Hints give nothing away."""
    for instance, session in zip(evidence.instances, evidence.alone, strict=True):
        seen = [session.opening, *(step.observation for step in session.steps)]
        check_hint(instance.hint, [[step.action for step in session.steps]], seen)


def _win_rate(evidence: Evidence, group: str) -> tuple[float, int]:
    """The mean of the seeds' win rates in a group of probes, and the number of seeds.

    Episodes of one seed are no independent samples: what wins one of them may win them all. An episode
    that met a fault is not won.
    """
    plays = _by_seed(p for p in evidence.plays if p.policy.startswith(group))
    rates = [sum(play.won for play in some) / len(some) for some in plays.values()]
    return math.fsum(rates) / max(1, len(rates)), len(rates)


def beyond_luck(rate: float, count: int, most: float) -> bool:
    """Whether a win rate over `count` seeds is more than a true rate of `most` (in [0, 1]) hardly reaches.

    Of 0.25 that is three wins on 3 or 4 seeds, 10 on 24.
    """
    return count > 0 and rate > most + 1.7 * math.sqrt(most * (1 - most) / count)


def _timeout_pays(evidence: Evidence) -> bool:
    """Whether all players of a kind who ran out of turns on some seed were paid for the last one."""
    if evidence.manifest.max_turns == 1:
        return False  # the last turn is the first
    for groups, fewest in ((("junk",), 2), (("borrowed", "own", "random"), 3)):
        for plays in _by_seed(evidence.of(*groups)).values():
            ended = [p for p in plays if p.policy != "random:words" and _ran_out(p)]
            several = len({p.policy for p in ended}) > 1 and len(ended) >= fewest
            if several and all(play.last_turn_paid for play in ended):
                return True
    return False


def _ran_out(play: Play) -> bool:
    steps = play.session.steps
    return len(steps) >= play.max_turns or bool(steps and steps[-1].truncated)


def _shows_answer(evidence: Evidence) -> bool:
    """Whether what wins always stands at one place of what is seen before, or after a mistake.

    That is each action of the solution, all of them, or one of them that wins alone.
    """
    pairs = []
    for session in evidence.alone:
        seen = [session.opening, *(step.observation for step in session.steps)]
        pairs += [(text, step.action) for text, step in zip(seen, session.steps, strict=False)]
    whole = [(session.opening, " ".join(step.action for step in session.steps)) for session in evidence.alone]
    if have_place(pairs) or have_place(whole):
        return True
    openings = {session.seed: session.opening for session in evidence.alone}
    own = evidence.of("own")
    shortcuts = {play.seed: (openings[play.seed], str(play.actions[0])) for play in own if play.won}
    if len(shortcuts) == len({play.seed for play in own}) and have_place(shortcuts.values()):
        return True
    answers = {session.seed: session.steps[0].action for session in evidence.alone if len(session.steps) == 1}
    told: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    mistakes = [play for play in evidence.of("junk", "text") if play.policy != "junk:echo"]
    for play in mistakes:
        for turn, step in enumerate(play.session.steps[: play.max_turns - 1]):
            senseless = play.policy.startswith("junk") or step.action in REPLIES
            if senseless and play.seed in answers and not step.terminated and not step.truncated:
                told[play.policy, turn].append((step.observation, answers[play.seed]))
    seeds = len({play.seed for play in mistakes})
    return any(len(pairs) == seeds and have_place(pairs) for pairs in told.values())


def _by_seed(plays: Iterable[Play]) -> dict[int, list[Play]]:
    found: dict[int, list[Play]] = defaultdict(list)
    for play in plays:
        found[play.seed].append(play)
    return found


def _describe(policy: str) -> str:
    names: Sequence[tuple[str, str]] = (
        ("junk:echo", "repeating the observation"),
        ("junk:", "always playing "),
        ("junk", "always playing the same meaningless text"),
        ("borrowed:whole", "what solves another seed"),
        ("borrowed:", "always playing "),
        ("borrowed", "what solves another seed"),
        ("sweep:words", "playing each word of the observation"),
        ("sweep", "counting or trying every word"),
        ("copy:", "playing these of the opening, "),
        ("text", "saying what any solver might say, or words of the module,"),
        ("sink", "an action that holds several answers"),
        ("random", "random play"),
    )
    start, text = next((start, text) for start, text in names if policy.startswith(start))
    return text + repr(policy[len(start) :])[:40] if text.endswith(" ") else text
