"""The processes in which a draft is asked and played, and the evidence that comes out of them."""

from __future__ import annotations

from collections.abc import Sequence

from spadelab.environments.interactive.contract import Manifest, jailed_source
from spadelab.environments.interactive.plays import (
    Play,
    Script,
    legal,
    pack_plays,
    play_call,
    read_plays,
    real_calls,
    repeat_play,
    take_calls,
)
from spadelab.environments.interactive.probes import (
    Instance,
    choose_again,
    plan_first,
    plan_guesses,
    plan_odd,
    plan_probes,
    plan_random,
    tells,
)
from spadelab.environments.interactive.session import MACHINERY, Fault, Session, accept_reset
from spadelab.environments.interactive.verdicts import Evidence
from spadelab.environments.trials import explain_outcome
from spadelab.sandbox import Call, Job, Limits, Outcome
from spadelab.sandbox.literals import parse_literal

_READY = Call("_spade_play", "[]")


class Inquiry:
    """One draft: run the jobs of `ask`, `hear` the outcomes; then `play`, `watch`; then `repeat`, `match`."""

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
        senseless = plan_first(manifest)
        self._first = Play("odd", seeds[0], manifest.max_turns, tuple(senseless), len(senseless))
        self._begun = Script(seeds[0], manifest.max_turns, senseless)
        self._scripts: list[Script] = []
        self._answers: list[dict[str, Outcome]] = []
        self._guesses: dict[str, list[Play]] = {}
        self._rows: list[list[Play]] = []
        self._again: list[tuple[Play, Script]] = []

    def ask(self) -> list[Job]:
        """One process is played without sense, then gives instances, solutions and hints."""
        return [self._job((_READY, *real_calls([self._begun]), *self._questions(0)), 0)]

    def _questions(self, hash_seed: int) -> list[Call]:
        # In the second process in the opposite order, hints before the solutions.
        step = -1 if hash_seed else 1
        order = range(len(self.seeds))[::step]
        methods = ["solution", "hint"] if self.manifest.has_hint else ["solution"]
        resets = [Call("_spade_reset", f"{i}, {self.seeds[i]}") for i in order]
        return resets + [Call(f"_spade_{method}", str(i)) for method in methods[::step] for i in order]

    def hear(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the answers of `ask`; a draft that breaks at once is asked no more."""
        evidence = self.evidence
        (ready, *outcomes) = results[0]
        self._note("ask", results[0])
        if ready.kind != "value":
            evidence.load = explain_outcome(ready)
        if evidence.load or evidence.machinery:
            return
        begun = self._begun.session
        answers = take_calls([self._begun], outcomes)
        if begun.opening and begun.fault:
            self._first.session = begun
            evidence.plays = [self._first]
            return
        self._answers = self._sort(answers, 0)
        instances = [self._read(*pair) for pair in zip(self.seeds, self._answers, strict=True)]
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

    def play(self) -> list[Job]:
        """The solutions by the calls of real play, the first two in fresh processes; no job without them.

        One process goes on with the probes, the other with the rest of the solutions.
        """
        instances = self.evidence.instances
        if not instances:
            return []
        self._guesses = plan_guesses(self.manifest, instances)
        probes = plan_probes(self.manifest, instances) + [plays[0] for plays in self._guesses.values()]
        probes += plan_random(self.manifest, instances, self.further, self.random_plays)
        self._rows = pack_plays([self._first, *probes, *plan_odd(self.manifest, instances)])
        self._scripts = [Script(one.seed, self.manifest.max_turns, one.solution) for one in instances]
        first, *others = [real_calls([script]) for script in self._scripts]
        calls = [[*first, *map(play_call, self._rows)], [call for some in others for call in some]]
        return [self._job(row, 2 + number) for number, row in enumerate(calls)]

    def watch(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the outcomes of `play`; those of the probes only when no solution failed."""
        if not results:
            return
        evidence = self.evidence
        probes = take_calls(self._scripts[:1], results[0])
        rest = results[1]
        for script in self._scripts[1:]:
            rest = take_calls([script], rest)
        evidence.alone = [script.session for script in self._scripts]
        self._note("alone", [*results[0][: -len(probes)], *results[1]])
        if any(session.fault for session in evidence.alone):
            return
        self._note("probes", probes)
        for row, outcome in zip(self._rows, probes, strict=True):
            read_plays(row, outcome)
            evidence.plays += row
        evidence.again = [(self._first, self._begun.session)]

    def repeat(self) -> list[Job]:
        """Some of the probes by the calls of real play, side by side; guesses that were right, on the other
        seeds; then the questions of `ask` again.

        No job when a probe met a fault, which ends the draft anyway.
        """
        if not self.evidence.again or any(play.fault for play in self.evidence.plays):
            return []
        plays = choose_again(self.evidence.plays)
        self._again = [(play, repeat_play(play, number)) for number, play in enumerate(plays)]
        solutions = {one.seed: one.solution for one in self.evidence.instances}
        right = [rest for first, *rest in self._guesses.values() if tells(first, solutions[first.seed])]
        self._rows = pack_plays([play for rest in right for play in rest])
        calls = (*real_calls([script for _, script in self._again]), *map(play_call, self._rows))
        return [self._job((*calls, *self._questions(1)), 1)]

    def match(self, results: Sequence[Sequence[Outcome]]) -> None:
        """Read the outcomes of `repeat`."""
        for outcomes in results:
            self._note("again", outcomes)
            rest = take_calls([script for _, script in self._again], outcomes)
            for row, outcome in zip(self._rows, rest, strict=False):
                read_plays(row, outcome)
                self.evidence.plays += row
            rest = rest[len(self._rows) :]
            self.evidence.again += [(play, script.session) for play, script in self._again]
            for seed, *both in zip(self.seeds, self._answers, self._sort(rest, 1), strict=True):
                self._compare(seed, *both)

    def _job(self, calls: Sequence[Call], number: int) -> Job:
        return Job(self.source, tuple(calls), self.limits, number % 2, stream=number)

    def _note(self, stage: str, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
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
