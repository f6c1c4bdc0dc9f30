"""The warm start of the bundled models: supervised training on synthetic programs or worlds, from nothing.

Deterministic: the same role, seed and step count give the same weights on one CPU thread.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from spadelab.environments.seeds import identity_environments
from spadelab.environments.tasks import gold, propose_text
from spadelab.learning.conversations import encode_conversation
from spadelab.learning.worldstart import (
    world_pieces,
    world_proposer_conversation,
    world_shared_conversation,
    world_solver_conversation,
)
from spadelab.models.local import LocalModel, Message
from spadelab.models.tiny.grammar import vocabulary
from spadelab.models.tiny.tasks import draw_environment
from spadelab.models.tiny.tokenizer import build_tokenizer
from spadelab.records import Environment
from spadelab.rng import Streams
from spadelab.roles.composition import fixed_pieces
from spadelab.roles.proposer import Request, proposer_prompt
from spadelab.roles.solver import solver_prompt

STYLE = "compact"
FORMAT_PIECES = (
    "```python\n", "\n```\n```input\n", "\n```\n```message\n", "\n```", "<answer>\n", "\n</answer>",
    "<answer>(", ")</answer>", "<answer>", "</answer>", "# a=", " -> (", ")\n", ", ",
)  # fmt: skip
# Longest programs of the warm start, in statements, by task type: the solver sees short ones, the
# proposer long ones. That gap is what self-play closes.
SOLVER_LENGTHS = {"deduction": 5, "abduction": 4, "induction": 2}
PROPOSER_LENGTHS = {"deduction": 24, "abduction": 24, "induction": 12}
REFERENCE_LENGTHS = {"deduction": 10, "abduction": 10, "induction": 5}
# Share of the solver's sequences whose positions are spread out by random gaps of at most this many
# (randomised positional encodings, arXiv 2305.16843): attention over longer distances than it has seen
# is what a longer program needs first.
STRETCHED = {"solver": 0.5, "proposer": 0.0, "shared": 0.35}
LARGEST_GAP = 3
SOLVER_SHARES = {"deduction": 0.4, "abduction": 0.3, "induction": 0.3}
# Steps that made the weights in the package.
STEPS = {
    "solver": 4000,
    "proposer": 2500,
    "shared": 3000,
    "world-solver": 4500,
    "world-proposer": 2500,
    "world-shared": 5000,
}
BATCH = 64
# Where a step has fewer sequences: a conversation teaches few tokens, and many small steps teach it sooner.
BATCHES = {"world-solver": 32, "world-proposer": 32, "world-shared": 32}
EXAMPLES_PER_SHUFFLE = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """Size of the model and its training; the defaults, with STEPS, made the weights in the package."""

    role: str = "solver"
    steps: int = STEPS["solver"]
    seed: int = 0
    hidden: int = 128
    layers: int = 3
    heads: int = 4
    batch: int = BATCH
    learning_rate: float = 2e-3
    max_length: int = 512


def make_recipe(role: str, steps: int | None = None, seed: int = 0) -> Recipe:
    """The recipe of the bundled model of a role, with another number of steps where one is given."""
    return Recipe(role, steps or STEPS[role], seed, batch=BATCHES.get(role, BATCH))


def build_model(recipe: Recipe) -> LocalModel:
    """A fresh Llama-architecture model with its tokenizer.

    The initial weights have standard deviation hidden ** -0.5: with the default of 0.02 a model of
    this size stays on a plateau where it learns only which characters are frequent.
    """
    programs = [*fixed_pieces(STYLE), *FORMAT_PIECES, *vocabulary()]
    pieces = world_pieces() if recipe.role.startswith("world-") else programs
    tokenizer = build_tokenizer(pieces, recipe.max_length)
    torch.default_generator.manual_seed(Streams(recipe.seed).python("weights").getrandbits(62))
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.hidden * 8 // 3 // 8 * 8,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=recipe.max_length,
        tie_word_embeddings=True,
        initializer_range=recipe.hidden**-0.5,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return LocalModel(LlamaForCausalLM(config), tokenizer, recipe.max_length)


def solver_example(stream: random.Random) -> list[Message]:
    """A task and its answer."""
    (kind,) = stream.choices(list(SOLVER_SHARES), weights=list(SOLVER_SHARES.values()))
    environment = draw_environment(kind, stream.randint(1, SOLVER_LENGTHS[kind]), stream)
    return _exchange(solver_prompt(environment, STYLE), gold(environment))


def proposer_example(stream: random.Random) -> list[Message]:
    """A request and a task; the example shown is a task, the identity, or missing."""
    kind = stream.choice(list(PROPOSER_LENGTHS))
    length = stream.randint(1, PROPOSER_LENGTHS[kind])
    references: tuple[Environment, ...] = ()
    shown = stream.random()
    if shown < 0.8:
        references = (draw_environment(kind, stream.randint(1, REFERENCE_LENGTHS[kind]), stream),)
    elif shown < 0.9:
        references = tuple(seed for seed in identity_environments() if seed.kind == kind)
    prompt = proposer_prompt(Request(kind, length, references), STYLE, ())
    return _exchange(prompt, propose_text(draw_environment(kind, length, stream)))


def _exchange(prompt: str, completion: str) -> list[Message]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": completion}]


def shared_example(stream: random.Random) -> list[Message]:
    """One example of either role."""
    return solver_example(stream) if stream.random() < 0.7 else proposer_example(stream)


EXAMPLES: dict[str, Callable[[random.Random], list[Message]]] = {
    "solver": solver_example,
    "proposer": proposer_example,
    "shared": shared_example,
    "world-solver": world_solver_conversation,
    "world-proposer": world_proposer_conversation,
    "world-shared": world_shared_conversation,
}


def draw_positions(length: int, stretched: float, stream: random.Random) -> torch.Tensor:
    """Positions 0 .. length - 1, or with probability `stretched` as many increasing ones with random gaps."""
    if stream.random() >= stretched:
        return torch.arange(length)
    return torch.tensor(stream.choices(range(1, LARGEST_GAP + 1), k=length)).cumsum(0) - 1


def draw_batches(
    model: LocalModel, role: str, size: int, stream: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Endless (ids, labels, positions) batches, [size, length]; sequences of similar length share a batch."""
    example = EXAMPLES[role]
    while True:
        encoded = [
            encode_conversation(model.tokenizer, example(stream)) for _ in range(size * EXAMPLES_PER_SHUFFLE)
        ]
        encoded.sort(key=lambda pair: len(pair[0]))
        chunks = [encoded[i : i + size] for i in range(0, len(encoded), size)]
        stream.shuffle(chunks)
        for chunk in chunks:
            length = max(len(ids) for ids, _ in chunk)
            ids = torch.full((size, length), model.pad_id)
            learned = torch.zeros((size, length), dtype=torch.bool)
            for row, (tokens, mask) in enumerate(chunk):
                ids[row, : len(tokens)] = torch.tensor(tokens)
                learned[row, : len(tokens)] = torch.tensor(mask, dtype=torch.bool)
            positions = torch.stack([draw_positions(length, STRETCHED.get(role, 0.0), stream) for _ in chunk])
            yield ids, torch.where(learned, ids, -100), positions


