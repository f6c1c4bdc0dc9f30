"""Other architectures go through the same sampler and learner: small models with random weights."""

import random

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from spadelab.config import TrainingSettings
from spadelab.learning.learner import Learner
from spadelab.learning.warmstart import Recipe, build_model
from spadelab.models.local import LocalModel
from spadelab.records import Row
from spadelab.rng import Streams

SIZES = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}


def make(name: str, vocabulary: int, end: int):
    ends = {"vocab_size": vocabulary, "eos_token_id": end, "bos_token_id": None, "pad_token_id": None}
    if name == "qwen2":  # grouped-query attention
        return Qwen2ForCausalLM(Qwen2Config(**SIZES, **ends, num_key_value_heads=2, initializer_range=0.2))
    if name == "mistral_sliding":
        config = MistralConfig(**SIZES, **ends, num_key_value_heads=2, sliding_window=8)
        return MistralForCausalLM(config)
    sizes = {"n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 512}
    return GPT2LMHeadModel(GPT2Config(**sizes, **ends, initializer_range=0.2))


@pytest.fixture(params=["qwen2", "gpt2"])
def model(request, tmp_path):
    tokenizer = build_model(Recipe(hidden=32, layers=1, heads=2)).tokenizer
    torch.manual_seed(0)
    made = LocalModel(make(request.param, len(tokenizer), tokenizer.eos_token_id), tokenizer, 256)
    made.save(tmp_path)
    return LocalModel.load(tmp_path, 256)


def test_greedy_equals_generate(model):
    prompts = [f"def f(a):\n    return a + {i}" + "\n#" * i for i in range(6)]
    for prompt, (row,) in zip(
        prompts, model.generate(prompts, 1, 24, 0.0, Streams(0).torch("x")), strict=True
    ):
        ids = torch.tensor([model.encode_prompt(prompt)])
        output = model.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=24,
            do_sample=False,
            pad_token_id=model.pad_id,
        )
        assert list(row.ids) == output[0, ids.shape[1] :].tolist()[: len(row.ids)]


def test_learner_and_sampler_agree_and_learn(model):
    ((row,),) = model.generate(["f(1, 2)"], 1, 12, 1.0, Streams(0).torch("x"))
    ids = row.prompt_ids + row.ids
    with torch.no_grad():
        logp, _ = model.score(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
    start = len(row.prompt_ids)
    assert (logp[0, start:] - torch.tensor(row.logprobs)).abs().max() <= 1e-5
    mask = (0,) * start + (1,) * len(row.ids)
    gold = Row(ids, mask, (0.0,) * len(ids), 0.0, 1.0, "solver", "deduction", "g", 0)
    Learner(model, TrainingSettings(learning_rate=1e-2)).step([gold], random.Random(0))
    with torch.no_grad():
        after, _ = model.score(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
    assert after[0, start:].sum() > logp[0, start:].sum()


def test_sliding_windows_are_refused_by_name(tmp_path):
    tokenizer = build_model(Recipe(hidden=32, layers=1, heads=2)).tokenizer
    made = make("mistral_sliding", len(tokenizer), tokenizer.eos_token_id)
    with pytest.raises(ValueError, match="MistralForCausalLM has a sliding attention window of 8 tokens"):
        LocalModel(made, tokenizer, 256)
    LocalModel(made, tokenizer, 8)  # never longer than its window: no difference
