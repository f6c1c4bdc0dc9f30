"""Training data that a run leaves for other trainers, in the conversational formats of TRL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadelab.environments.interactive.session import WIN
from spadelab.environments.tasks import gold
from spadelab.models.local import Message
from spadelab.records import Environment
from spadelab.roles.briefing import demonstrate
from spadelab.roles.quoting import escape
from spadelab.roles.solver import solver_prompt
from spadelab.store.records_io import StoredEpisode
from spadelab.store.run import Run


@dataclass(slots=True)
class Answers:
    """The best right and the best wrong answer to one environment: complete ones first, then the shortest.

    Both are chosen by the same rule, so that a preference pair does not teach length.
    """

    right: StoredEpisode | None = None
    wrong: StoredEpisode | None = None

    def add(self, episode: StoredEpisode) -> None:
        """Keep the episode if it beats the one there; of equals the earliest stays."""
        if episode.reward >= WIN:
            self.right = _better(self.right, episode)
        else:
            self.wrong = _better(self.wrong, episode)


def sft_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Rows {"messages", "source", "task", "difficulty", "environment", "cycle"}, two an environment at most.

    "source" is "solver" for the best play that the solver gave, "execution" for the gold play made of
    what the jail recorded. Every environment that was played has the latter, unless the solver's is the
    same text; one never solved has no other. Order: environments as first met.
    """
    style = run.settings.solver.prompts
    for environment, answers in _played(run):
        gold_play = gold_messages(environment, style)
        right = answers.right and episode_messages(environment, answers.right, style)
        if answers.right and right:
            yield {"messages": right, "source": "solver", **_describe(environment, answers.right.cycle)}
        if gold_play != right:
            yield {
                "messages": gold_play,
                "source": "execution",
                **_describe(environment, environment.born),
            }


def preference_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Rows {"prompt", "chosen", "rejected", "task", "difficulty", "environment", "cycle"}.

    One for each frontier environment (0 < p < 1 over all its episodes) whose right and wrong play begin
    with the same message, as they always do in program tasks; the first three are lists of messages.
    Episodes that ended by a fault count as neither right nor wrong.
    """
    style = run.settings.solver.prompts
    for environment, answers in _played(run):
        if not answers.right or not answers.wrong:
            continue
        prompt, *chosen = episode_messages(environment, answers.right, style)
        opening, *rejected = episode_messages(environment, answers.wrong, style)
        if prompt == opening and rejected:
            yield {
                "prompt": [prompt],
                "chosen": chosen,
                "rejected": rejected,
                **_describe(environment, answers.right.cycle),
            }


def episode_messages(environment: Environment, episode: StoredEpisode, style: str) -> list[Message]:
    """The conversation of an episode as it was played, from the first user message to the last reply."""
    if not episode.opening:
        prompt = solver_prompt(environment, style)
        return [_message("user", prompt), _message("assistant", episode.text)]
    messages = [_message("user", episode.opening)]
    for turn in episode.turns:
        messages += [_message("assistant", turn.reply), _message("user", escape(turn.observation))]
    return messages[:-1] if episode.turns else messages


def gold_messages(environment: Environment, style: str) -> list[Message]:
    """The conversation that execution proved right."""
    if environment.demonstrations:
        talk = demonstrate(environment.demonstrations[0], environment.action_format, style)
        return [_message(message["role"], message["content"]) for message in talk]
    return [_message("user", solver_prompt(environment, style)), _message("assistant", gold(environment))]


def write_datasets(run: Run) -> list[Path]:
    """Write data/sft.jsonl and data/preferences.jsonl in place of earlier ones and return their paths.

    A run holds no held-out task: they are evaluated outside its records, and the loop refuses drafts
    that repeat one. Raises UserError when the disk is full.
    """
    return [
        run.write_data("sft", sft_rows(run)),
        run.write_data("preferences", preference_rows(run)),
    ]


def _played(run: Run) -> Iterator[tuple[Environment, Answers]]:
    """Every environment with a faultless un-hinted episode, in the order in which they were first met."""
    found: dict[str, Answers] = {}
    for episode in run.iter_episodes():
        if not episode.fault and episode.arm == "plain":
            found.setdefault(episode.environment, Answers()).add(episode)
    for environment in run.iter_environments():
        if environment.id in found:
            yield environment, found[environment.id]


def _better(best: StoredEpisode | None, episode: StoredEpisode) -> StoredEpisode:
    return episode if best is None or _rank(episode) < _rank(best) else best


def _rank(episode: StoredEpisode) -> tuple[bool, int, int]:
    return episode.finish != "stop", len(episode.turns), len(episode.text)


def _message(role: str, content: str) -> Message:
    # A program may print a lone surrogate; the readers of data sets take nothing but UTF-8.
    return {"role": role, "content": content.encode("utf-8", "backslashreplace").decode("utf-8")}


def _describe(environment: Environment, cycle: int) -> dict[str, Any]:
    return {
        "task": environment.kind,
        "difficulty": environment.difficulty,
        "environment": environment.id,
        "cycle": cycle,
    }
