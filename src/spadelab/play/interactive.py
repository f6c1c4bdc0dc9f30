"""Multi-turn episodes: many instances at once, the un-hinted and the hinted arm by the same code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from spadelab.config import SolverSettings
from spadelab.environments.interactive.session import (
    WIN,
    ReturnRule,
    Session,
    episode_return,
    open_sessions,
    step_sessions,
)
from spadelab.models.local import LocalModel
from spadelab.play.conversation import Conversation
from spadelab.records import Environment, Episode, Generation, Score, Turn
from spadelab.roles.actions import read_action
from spadelab.roles.briefing import solver_opening
from spadelab.roles.quoting import escape
from spadelab.sandbox import Limits, Sandbox

# Processes that are open at the same time.
OPEN_SESSIONS = 256
# Fewest tokens that a reply must have room for.
ROOM = 4
_NOTHING = Generation("", (), (), (), "length")


@dataclass(frozen=True, slots=True)
class Instance:
    """What is played: an environment, a seed, and the hint of the hinted arm ("" in the plain one)."""

    environment: Environment
    seed: int
    hint: str = ""


@dataclass(slots=True)
class _Game:
    instance: Instance
    session: Session
    conversation: Conversation | None = None
    opening: str = ""
    turns: list[Turn] = field(default_factory=list)
    ending: str = ""

    @property
    def active(self) -> bool:
        return not self.ending and not self.session.over


def play_instances(
    model: LocalModel,
    instances: Sequence[Instance],
    role: SolverSettings,
    sandbox: Sandbox,
    limits: Limits,
    generator: torch.Generator,
    temperature: float | None = None,
    rule: ReturnRule = "sum",
) -> list[Episode]:
    """One episode of each instance, in order.

    Outcomes: "correct" (a win), "wrong" (terminated without one), "truncated" (out of turns), "context"
    (out of context), "cut" (a reply that did not end), or the code of the environment's fault.
    """
    heat = role.temperature if temperature is None else temperature
    episodes: list[Episode] = []
    for start in range(0, len(instances), OPEN_SESSIONS):
        chunk = instances[start : start + OPEN_SESSIONS]
        sessions = open_sessions(sandbox, [(i.environment, i.seed) for i in chunk], limits)
        games = [_Game(instance, session) for instance, session in zip(chunk, sessions, strict=True)]
        try:
            for game in games:
                _open(game, model, role.prompts)
            while active := [game for game in games if game.active]:
                _take_turn(active, model, role, sandbox, heat, generator)
        finally:
            for session in sessions:
                session.close()
        episodes += [_conclude(game, rule) for game in games]
    return episodes


def _open(game: _Game, model: LocalModel, style: str) -> None:
    if game.session.fault:
        return
    environment = game.instance.environment
    shown, hint = escape(game.session.opening), escape(game.instance.hint)
    game.opening = solver_opening(shown, hint, environment.action_format, style)
    game.conversation = Conversation(model, game.opening)


def _take_turn(
    games: Sequence[_Game],
    model: LocalModel,
    role: SolverSettings,
    sandbox: Sandbox,
    temperature: float,
    generator: torch.Generator,
) -> None:
    """One reply in every game, and the environments' answers."""
    ready: list[tuple[_Game, Conversation]] = []
    for game in games:
        assert game.conversation is not None
        if len(game.conversation.context) + ROOM > model.max_length:
            game.ending = "context"
            game.conversation.past.clear()
        else:
            ready.append((game, game.conversation))
    if not ready:
        return
    contexts = [conversation.context for _, conversation in ready]
    pasts = [conversation.past for _, conversation in ready]
    replies = model.extend(contexts, 1, role.max_new_tokens, temperature, generator, pasts)
    moves: list[tuple[_Game, str, str]] = []
    for (game, conversation), (reply,) in zip(ready, replies, strict=True):
        conversation.add_reply(reply)
        if reply.finish != "stop":
            game.ending = "cut"
            continue
        action = read_action(reply.text, game.instance.environment.action_format)
        if action.error:
            game.turns.append(Turn("", action.error, 0.0, reply.text))
        else:
            moves.append((game, action.text, reply.text))
    step_sessions(sandbox, [(game.session, action) for game, action, _ in moves])
    for game, _, text in moves:
        if game.session.fault is None:
            step = game.session.steps[-1]
            game.turns.append(Turn(step.action, step.observation, step.reward, text))
    for game, conversation in ready:
        if game.active and len(game.turns) >= game.instance.environment.turns:
            game.ending = "truncated"
        if game.active:
            # What an environment says must not pose as another role's message.
            conversation.add_observation(escape(game.turns[-1].observation))
        else:
            conversation.past.clear()


def _conclude(game: _Game, rule: ReturnRule) -> Episode:
    session, environment = game.session, game.instance.environment
    if session.fault:
        score = Score(0.0, session.fault.code, session.fault.reason, fault=True)
    else:
        reward = episode_return(session, rule)
        ended = "correct" if reward >= WIN else "wrong" if session.terminated else "truncated"
        score = Score(reward, game.ending or ended)
    first, *rest = game.conversation.generations() if game.conversation else (_NOTHING,)
    return Episode(
        environment.id,
        environment.kind,
        first,
        score,
        game.instance.seed,
        "hinted" if game.instance.hint else "plain",
        game.opening,
        tuple(game.turns),
        tuple(rest),
    )
