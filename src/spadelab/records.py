"""The records that cross layer boundaries: frozen, serialisable, without behaviour.

Vocabulary: a *draft* is what the proposer wrote; an *environment* is a draft that passed every
gate; an *episode* is one attempt of the solver; a *row* is what a trainer consumes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Generation:
    """One sampled completion, token for token.

    `logprobs[i]` is the log-probability (nats) of `ids[i]` under the distribution it was sampled
    from, that is after the temperature was applied. `finish` is "stop" or "length".
    """

    text: str
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: str
    sampled: tuple[int, ...] = ()
    """Over several turns: 1 where the model drew `ids[i]`, 0 in observations; empty: it drew them all."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal before any gate. `asked` is the difficulty that the prompt requested."""

    id: str
    kind: str
    text: str
    asked: float
    generation: Generation | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one gate. `reason` is empty when it passed, one clear sentence otherwise.

    `code` is the short countable name of the rejection ("syntax", "non-deterministic", ...).
    """

    gate: str
    passed: bool
    code: str = ""
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One action with what the environment answered: the observation and the reward of that step.

    `reply` is all that the solver wrote for it. An action that could not be read is "": the environment
    was not asked, `observation` says why.
    """

    action: str
    observation: str
    reward: float
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """An instance won by the environment's own `solution()`; `hint` is "" where there is none."""

    seed: int
    opening: str
    turns: tuple[Turn, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """An admitted environment: a program task, or an interactive one (second half of the fields).

    `inputs` are argument lists as Python source ("3, [1, 2]"), `outputs` the literals that
    execution gave for them. Induction shows the first `visible` pairs and hides the rest.
    `difficulty` is the number of statements executed on the first input: measured on what was
    written, never on what was asked. `trace` has one (statement, locals after it) pair for each.
    `key` is the hash of the normalised syntax tree with kind and inputs (novelty); `id` addresses
    the exact content.

    An interactive environment has `kind` = skill and `difficulty` = mean number of turns that its own
    solution takes. `entry` is the name of the class, `turns` is MAX_TURNS, `message` the summary. `luck`
    is the win rate that play without any thought had in the gates.

    `born` is the cycle and `writer` the name of the policy that it comes from; "": nobody in this run.
    """

    id: str
    key: str
    family: str
    kind: str
    source: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    difficulty: int
    visible: int = 0
    message: str = ""
    trace: tuple[tuple[str, str], ...] = ()
    born: int = 0
    name: str = ""
    entry: str = ""
    turns: int = 0
    action_format: str = ""
    demonstrations: tuple[Demonstration, ...] = ()
    luck: float = 0.0
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """A draft with the gates it met; `environment` is set when it passed them all."""

    draft: Draft
    checks: tuple[Check, ...]
    environment: Environment | None = None

    @property
    def rejection(self) -> str:
        """The code of the gate that stopped the draft, "" when admitted."""
        return next((check.code for check in self.checks if not check.passed), "")


@dataclass(frozen=True, slots=True)
class Score:
    """What execution said of one answer. `outcome` is "correct", "wrong" or a typed failure.

    `fault` marks a failure of the environment or of the machinery, not of the solver: such an
    episode is counted and dropped, never scored as zero.
    """

    reward: float
    outcome: str
    reason: str = ""
    fault: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt of the solver at one environment, or at one instance of it (`seed`).

    `arm` is "plain" or "hinted", `opening` the first user message. `generation` holds the whole
    conversation where the chat template only appends; each time the template rewrites history,
    `continuations` gets a new one.
    """

    environment: str
    kind: str
    generation: Generation
    score: Score
    seed: int = 0
    arm: str = "plain"
    opening: str = ""
    turns: tuple[Turn, ...] = ()
    continuations: tuple[Generation, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One training sequence, the last type shared by every trainer.

    `mask[i]` is 1 where `ids[i]` is trained on; `logprobs` are the behaviour policy's, 0 outside
    the mask. `advantage` weighs the policy gradient (0: none), `imitation` the log-likelihood of
    the masked tokens (the gold term; 0: none). `version` counts optimiser steps of the policy
    that sampled it.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    advantage: float
    imitation: float
    role: str
    task: str
    group: str
    version: int
    tags: tuple[str, ...] = field(default=())


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
