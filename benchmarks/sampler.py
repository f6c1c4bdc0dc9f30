"""Our sampler against `generate` of transformers: `python benchmarks/sampler.py [--rounds N]`.

The bundled solver, 64 prompts x 8 samples, temperature 1, one thread; the two sides alternate within one
run. Figures are sampled tokens per CPU second, padding not counted.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from spadelab.learning.warmstart import solver_example
from spadelab.models.local import LocalModel, resolve_model
from spadelab.rng import Streams

PROMPTS, GROUP, LENGTH = 64, 8, 200


def ours(model: LocalModel, prompts: list[str], seed: int) -> float:
    """Tokens a CPU second of `LocalModel.generate`."""
    start = time.process_time()
    groups = model.generate(prompts, GROUP, LENGTH, 1.0, Streams(seed).torch("sampler"))
    return sum(len(row.ids) for group in groups for row in group) / (time.process_time() - start)


def theirs(model: LocalModel, prompts: list[str], seed: int) -> float:
    """Tokens a CPU second of `generate` on the same rows in one batch."""
    encoded = [model.encode_prompt(prompt) for prompt in prompts for _ in range(GROUP)]
    width = max(map(len, encoded))
    ids = torch.tensor([[model.pad_id] * (width - len(row)) + list(row) for row in encoded])
    torch.default_generator.manual_seed(seed)
    start = time.process_time()
    output = model.model.generate(
        input_ids=ids,
        attention_mask=(ids != model.pad_id).long(),
        max_new_tokens=LENGTH,
        do_sample=True,
        temperature=1.0,
        top_k=0,
    )
    return int((output[:, width:] != model.pad_id).sum()) / (time.process_time() - start)


def main() -> None:
    """Print medians with their spread, and the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    model = LocalModel.load(resolve_model("tiny"), 512)
    stream = Streams(0).python("prompts")
    prompts = [solver_example(stream)[0]["content"] for _ in range(PROMPTS)]
    ours(model, prompts[:8], 0)
    theirs(model, prompts[:8], 0)
    pairs = [(ours(model, prompts, seed), theirs(model, prompts, seed)) for seed in range(rounds)]
    for name, values in (("ours", [a for a, _ in pairs]), ("generate", [b for _, b in pairs])):
        print(f"{name:10} {statistics.median(values):8.0f} tokens/s  [{min(values):.0f}, {max(values):.0f}]")
    ratios = [a / b for a, b in pairs]
    print(f"{'ratio':10} {statistics.median(ratios):8.2f}           [{min(ratios):.2f}, {max(ratios):.2f}]")


if __name__ == "__main__":
    main()