def learning_rate_factor(step: int, steps: int) -> float:
    """Linear warm-up over 100 steps, then a cosine down to 2 %."""
    return min(1.0, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(
    model: LocalModel, recipe: Recipe, report: Callable[[dict[str, Any]], None], constant_rate: bool = False
) -> Iterator[int]:
    """Run the recipe step by step, yielding the number of steps done; `report` gets a record every 100."""
    optimizer = torch.optim.AdamW(
        model.model.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    batches = draw_batches(model, recipe.role, recipe.batch, Streams(recipe.seed).python("examples"))
    started, mean = time.process_time(), 0.0
    for step in range(recipe.steps):
        factor = 1.0 if constant_rate else learning_rate_factor(step, recipe.steps)
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * factor
        ids, labels, positions = next(batches)
        model.model.train()
        loss = model.model(
            input_ids=ids,
            attention_mask=(ids != model.pad_id).long(),
            position_ids=positions,
            labels=labels,
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        mean += (loss.item() - mean) / (step % 100 + 1)
        if step % 100 == 99 or step == recipe.steps - 1:
            report(
                {
                    "step": step + 1,
                    "loss": round(mean, 5),
                    "cpu_seconds": round(time.process_time() - started),
                }
            )
            mean = 0.0
        model.model.train(False)
        yield step + 1


def save_with_log(model: LocalModel, folder: Path, log: list[dict[str, Any]]) -> None:
    """Write the model folder and, beside the weights, `warmstart.jsonl`."""
    model.save(folder)
    (folder / "warmstart.jsonl").write_text(
        "".join(json.dumps(entry) + "\n" for entry in log), encoding="utf-8"
    )
