"""The settings: one typed tree, the same names in files, in `--set` and in code.

Every key has a default (`config_sections.py`), an unknown key is an error. Articles about SPADE use
a few other names (`ALIASES`) and a few settings that are not built yet; `load_settings` accepts both
and returns one notice for each setting that it had to replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError, model_validator

from spadelab.config_errors import explain_invalid, text_keys
from spadelab.config_families import fill_family
from spadelab.config_files import apply_override, read_settings_file, rename_keys
from spadelab.config_notices import replace_unbuilt
from spadelab.config_sandbox import RoleLimits, SandboxSettings
from spadelab.config_sections import (
    CreditSettings,
    EvaluationSettings,
    HinterSettings,
    JudgeSettings,
    ModelSettings,
    ProposerSettings,
    QueueSettings,
    RunSettings,
    SolverSettings,
    TrainingSettings,
)
from spadelab.config_self_play import Section, SelfPlaySettings
from spadelab.errors import UserError

__all__ = [
    "ALIASES",
    "CreditSettings",
    "EvaluationSettings",
    "HinterSettings",
    "JudgeSettings",
    "ModelSettings",
    "ProposerSettings",
    "QueueSettings",
    "RoleLimits",
    "RunSettings",
    "SandboxSettings",
    "Section",
    "SelfPlaySettings",
    "Settings",
    "SolverSettings",
    "TrainingSettings",
    "load_settings",
]

ALIASES = {
    "self_play.generator_model": "proposer.model",
    "training.output_dir": "run.directory",
    "task_queue.workers": "sandbox.workers",
    "sandbox.backend": "sandbox.executor_type",
}


PARTNERS = {"tiny-proposer": "tiny", "tiny-worlds-proposer": "tiny-worlds-solver"}
"""The bundled proposers and the solvers that they belong to."""


class Settings(Section):
    """All settings of a run."""

    run: RunSettings = RunSettings()
    model: ModelSettings = ModelSettings()
    proposer: ProposerSettings = ProposerSettings()
    solver: SolverSettings = SolverSettings()
    hinter: HinterSettings = HinterSettings()
    judge: JudgeSettings = JudgeSettings()
    self_play: SelfPlaySettings = SelfPlaySettings()
    sandbox: SandboxSettings = SandboxSettings()
    credit: CreditSettings = CreditSettings()
    training: TrainingSettings = TrainingSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    task_queue: QueueSettings = QueueSettings()

    @model_validator(mode="before")
    @classmethod
    def _fill_family(cls, tree: Any) -> Any:
        return fill_family(tree) if isinstance(tree, dict) else tree

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for role, limit in (("proposer", self.proposer), ("solver", self.solver)):
            if limit.max_new_tokens >= self.model.max_seq_len:
                raise ValueError(
                    f"{role}.max_new_tokens is {limit.max_new_tokens}, but it must be less than "
                    f"model.max_seq_len ({self.model.max_seq_len}) to leave room for the prompt"
                )
        return self

    @model_validator(mode="after")
    def _check_credit(self) -> Self:
        delay, interval = self.credit.delay, self.self_play.regenerate_every
        if delay % interval:
            raise ValueError(
                f"credit.delay is {delay}, but it must be 0 or a multiple of self_play.regenerate_every "
                f"({interval}): the proposer is paid when the next environments are written"
            )
        if self.proposer.repairs and self.proposer.prompts == "compact":
            raise ValueError(
                f"proposer.repairs is {self.proposer.repairs}, but must be 0 while proposer.prompts is "
                '"compact": the bundled models cannot read a failing check'
            )
        hinted = self.self_play.family == "interactive" and self.credit.hinted
        if self.credit.proposer_reward == "regret" and not hinted:
            raise ValueError(
                'credit.proposer_reward is "regret", which needs play with a hint: self_play.family '
                '"interactive" and credit.hinted true'
            )
        return self

    @property
    def cycles(self) -> int:
        """Cycles of the whole run."""
        return self.self_play.iterations * self.self_play.rounds_per_iteration

    @property
    def solver_model(self) -> str:
        """The solver's model: "tiny" or a folder."""
        return self.solver.model or self.model.base_model_path

    @property
    def shared_model(self) -> bool:
        """Whether proposer and solver are one set of weights."""
        return self.proposer.model in ("same", self.solver_model)

    @property
    def run_path(self) -> Path:
        """The run's folder."""
        return Path(self.run.directory) / self.run.name


def load_settings(path: str | Path | None, overrides: Sequence[str] = ()) -> tuple[Settings, list[str]]:
    """Read settings from a JSON, TOML or YAML file and `key.path=value` overrides, later ones winning.

    A value of an override is JSON if it parses as such, text otherwise. Returns the settings and
    one sentence for each setting that is not built yet and was replaced. Raises UserError, one
    sentence with file, key and cure, for anything it cannot accept. Model folders are not opened
    here (`config_files.check_model_folder` does it).
    """
    tree: dict[str, Any] = read_settings_file(Path(path)) if path is not None else {}
    source = str(path) if path is not None else "the settings"
    rename_keys(tree, ALIASES, source)
    for override in overrides:
        apply_override(tree, override, ALIASES, text_keys(Settings))
    notices = replace_unbuilt(tree)
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise UserError(explain_invalid(error, Settings, source, overrides, ALIASES)) from None
    if settings.proposer.model in PARTNERS and settings.solver_model != PARTNERS[settings.proposer.model]:
        notices.append(
            f"proposer.model is the bundled {settings.proposer.model} and the solver is "
            f'{settings.solver_model}; write "same" there to let one model play both roles.'
        )
    return settings, notices
