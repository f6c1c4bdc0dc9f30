"""Interactive environments: whole multi-turn worlds, written as Python and played on many seeds."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import torch

from spadelab.config import Settings
from spadelab.environments.interactive.gates import GateSettings, admit
from spadelab.environments.interactive.novelty import cluster_shares, fingerprint
from spadelab.environments.library import LEVELS, library_source, list_library
from spadelab.errors import UserError
from spadelab.families.family import program_limits
from spadelab.models.local import LocalModel
from spadelab.play.conversation import Conversation
from spadelab.play.hints import draw_hints, has_hint
from spadelab.play.interactive import Instance, play_instances
from spadelab.play.transfer import disqualify
from spadelab.records import Admission, Demonstration, Draft, Environment, Episode, Generation
from spadelab.rng import Streams
from spadelab.roles.briefing import InteractiveRequest, demonstrate, interactive_prompt, repair_prompt
from spadelab.roles.corpus import Corpus
from spadelab.roles.hinter import write_hints
from spadelab.roles.judge import judge, veto
from spadelab.roles.memory import Memory, summarise
from spadelab.roles.proposer import Request
from spadelab.roles.quoting import escape
from spadelab.sandbox import Sandbox

# Words (or, without spaces, characters) of a document that fit beside everything else in a prompt.
DOCUMENT_WORDS = 2000
# Running mean of win rates by skill that the proposer is told.
RATE_MEMORY = 0.8


class InteractiveFamily:
    """The family "interactive"; its state is what the proposer is told: memory, rates, corpus position."""

    def __init__(self, settings: Settings, sandbox: Sandbox) -> None:
        self.settings, self.sandbox = settings, sandbox
        self.gates = GateSettings(limits=program_limits(settings))
        self.corpus = Corpus(settings.proposer.corpus, settings.run.seed)
        self.memory = Memory()
        self.rates: dict[str, float] = {}
        self.streams = Streams(settings.run.seed)
        self.asked: dict[str, InteractiveRequest] = {}

    def seeds(self) -> list[Environment]:
        """The hand-written library.

        Only prompts in full have room for it as an example; as a task set it is a baseline.
        """
        if self.settings.self_play.mode == "library":
            levels: Sequence[int | None] = LEVELS
        elif self.settings.proposer.prompts == "full":
            levels = (None,)
        else:
            return []
        sources = [library_source(name, level) for name in list_library() for level in levels]
        drafts = [Draft("library", "", f"```python\n{source}\n```", 0) for source in sources]
        admitted = admit(drafts, self.sandbox, self.gates, frozenset())
        return [a.environment for a in admitted if a.environment is not None]

    def write(
        self, model: LocalModel, requests: Sequence[Request], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """One draft for each request, in order."""
        briefs = [self._brief(request) for request in requests]
        role = self.settings.proposer
        prompts = [interactive_prompt(brief, role.prompts) for brief in briefs]
        replies = self._generate(model, prompts, generator)
        drafts = [
            Draft(f"c{cycle}-d{i}", request.kind, reply.text, request.difficulty, reply)
            for i, (request, reply) in enumerate(zip(requests, replies, strict=True))
        ]
        self.asked = {draft.id: brief for draft, brief in zip(drafts, briefs, strict=True)}
        return drafts

    def admit(
        self, model: LocalModel, drafts: Sequence[Draft], known: Container[str], cycle: int, streams: Streams
    ) -> list[Admission]:
        """The gates, then the judge if the settings want one: it can only veto."""
        admissions = admit(drafts, self.sandbox, self.gates, known, cycle)
        role = self.settings.judge
        sound = [a.environment for a in admissions if a.environment is not None]
        if not role.enabled or not sound:
            return admissions
        verdicts = judge(model, sound, role.temperature, role.max_new_tokens, streams.torch("judge"))
        opinion = {e.id: verdict for e, verdict in zip(sound, verdicts, strict=True)}
        return [veto(admission, opinion) for admission in admissions]

    def repair(
        self, model: LocalModel, failed: Sequence[Admission], cycle: int, generator: torch.Generator
    ) -> list[Draft]:
        """One further draft for each rejected one, with the failing check shown back."""
        prompts, drafts = [], []
        for admission in failed:
            draft = admission.draft
            check = next(check for check in admission.checks if not check.passed)
            prompts.append(repair_prompt(self.asked[draft.id], draft.text, check))
        replies = self._generate(model, prompts, generator)
        for admission, reply in zip(failed, replies, strict=True):
            old = admission.draft
            draft = Draft(f"{old.id}r", old.kind, reply.text, old.asked, reply)
            self.asked[draft.id] = self.asked[old.id]
            drafts.append(draft)
        return drafts

    def play(self, model: LocalModel, environments: Sequence[Environment], streams: Streams) -> list[Episode]:
        """`solver.rollouts` instances of each environment; the hinted arm on the same seeds.

        An environment whose wins transfer to other seeds breaks: see `disqualify`.
        """
        settings, limits = self.settings, self.gates.limits
        seeds, generator = streams.python("instances"), streams.torch("solver")
        plain = [
            Instance(e, seeds.getrandbits(31)) for e in environments for _ in range(settings.solver.rollouts)
        ]
        hints = self._hint(model, plain, streams) if settings.credit.hinted else [""] * len(plain)
        hinted = [Instance(i.environment, i.seed, hint) for i, hint in zip(plain, hints, strict=True) if hint]
        rule = settings.credit.return_rule
        played = play_instances(
            model, [*plain, *hinted], settings.solver, self.sandbox, limits, generator, rule=rule
        )
        written = {environment.id: environment for environment in environments}
        return disqualify(played, written, self.sandbox, limits, self.gates.max_trivial_rate)

    def copies(self, environments: Sequence[Environment]) -> Mapping[str, float]:
        """Share of the batch that are near copies of each environment, itself not counted, by id."""
        shares = cluster_shares([fingerprint(e.source) for e in environments])
        own = 1 / max(1, len(environments))
        return {e.id: share - own for e, share in zip(environments, shares, strict=True)}

    def demonstrate(self, model: LocalModel, environment: Environment) -> Sequence[Generation]:
        """The environment's own solution, played on each of the gate seeds.

        Play whose actions cannot be shown as they are teaches nothing.
        """
        form = environment.action_format
        plays = [
            self._recite(model, form, shown)
            for shown in environment.demonstrations
            if all(escape(turn.action) == turn.action for turn in shown.turns)
        ]
        return [
            sequence
            for sequences in plays
            if all(len(s.prompt_ids) + len(s.ids) <= model.max_length for s in sequences)
            for sequence in sequences
        ]

    def _recite(self, model: LocalModel, form: str, shown: Demonstration) -> Sequence[Generation]:
        opening, *messages = demonstrate(shown, form, self.settings.solver.prompts)
        conversation = Conversation(model, opening["content"])
        for message in messages:
            if message["role"] == "user":
                conversation.add_observation(message["content"])
            else:
                ids = model.encode_completion(message["content"])
                conversation.add_reply(Generation(message["content"], (), ids, (0.0,) * len(ids), "stop"))
        return conversation.generations()

    def remember(
        self,
        admissions: Sequence[Admission],
        environments: Sequence[Environment],
        solved: dict[str, tuple[int, int]],
    ) -> None:
        """Keep real negative examples and the win rate of each skill."""
        for admission in admissions:
            if admission.environment is None:
                self.memory.add_rejection(admission)
        for environment in environments:
            wins, n = solved.get(environment.id, (0, 0))
            if n:
                self.memory.add_measure(environment, wins, n)
                old = self.rates.get(environment.kind, wins / n)
                self.rates[environment.kind] = RATE_MEMORY * old + (1 - RATE_MEMORY) * wins / n

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint."""
        return {
            "memory": self.memory.state(),
            "corpus": self.corpus.state(),
            "rates": self.rates,
            "streams": self.streams.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self.memory.restore(state["memory"])
        self.corpus.restore(state["corpus"])
        self.rates = dict(state["rates"])
        self.streams.restore(state["streams"])

    def _generate(
        self, model: LocalModel, prompts: Sequence[str], generator: torch.Generator
    ) -> list[Generation]:
        """One reply to each prompt; an empty one where the prompt leaves no room for a reply.

        Raises UserError when that is so for all of them.
        """
        role = self.settings.proposer
        encoded = [model.encode_prompt(prompt) for prompt in prompts]
        fitting = [ids for ids in encoded if len(ids) < model.max_length]
        if encoded and not fitting:
            raise UserError(
                f"every prompt of the proposer has {min(map(len, encoded))} tokens or more, which leaves no "
                f"room in model.max_seq_len ({model.max_length}); raise it."
            )
        groups = iter(model.extend(fitting, 1, role.max_new_tokens, role.temperature, generator))
        nothing = Generation("", (), (), (), "length")
        return [next(groups)[0] if len(ids) < model.max_length else nothing for ids in encoded]

    def _hint(self, model: LocalModel, instances: Sequence[Instance], streams: Streams) -> list[str]:
        """The environments' own hints; the hinter's where they have none and the settings want it."""
        hints, role = draw_hints(self.sandbox, instances, self.gates.limits), self.settings.hinter
        silent = {i.environment.id: i.environment for i in instances if not has_hint(i.environment)}
        if not role.enabled or not silent:
            return hints
        written = write_hints(
            model, list(silent.values()), role.temperature, role.max_new_tokens, streams.torch("hinter")
        )
        by_id = dict(zip(silent, written, strict=True))
        return [hint or by_id.get(i.environment.id, "") for i, hint in zip(instances, hints, strict=True)]

    def _brief(self, request: Request) -> InteractiveRequest:
        negatives = self.memory.negatives(
            request.kind, self.settings.proposer.negatives, self.streams.python("negatives")
        )
        example = request.references[0].source if request.references else ""
        return InteractiveRequest(
            request.kind,
            request.difficulty,
            tuple(sorted(self.rates.items())),
            self.corpus.next(DOCUMENT_WORDS),
            tuple(summarise(reference) for reference in request.references[1:]),
            negatives,
            example,
        )
