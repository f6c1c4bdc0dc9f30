"""What the roles are told of interactive environments: the proposer's request, the solver's opening."""

from __future__ import annotations

from dataclasses import dataclass

from spadelab.environments.extraction import strip_thoughts
from spadelab.models.local import Message
from spadelab.records import Check, Demonstration
from spadelab.roles.actions import write_action
from spadelab.roles.composition import compose
from spadelab.roles.quoting import choose_fence, clean_name, escape

MAX_DRAFT_CHARS = 20_000
"""What a repair prompt shows of a draft."""
REPLIES = {
    "text": "Your whole reply is the action: write the action alone.",
    "boxed": r"Reason step by step, then put the action in \boxed{}; the last box counts.",
    "tool_call": "Reason step by step, then act with one call, the last counts: "
    '<tool_call>{"name": "...", "arguments": {...}}</tool_call>',
}
"""How the solver is told to write an action, for each action format."""


@dataclass(frozen=True, slots=True)
class InteractiveRequest:
    """What is asked of the proposer for one interactive draft.

    `kind` is the skill's slug, `difficulty` the number of turns its solution should take, `rates` the
    measured win rates by skill. `document` comes from a corpus, `frontier` are summaries of environments
    won sometimes, `negatives` failed attempts with the reason, `example` is a whole source; all may be
    empty.
    """

    kind: str
    difficulty: int
    rates: tuple[tuple[str, float], ...] = ()
    document: str = ""
    frontier: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    example: str = ""


def interactive_prompt(request: InteractiveRequest, style: str) -> str:
    """The proposer's prompt: task and contract, skill, difficulty, win rates, document, frontier
    summaries, example, negatives, and the instruction to write last.

    SPADE's prompt goes on after "generate the code now" and shows sources cut off at 2000 characters.
    Texts from elsewhere are escaped, and fenced by a tag that none of them contains.
    """
    foreign = {
        "document": escape(request.document),
        "frontier": _list(request.frontier),
        "example": escape(request.example),
        "negatives": _list(request.negatives),
    }
    rates = [f"{clean_name(skill)} {rate:.0%}" for skill, rate in request.rates]
    slots = {
        "skill": request.kind,
        "difficulty": str(request.difficulty),
        "rates": ", ".join(rates) or "none yet",
        "fence": choose_fence(*foreign.values()),
    }
    return compose(f"{style}_interactive", "propose", slots | foreign)


def repair_prompt(request: InteractiveRequest, draft_text: str, check: Check) -> str:
    """The proposer's prompt in full again, with its draft and the check that stopped it.

    There is no compact one: the bundled models cannot read a failing check.
    """
    slots = {
        "task": interactive_prompt(request, "full"),
        "draft": escape((strip_thoughts(draft_text) or "")[:MAX_DRAFT_CHARS]),
        "gate": check.gate,
        "code": check.code,
        "reason": escape(check.reason),
    }
    slots["fence"] = choose_fence(*slots.values())
    return compose("full_interactive", "repair", slots)


def solver_opening(observation: str, hint: str, action_format: str, style: str) -> str:
    """The solver's first message; its later ones are the raw observations.

    The slot `hint` brings its own label and the line before it: without a hint nothing of it remains.
    """
    slots = {
        "observation": observation,
        "hint": f"\n\nHint: {hint.strip()}" if hint.strip() else "",
        "reply": REPLIES[action_format],
    }
    return compose(f"{style}_interactive", "solve", slots)


def demonstrate(
    demonstration: Demonstration, action_format: str, style: str, hinted: bool = False
) -> list[Message]:
    """The conversation in which an environment's own solution wins, from the opening to the last action.

    What the environment wrote is escaped as in play, the actions too: one that `escape` changes would win
    no more, but a message of another role in it would be worse.
    """
    hint = escape(demonstration.hint) if hinted else ""
    said = solver_opening(escape(demonstration.opening), hint, action_format, style)
    messages: list[Message] = []
    for turn in demonstration.turns:
        reply = write_action(escape(turn.action), action_format)
        messages += ({"role": "user", "content": said}, {"role": "assistant", "content": reply})
        said = escape(turn.observation)
    return messages


def _list(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)
