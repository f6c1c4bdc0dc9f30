"""Scripted play for the gates: whole episodes in one call, each answer checked as in real play."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spadelab.environments.interactive.session import (
    SLACK,
    Fault,
    Session,
    accept_reset,
    accept_step,
    legal_action,
    reset_call,
    step_call,
    take_reset,
    take_step,
)
from spadelab.environments.trials import explain_outcome
from spadelab.sandbox import Call, Outcome
from spadelab.sandbox.literals import parse_literal

MOST_PLAYS = 16
MOST_TURNS = 128
"""The most of one call."""


@dataclass(slots=True)
class Play:
    """One episode as planned, then as it went.

    `policy` names who plays. Of `actions`, None repeats the observation, and the last one goes on for
    `turns` turns. `after` is played when the episode has terminated. `paid_late`: a reward came after the
    end, or after the last turn. `dead`: the process ended, so that there is no record.
    """

    policy: str
    seed: int
    max_turns: int
    actions: tuple[str | None, ...]
    turns: int
    after: tuple[str, ...] = ()
    session: Session = field(init=False)
    paid_late: bool = False
    dead: bool = False

    def __post_init__(self) -> None:
        self.session = Session(self.seed, self.max_turns, None)

    @property
    def fault(self) -> Fault | None:
        """How the environment broke the contract."""
        return self.session.fault

    @property
    def won(self) -> bool:
        """Terminated with a return of 1."""
        return self.session.won

    @property
    def gain(self) -> float:
        """All rewards together, those of a truncation too."""
        return sum(step.reward for step in self.session.steps)

    @property
    def last_turn_paid(self) -> bool:
        """Whether the episode used all its turns, by its own account or MAX_TURNS, and the last one paid."""
        steps = self.session.steps
        used = bool(steps) and (len(steps) >= self.max_turns or steps[-1].truncated)
        return used and steps[-1].reward > SLACK


@dataclass(slots=True)
class Script:
    """An episode by the calls of real play, as planned, then as it went; `number`: which of the process."""

    seed: int
    max_turns: int
    actions: Sequence[str]
    number: int = 0
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        self.session = Session(self.seed, self.max_turns, None, self.number)


def legal(text: str, action_format: str) -> str | None:
    """The action that `step` gets for what a solver would write; None when it would not get any.

    Mirrors the reader of the solver's replies: space around is dropped, a box is opened, and a tool call
    is canonical JSON.
    """
    text = legal_action(text.strip())
    if action_format == "boxed" and text.startswith("\\boxed{") and text.endswith("}"):
        text = text[len("\\boxed{") : -1].strip()
    if action_format != "tool_call":
        return text
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return write_call(call.get("name"), call.get("arguments")) if isinstance(call, dict) else None


def write_call(name: object, arguments: object) -> str | None:
    """A tool call as canonical JSON, None when it is not one."""
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    try:
        return json.dumps(
            {"arguments": arguments, "name": name}, ensure_ascii=False, sort_keys=True, allow_nan=False
        )
    except (ValueError, TypeError, RecursionError):
        return None


def pack_plays(plays: Sequence[Play]) -> list[list[Play]]:
    """Rows of plays, in order, that are played in turn in one call; its wall time bounds them together."""
    rows: list[list[Play]] = []
    room = 0
    for play in plays:
        room -= play.turns
        if not rows or room < 0 or len(rows[-1]) >= MOST_PLAYS:
            rows.append([])
            room = MOST_TURNS - play.turns
        rows[-1].append(play)
    return rows


def play_call(plays: Sequence[Play]) -> Call:
    """The call that plays episodes in turn: one turn in each of them, then the next."""
    scripts = [(play.seed, list(play.actions), play.turns, list(play.after)) for play in plays]
    return Call("_spade_play", ascii(scripts))


def read_plays(plays: Sequence[Play], outcome: Outcome) -> None:
    """Take in what `play_call` of these plays gave."""
    if outcome.kind != "value":
        code, reason = explain_outcome(outcome)
        fault = Fault({"nan": "reward_range", "not_literal": "bad_type"}.get(code, code), reason)
        for play in plays:
            play.session.fault, play.dead = fault, outcome.error != "NotALiteral"
        return
    try:
        records = json.loads(str(parse_literal(outcome.value)))
    except (ValueError, RecursionError):
        records = None
    if not isinstance(records, list) or len(records) != len(plays):
        records = [None] * len(plays)
    for play, record in zip(plays, records, strict=True):
        _read(play, record)


def repeat_play(play: Play, number: int) -> Script:
    """The actions of a play as it went."""
    return Script(play.seed, play.max_turns, [step.action for step in play.session.steps], number)


def real_calls(scripts: Sequence[Script]) -> list[Call]:
    """The calls of real play: the resets, then a turn in each episode, then the next."""
    resets = [reset_call(script.session) for script in scripts]
    return resets + [step_call(session, legal_action(action)) for session, action in _turns(scripts)]


def take_calls(scripts: Sequence[Script], outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Take in what `real_calls` gave; what is left of the outcomes."""
    for script, outcome in zip(scripts, outcomes, strict=False):
        accept_reset(script.session, outcome)
    turns = list(_turns(scripts))
    steps = outcomes[len(scripts) :]
    for (session, action), outcome in zip(turns, steps, strict=False):
        if not session.over:
            accept_step(session, action, outcome)
    return steps[len(turns) :]


def _turns(scripts: Sequence[Script]) -> Iterator[tuple[Session, str]]:
    for turn in range(max(len(script.actions) for script in scripts)):
        for script in scripts:
            if turn < len(script.actions):
                yield script.session, script.actions[turn]


def _read(play: Play, record: object) -> None:
    session = play.session
    match record:
        case [list() as entries, str() as error, bool() as paid_late]:
            play.paid_late = paid_late
            log = [tuple(entry) if isinstance(entry, list) else () for entry in entries]
        case _:
            session.fault = Fault("crash", "the record of an episode was tampered with")
            return
    if log:
        take_reset(session, (*log[0], {}))
    for turn, value in enumerate(log[1:]):
        if session.fault:
            return
        if session.over:  # a turn that no engine takes
            play.paid_late |= value[1:2] != (0,)
            return
        action = play.actions[min(turn, len(play.actions) - 1)]
        take_step(session, session.observation if action is None else action, (*value, {}))
    if error and not session.fault and not session.over:
        session.fault = _explain(error, f"step {len(session.steps) + 1}" if log else "reset")


def _explain(error: str, where: str) -> Fault:
    if error == "bad_type":
        kinds = "(str, dict)" if where == "reset" else "(str, float, bool, bool, dict)"
        return Fault("bad_type", f"{where} must return {kinds}, of exactly these types, JSON in the dict")
    return Fault("exit" if error.startswith("SystemExit") else "exception", f"{where} raised {error}")
