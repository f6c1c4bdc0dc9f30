"""Training data that a run leaves for other trainers, in the conversational formats of TRL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadelab.environments.tasks import gold
from spadelab.records import Environment
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
        if episode.reward >= 1:
            self.right = _better(self.right, episode)
        else:
            self.wrong = _better(self.wrong, episode)


def sft_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Rows {"messages", "source", "task", "difficulty", "environment", "cycle"}, two an environment at most.

    "source" is "solver" for the shortest right answer that the solver gave, "execution" for the gold
    answer made of what the jail recorded. Every environment that was played has the latter, unless
    the solver's is the same text; one never solved has no other. Order: environments as first met.
    """
    for environment, answers in _played(run):
        prompt = solver_prompt(environment, run.settings.solver.prompts)
        right = answers.right.text if answers.right else None
        if answers.right:
            messages = [_message("user", prompt), _message("assistant", answers.right.text)]
            yield {"messages": messages, "source": "solver", **_describe(environment, answers.right.cycle)}
        if gold(environment) != right:
            messages = [_message("user", prompt), _message("assistant", gold(environment))]
            yield {"messages": messages, "source": "execution", **_describe(environment, environment.born)}


def preference_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Rows {"prompt", "chosen", "rejected", "task", "difficulty", "environment", "cycle"}.

    One for each frontier environment (0 < p < 1 over all its episodes); the first three are lists of
    messages. Episodes that ended by a fault count as neither right nor wrong.
    """
    for environment, answers in _played(run):
        if answers.right and answers.wrong:
            yield {
                "prompt": [_message("user", solver_prompt(environment, run.settings.solver.prompts))],
                "chosen": [_message("assistant", answers.right.text)],
                "rejected": [_message("assistant", answers.wrong.text)],
                **_describe(environment, answers.right.cycle),
            }


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
    """Every environment with a faultless episode, in the order in which they were first met."""
    found: dict[str, Answers] = {}
    for episode in run.iter_episodes():
        if not episode.fault:
            found.setdefault(episode.environment, Answers()).add(episode)
    for environment in run.iter_environments():
        if environment.id in found:
            yield environment, found[environment.id]


def _better(best: StoredEpisode | None, episode: StoredEpisode) -> StoredEpisode:
    return episode if best is None or _rank(episode) < _rank(best) else best


def _rank(episode: StoredEpisode) -> tuple[bool, int]:
    return episode.finish != "stop", len(episode.text)


def _message(role: str, content: str) -> dict[str, str]:
    # A program may print a lone surrogate; the readers of data sets take nothing but UTF-8.
    return {"role": role, "content": content.encode("utf-8", "backslashreplace").decode("utf-8")}


def _describe(environment: Environment, cycle: int) -> dict[str, Any]:
    return {
        "task": environment.kind,
        "difficulty": environment.difficulty,
        "environment": environment.id,
        "cycle": cycle,
    }
