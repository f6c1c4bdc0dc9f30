"""The sections of the settings: every key with its default, unit and range."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from spadelab.config_self_play import Count, NonNegative, Section, Share, Temperature

Prompts = Literal["compact", "full"]
RewardRule = Literal[
    "frontier",
    "learnability",
    "azr",
    "azr_repo",
    "azr_inverse",
    "uncertainty",
    "uncertainty_repo",
    "variance",
    "ssr",
    "proximity",
    "solvable",
    "lemma",
    "lift",
    "regret",
    "blend",
    "learning_potential",
]
AdvantageRule = Literal["trrpp", "grpo", "dr_grpo", "rloo", "rae", "global"]
BUNDLED_MODELS = {
    "tiny": "solver",
    "tiny-proposer": "proposer",
    "tiny-shared": "shared",
    "tiny-worlds": "worlds-shared",
    "tiny-worlds-solver": "worlds-solver",
    "tiny-worlds-proposer": "worlds-proposer",
}
"""Names of the models in the package, and the roles they were warm-started for."""


class RunSettings(Section):
    """The run's folder, budgets and checkpoints."""

    name: str = "minimal"
    """Folder name of the run inside `directory`."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Root of every random stream."""
    directory: str = "runs"
    """Parent folder of all runs (the articles' `training.output_dir`)."""
    minutes: float | None = Field(default=None, gt=0)
    """Wall-clock budget of the loop in minutes; null: no limit."""
    cpu_seconds: float | None = Field(default=None, gt=0)
    """Budget of the loop in CPU seconds of this process; null: no limit."""
    checkpoint_every: Count = 10
    """Cycles between checkpoints."""
    keep_checkpoints: Count = 2
    """Complete checkpoints that stay on disk."""
    tensorboard: bool = False
    """Also write the metrics as TensorBoard events, to `tensorboard/` in the run's folder (extra "track")."""
    replicas: int = Field(default=1, ge=1, le=8)
    """Copies of each checkpoint, the first one included."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name or name[0] in ".-" or not all(c.isalnum() or c in "._-" for c in name):
            raise ValueError("must be a folder name made of letters, digits, '.', '_' and '-'")
        return name


class ModelSettings(Section):
    """The base model and how it is run."""

    base_model_path: str = "tiny"
    """"tiny" (bundled) or a folder in Hugging Face format."""
    inference_backend: Literal["transformers"] = "transformers"
    max_seq_len: int = Field(default=512, ge=16)
    """Longest prompt plus completion, in tokens."""
    device: str = "cpu"
    """"cpu", "cuda", "cuda:N" or "mps"."""
    threads: int = Field(default=1, ge=1, le=1024)
    """CPU threads of tensor operations; 1 keeps runs bit-identical."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"

    @field_validator("device")
    @classmethod
    def _check_device(cls, device: str) -> str:
        if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device):
            raise ValueError('must be "cpu", "cuda", "cuda:N" or "mps"')
        return device


class ProposerSettings(Section):
    """The role that writes tasks."""

    model: str = "tiny-proposer"
    """"tiny-proposer" (bundled), "same" (share the solver's weights) or a model folder."""
    temperature: Temperature = 1.0
    references: int = Field(default=1, ge=0, le=32)
    """Earlier tasks shown in the prompt as examples (K)."""
    max_new_tokens: Count = 256
    train: bool = True
    """False freezes the proposer."""
    prompts: Prompts = "compact"
    """"compact" for the bundled models, "full" for instruction-tuned ones."""
    repairs: int = Field(default=0, ge=0, le=8)
    """Further attempts at a rejected draft, with the failing check shown back (interactive)."""
    corpus: str | None = None
    """Folder or JSONL file of documents that ground the drafts (interactive); null: none."""
    negatives: int = Field(default=1, ge=0, le=8)
    """Rejected or useless earlier environments shown with the reason (interactive)."""


class SolverSettings(Section):
    """The role that solves tasks."""

    model: str | None = None
    """A model folder; null: `model.base_model_path`."""
    temperature: Temperature = 1.0
    rollouts: int = Field(default=4, ge=2, le=1024)
    """Attempts at each task; at least 2, since solve rates and baselines come from the group."""
    max_new_tokens: Count = 320
    prompts: Prompts = "compact"


