"""The processes in which a draft is asked and played, and the evidence that comes out of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from spadelab.environments.interactive.contract import Manifest, jailed_source
from spadelab.environments.interactive.plays import Play, legal, play_call, read_plays
from spadelab.environments.interactive.probes import Instance, plan_odd, plan_probes, plan_random, plan_resets
from spadelab.environments.interactive.session import (
    MACHINERY,
    Fault,
    Session,
    accept_reset,
    accept_step,
    legal_action,
    reset_call,
    step_call,
)
from spadelab.environments.interactive.verdicts import Evidence
from spadelab.environments.trials import explain_outcome
from spadelab.sandbox import Call, Job, Limits, Outcome
from spadelab.sandbox.literals import parse_literal

_READY = Call("_spade_play", "[]")
_TOGETHER = 8
_REPEATED = ("solution", "junk", "borrowed")


class Inquiry:
    """One draft: run the jobs of `ask`, `hear` the outcomes; then `solve`, `check`; then `probe`, `watch`."""

    def __init__(
        self,
        source: str,
        manifest: Manifest,
        seeds: Sequence[int],
        further: Sequence[int],
        random_plays: int,
        limits: Limits,
    ) -> None:
        self.source = jailed_source(source, manifest.class_name)
        self.manifest = manifest
        self.seeds = seeds
        self.further = further
        self.random_plays = random_plays
        self.limits = limits
        self.evidence = Evidence(manifest)
        self._rows: list[list[Play]] = []
        self._again: list[list[Play]] = []

    def ask(self) -> list[Job]:
        """Two processes give instances, solutions and hints, in opposite orders."""
        count = len(self.seeds)
        orders = (range(count), range(count - 1, -1, -1))
        return [self._job((_READY, *self._questions(order, i)), i) for i, order in enumerate(orders)]

    def _questions(self, order: Sequence[int], hash_seed: int) -> list[Call]:
        # Hints are asked after the solution of the same instance in one process, before it in the other.
        methods = ["solution", "hint"] if self.manifest.has_hint else ["solution"]
        resets = [Call("_spade_reset", f"{i}, {self.seeds[i]}") for i in order]
        return resets + [
            Call(f"_spade_{method}", str(i)) for method in methods[:: -1 if hash_seed else 1] for i in order
        ]

    def hear(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the answers of `ask`."""
        evidence = self.evidence
        self._note("ask", results)
        if results[0][0].kind != "value":
            evidence.load = explain_outcome(results[0][0])
        if evidence.load or evidence.machinery:
            return
        answers = [self._sort(outcomes[1:], i) for i, outcomes in enumerate(results)]
        for number, seed in enumerate(self.seeds):
            self._compare(seed, *(given[number] for given in answers))
        instances = [self._read(*pair) for pair in zip(self.seeds, answers[0], strict=True)]
        evidence.instances = [instance for instance in instances if instance]
        if len(evidence.instances) < len(self.seeds):
            evidence.instances = []

    def _sort(self, outcomes: Sequence[Outcome], hash_seed: int) -> list[dict[str, Outcome]]:
        """The answers of one process by seed and method."""
        count = len(self.seeds)
        methods = ["solution", "hint"] if self.manifest.has_hint else ["solution"]
        order = ["reset", *methods[:: -1 if hash_seed else 1]]
        rows = {method: outcomes[k * count : (k + 1) * count] for k, method in enumerate(order)}
        return [
            {method: row[count - 1 - i if hash_seed else i] for method, row in rows.items()}
            for i in range(count)
        ]

    def _compare(self, seed: int, one: dict[str, Outcome], other: dict[str, Outcome]) -> None:
        for method, outcome in one.items():
            both = (outcome.kind, other[method].kind)
            if both != ("value", "value") and "program_error" not in both:
                continue  # a process that died tells nothing about later calls
            if (outcome.kind, outcome.value) != (other[method].kind, other[method].value):
                self.evidence.disagreements.append(f"{method}() on seed {seed}")

    def _read(self, seed: int, given: dict[str, Outcome]) -> Instance | None:
        session = Session(seed, self.manifest.max_turns, None)
        accept_reset(session, given["reset"])
        if session.fault:
            self.evidence.resets.append((seed, _plain(session.fault, given["reset"])))
            return None
        solution = self._read_solution(seed, given["solution"])
        hint: object = ""
        if "hint" in given:
            outcome = given["hint"]
            hint = parse_literal(outcome.value) if outcome.kind == "value" else None
            if not isinstance(hint, str):
                code, reason = (
                    explain_outcome(outcome) if hint is None and outcome.error else ("bad_type", "")
                )
                code = "bad_type" if code == "not_literal" else code
                self.evidence.answers.append(
                    (seed, Fault(code, f"hint() must return a text. {reason}".strip()))
                )
        return Instance(seed, session.opening, solution, str(hint).strip()) if solution else None

    def _read_solution(self, seed: int, outcome: Outcome) -> tuple[str, ...]:
        problem = Fault(
            "bad_solution", "solution() must return a list of 1 to MAX_TURNS actions, each a text"
        )
        actions: list[str | None] = []
        if outcome.kind != "value":
            code, reason = explain_outcome(outcome)
            problem = Fault({"exception": "bad_solution"}.get(code, code), f"solution(): {reason}")
        else:
            value = parse_literal(outcome.value)
            if isinstance(value, list) and all(isinstance(action, str) for action in value):
                actions = [legal(action, self.manifest.action_format) for action in value]
                if None in actions:
                    problem = Fault("bad_solution", "solution() holds an action that is no tool call in JSON")
        solution = tuple(action for action in actions if action is not None)
        if not solution or len(solution) < len(actions) or len(solution) > self.manifest.max_turns:
            self.evidence.answers.append((seed, problem))
            return ()
        return solution

    def solve(self) -> list[Job]:
        """Each solution in a process of its own, by the calls of real play; no job without solutions."""
        calls = [self._real_calls(instance) for instance in self.evidence.instances]
        return [self._job(row, number % 2) for number, row in enumerate(calls)]

    def check(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the outcomes of `solve`."""
        self._note("alone", results)
        for instance, outcomes in zip(self.evidence.instances, results, strict=True):
            session = Session(instance.seed, self.manifest.max_turns, None)
            accept_reset(session, outcomes[0])
            for action, outcome in zip(instance.solution, outcomes[1:], strict=True):
                if not session.over:
                    accept_step(session, action, outcome)
            self.evidence.alone.append(session)

    def probe(self) -> list[Job]:
        """The probes, twice; no job when a solution already failed."""
        instances = self.evidence.instances
        if not instances or any(session.fault for session in self.evidence.alone):
            return []
        probes = plan_probes(self.manifest, instances)
        self._rows = [[play] for play in probes]
        others = plan_random(self.manifest, instances, self.further, self.random_plays)
        others += [play for i, one in enumerate(instances) for play in plan_odd(self.manifest, one, i)]
        others += plan_resets(self.manifest, self.further)
        # Few to a call: the wall time of a call bounds them together.
        self._rows += [others[i : i + _TOGETHER] for i in range(0, len(others), _TOGETHER)]
        same: dict[str, list[Play]] = defaultdict(list)
        for play in probes:
            if play.policy.partition(":")[0] in _REPEATED:
                twin = Play(play.policy, play.seed, play.max_turns, play.actions, play.turns, play.after)
                same[play.policy].append(twin)
                self.evidence.again.append((play, twin))
        self._again = list(same.values())[::-1]
        return [
            self._job(tuple(map(play_call, self._rows)), 0),
            self._job(tuple(play_call(row[::-1]) for row in self._again), 1),
        ]

    def _real_calls(self, instance: Instance) -> tuple[Call, ...]:
        session = Session(instance.seed, self.manifest.max_turns, None)
        return (reset_call(session), *(step_call(session, legal_action(a)) for a in instance.solution))

    def watch(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the outcomes of `probe`."""
        if not results:
            return
        probes, again = results
        self._note("probes", [probes])
        self._note("again", [again])
        for row, outcome in zip(self._rows, probes, strict=True):
            read_plays(row, outcome)
            self.evidence.plays += row
        for row, outcome in zip(self._again, again, strict=True):
            read_plays(row[::-1], outcome)

    def _job(self, calls: Sequence[Call], hash_seed: int) -> Job:
        return Job(self.source, tuple(calls), self.limits, hash_seed)

    def _note(self, stage: str, results: Sequence[Sequence[Outcome]]) -> None:
        for outcome in (outcome for outcomes in results for outcome in outcomes):
            self.evidence.seconds[stage] += outcome.seconds
            if outcome.kind in MACHINERY and self.evidence.machinery is None:
                self.evidence.machinery = explain_outcome(outcome)


def _plain(fault: Fault, outcome: Outcome) -> Fault:
    """Of a reset that gave no value: the countable code of the outcome."""
    return (
        fault
        if outcome.kind == "value" or outcome.error == "NotALiteral"
        else Fault(*explain_outcome(outcome))
    )
