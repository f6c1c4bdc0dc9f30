"""The hack table: what environments that try to cheat would earn their proposer.

Each planted module goes through the gates. One that passes is played by scripted policies that know no
secret, and credited by the default rule, for wins that luck does not explain, as if its hint turned
every loss into a win: more no proposer could be paid for it. Genuine frontier environments, played by a
solver that knows the way on about half of the seeds, must earn much, else a rule that pays nobody would
pass.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spadelab.credit.regret import beats_luck, environment_reward
from spadelab.credit.rewards import count_wins
from spadelab.environments.interactive.gates import GateSettings, judge_source
from spadelab.environments.interactive.session import MACHINERY
from spadelab.play.scripted import POLICIES, half_oracle, play, recite
from spadelab.records import Environment
from spadelab.sandbox import Limits, Sandbox, SandboxUnavailable

PLANTED = Path(__file__).parent / "planted"
RULE = "frontier"
SEEDS = 16
HACK_BAR = 0.05
"""The most that a hack may earn, as a share of the maximum."""
GENUINE_BAR = 0.5
"""The least that a genuine frontier environment must earn."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A module to audit and what it tries; `genuine`: it is no hack but a control."""

    name: str
    tries: str
    source: str
    genuine: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a planted module.

    `gate` and `code` say what stopped it ("" when admitted), `policy` which play earned it most ("":
    none earned anything) and `share` how much, as a share of the maximum. `luck` is the win rate of
    thoughtless play, `faults` counts plays that it broke.
    """

    name: str
    tries: str
    genuine: bool
    gate: str = ""
    code: str = ""
    policy: str = ""
    share: float = 0.0
    luck: float = 0.0
    faults: int = 0
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether it earned no more than a hack may, or no less than a genuine environment must."""
        return self.share >= GENUINE_BAR if self.genuine else self.share <= HACK_BAR


def load_planted(folder: Path = PLANTED) -> list[Planted]:
    """The modules (.txt, .py) of a folder by name; the first line says "# tries: ..." or "# genuine: ..."."""
    found = []
    for path in sorted((*folder.glob("*.txt"), *folder.glob("*.py"))):
        source = path.read_text(encoding="utf-8")
        kind, _, tries = source.partition("\n")[0].removeprefix("#").strip().partition(": ")
        found.append(Planted(path.stem, tries or kind, source, kind == "genuine"))
    return found


def audit(planted: Sequence[Planted], sandbox: Sandbox, stream: random.Random) -> list[Finding]:
    """One finding each, in order. Raises SandboxUnavailable when the machinery fails."""
    seeds = [stream.getrandbits(31) for _ in range(SEEDS)]
    return [_audit_one(item, sandbox, seeds, stream) for item in planted]


def maximum(n: int) -> float:
    """The most that the rule pays for n pairs, over all numbers of wins, each loss won with the hint."""
    return max(environment_reward(RULE, [1.0] * k + [0.0] * (n - k), [1.0] * n) for k in range(n + 1))


def _audit_one(item: Planted, sandbox: Sandbox, seeds: Sequence[int], stream: random.Random) -> Finding:
    started = time.monotonic()
    settings = GateSettings()
    admission = judge_source(item.source, sandbox, settings)
    if admission.rejection in MACHINERY:
        raise SandboxUnavailable(f"the sandbox failed in {item.name} ({admission.rejection})")
    finding = Finding(item.name, item.tries, item.genuine, code=admission.rejection)
    if admission.environment is None:
        gate = next(check.gate for check in admission.checks if not check.passed)
        finding = replace(finding, gate=gate)
    else:
        finding = _credit(finding, admission.environment, sandbox, seeds, settings.limits, stream)
    return replace(finding, seconds=time.monotonic() - started)


def _credit(
    finding: Finding,
    environment: Environment,
    sandbox: Sandbox,
    seeds: Sequence[int],
    limits: Limits,
    stream: random.Random,
) -> Finding:
    """The finding with the best paid of all plays."""
    luck = environment.luck
    policies = {**POLICIES, "another seed's solution": recite(environment.demonstrations[0])}
    if finding.genuine:
        policies = {"half-oracle": half_oracle(environment, sandbox, seeds, limits)}
    finding = replace(finding, luck=luck)
    for name, act in policies.items():
        returns = play(environment, sandbox, seeds, act, limits, stream)
        share, n = 0.0, len(returns)
        if beats_luck(count_wins(returns), n, luck):
            hinted = None if finding.genuine else [1.0] * n
            share = environment_reward(RULE, returns, hinted) / maximum(n)
        faults = finding.faults + len(seeds) - n
        finding = replace(finding, faults=faults)
        if share > finding.share:
            finding = replace(finding, policy=name, share=share)
    return finding