class HinterSettings(Section):
    """The role that writes hints for environments that have none of their own."""

    enabled: bool = False
    temperature: Temperature = 0.3
    max_new_tokens: Count = 128


class JudgeSettings(Section):
    """The optional role that may veto environments; it never decides what was right."""

    enabled: bool = False
    temperature: float = Field(default=0.0, ge=0, le=10)
    max_new_tokens: Count = 128


class CreditSettings(Section):
    """Rewards and advantages."""

    proposer_reward: RewardRule = "frontier"
    """Name of a rule in `credit/rewards.py`."""
    advantage: AdvantageRule = "grpo"
    """The solver's rule, a name in `credit/advantages.py`."""
    proposer_advantage: AdvantageRule = "trrpp"
    """The proposer's rule, a name in `credit/advantages.py`."""
    trrpp_level: Literal["sequence", "token"] = "sequence"
    """Whether the solver's "trrpp" whitens over sequences, or over tokens as its authors' code does."""
    invalid_reward: float = Field(default=-0.5, ge=-10, le=0)
    """Reward of a draft that a gate rejected."""
    obey_tolerance: int = Field(default=1, ge=0)
    """Largest |written - asked| difficulty at which the proposer is still paid."""
    hinted: bool = True
    """Whether interactive environments are also played with a hint, on the same seeds, for the regret."""
    return_rule: Literal["sum", "final"] = "sum"
    """An episode's return: the sum of its rewards, or the last one alone, as published."""
    copy_discount: Share = 0.0
    """How much of a reward is lost when all of a cycle's environments are near copies of it."""
    delay: int = Field(default=0, ge=0)
    """Cycles between an environment's first episodes and its proposer's reward (interactive)."""


class TrainingSettings(Section):
    """The gradient step."""

    method: Literal["rl", "sft", "sft_or_ppo"] = "rl"
    """"rl", "sft" (gold term alone), or "sft_or_ppo" (rl, gold term required)."""
    learning_rate: float = Field(default=5e-4, ge=0, le=1)
    proposer_learning_rate: Annotated[float, Field(ge=0, le=1)] | None = 1e-4
    """The proposer's where it has its own weights; null: `learning_rate`."""
    batch_size: Count = 32
    """Rows in a micro batch."""
    epochs_per_iteration: int = Field(default=1, ge=1, le=100)
    """Passes over the rows of a cycle."""
    policy_weight: NonNegative = 1.0
    """Weight of the policy gradient beside the gold term."""
    gold_weight: NonNegative = 1.0
    """Weight of imitating correct answers that execution provided; 0: pure RL."""
    gold_tasks: Literal["frontier", "unmastered"] = "unmastered"
    """Tasks whose answers are imitated: solved sometimes ("frontier"), or not always ("unmastered")."""
    gold_replay: int = Field(default=240, ge=0)
    """Earlier tasks whose answers are imitated again in each cycle, mastered ones among them."""
    minibatches: Count = 4
    """Optimiser steps in one pass over the rows of a cycle."""
    clip_low: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float = Field(default=0.28, gt=0)
    """Policy ratios are clipped to [1 - clip_low, 1 + clip_high]."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """Bound c of the dual clip for negative advantages (3.0 is usual); null: off."""
    kl: NonNegative = 0.0
    """Weight of the k3 divergence to the start model."""
    entropy: NonNegative = 0.0
    """Weight of the entropy bonus."""
    aggregation: Literal["token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum", "constant"] = (
        "token_mean"
    )
    grad_clip: float = Field(default=1.0, gt=0)
    """Largest gradient norm."""
    weight_decay: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _check_gold(self) -> Self:
        if self.method != "rl" and self.gold_weight == 0:
            raise ValueError(
                f'training.gold_weight is 0, but training.method "{self.method}" needs it above 0'
            )
        return self


class EvaluationSettings(Section):
    """The held-out set."""

    every: int = Field(default=0, ge=0)
    """Cycles between evaluations; 0: only at the start and at the end."""
    tasks: Count = 1200
    seed: int = Field(default=12345, ge=0, lt=2**63)


class QueueSettings(Section):
    """Where tasks wait; only the local queue is built."""

    backend: Literal["local"] = "local"
