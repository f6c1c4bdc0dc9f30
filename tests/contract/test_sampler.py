"""The sampler against the learner's own numbers and against transformers' generate."""

import time

import pytest
import torch

from spadelab.learning.warmstart import solver_example
from spadelab.models.local import LocalModel, resolve_model
from spadelab.rng import Streams

PROMPTS = [f"Trace f and give its output.\nf({i}, {i + 1})" + "\nx" * (i % 5) for i in range(8)]


def pad(model: LocalModel, rows):
    length = max(len(r.prompt_ids) + len(r.ids) for r in rows)
    ids = torch.full((len(rows), length), model.pad_id)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        tokens = row.prompt_ids + row.ids
        ids[i, : len(tokens)] = torch.tensor(tokens)
        mask[i, : len(tokens)] = 1
    return ids, mask


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_equal_the_learners(fresh_model, temperature):
    generator = Streams(1).torch("sampling")
    groups = fresh_model.generate(PROMPTS, 4, 40, temperature, generator)
    rows = [row for group in groups for row in group]
    ids, mask = pad(fresh_model, rows)
    with torch.no_grad():
        logp, _ = fresh_model.score(ids, mask, temperature)
    for i, row in enumerate(rows):
        start = len(row.prompt_ids)
        ours = torch.tensor(row.logprobs)
        assert (logp[i, start : start + len(row.ids)] - ours).abs().max() <= 1e-5


def test_greedy_equals_transformers_generate(fresh_model):
    groups = fresh_model.generate(PROMPTS, 1, 30, 0.0, Streams(1).torch("sampling"))
    for prompt, (row,) in zip(PROMPTS, groups, strict=True):
        ids = torch.tensor([fresh_model.encode_prompt(prompt)])
        output = fresh_model.model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=30, do_sample=False
        )
        expected = output[0, ids.shape[1] :].tolist()
        assert list(row.ids) == expected[: len(row.ids)]


def test_completions_end_with_the_stop_token_and_nothing_after_it(fresh_model):
    with torch.no_grad():  # a model that likes to stop
        fresh_model.model.model.embed_tokens.weight[fresh_model.tokenizer.eos_token_id] *= 3
    groups = fresh_model.generate(PROMPTS, 8, 60, 1.0, Streams(2).torch("sampling"))
    rows = [row for group in groups for row in group]
    stopped = [row for row in rows if row.finish == "stop"]
    assert stopped and len({len(row.ids) for row in stopped}) > 3
    for row in rows:
        assert len(row.ids) == len(row.logprobs) <= 60
        ends = [i for i, token in enumerate(row.ids) if token in fresh_model.stop_ids]
        assert ends == ([len(row.ids) - 1] if row.finish == "stop" else [])


def test_same_seed_same_samples_and_other_seed_others(fresh_model):
    first, second, other = (
        fresh_model.generate(PROMPTS, 4, 20, 1.0, Streams(seed).torch("sampling")) for seed in (5, 5, 6)
    )
    assert first == second != other


def test_sampling_frequencies_follow_the_distribution(fresh_model):
    (group,) = fresh_model.generate(PROMPTS[:1], 256, 1, 1.0, Streams(3).torch("sampling"))
    ids = torch.tensor([fresh_model.encode_prompt(PROMPTS[0])])
    with torch.no_grad():
        probabilities = fresh_model.model(input_ids=ids).logits[0, -1].softmax(-1)
    counts = torch.bincount(torch.tensor([g.ids[0] for g in group]), minlength=len(probabilities))
    top = probabilities.topk(3).indices
    for i in top:
        expected = 256 * probabilities[i]
        assert abs(counts[i] - expected) <= 5 * expected.sqrt() + 1


def test_a_prompt_without_room_is_named(fresh_model):
    with pytest.raises(ValueError, match=r"a prompt has \d+ tokens; model.max_seq_len is 512"):
        fresh_model.generate(["中" * 600], 1, 10, 1.0, Streams(1).torch("s"))


def test_model_folder_round_trip_keeps_the_logits(fresh_model, tmp_path):
    fresh_model.save(tmp_path)
    loaded = LocalModel.load(tmp_path, 512)
    ids = torch.tensor([fresh_model.encode_prompt("中文 and text\n")])
    with torch.no_grad():
        assert torch.equal(loaded.model(input_ids=ids).logits, fresh_model.model(input_ids=ids).logits)
    assert (
        loaded.tokenizer.decode(loaded.encode_completion("中文 x = 12"), skip_special_tokens=True)
        == "中文 x = 12"
    )
    assert loaded.stop_ids == fresh_model.stop_ids


def test_faster_than_generate_of_transformers():
    """The bar is 3 x on an idle machine (benchmarks/speed.md); in a busy test run 1.5 x must hold."""
    model = LocalModel.load(resolve_model("tiny"), 512)
    stream = Streams(0).python("prompts")
    prompts = [solver_example(stream)[0] for _ in range(32)]
    model.generate(prompts[:4], 8, 16, 1.0, Streams(1).torch("warm"))
    start = time.process_time()
    groups = model.generate(prompts, 8, 160, 1.0, Streams(1).torch("s"))
    ours = sum(len(row.ids) for group in groups for row in group) / (time.process_time() - start)
    encoded = [model.encode_prompt(p) for p in prompts for _ in range(8)]
    width = max(map(len, encoded))
    ids = torch.tensor([[model.pad_id] * (width - len(e)) + list(e) for e in encoded])
    start = time.process_time()
    output = model.model.generate(
        input_ids=ids,
        attention_mask=(ids != model.pad_id).long(),
        max_new_tokens=160,
        do_sample=True,
        top_k=0,
    )
    theirs = int((output[:, width:] != model.pad_id).sum()) / (time.process_time() - start)
    assert ours > 1.5 * theirs
