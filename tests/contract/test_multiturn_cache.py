"""Conversations that go on from the cache of their last turn: the numbers of a row computed afresh."""

from __future__ import annotations

import random

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    Qwen3Config,
)

from spadelab.models.local import LocalModel
from spadelab.models.slab import Past, is_lasting
from spadelab.play.conversation import Conversation
from spadelab.rng import Streams

OPENINGS = ["guess" + " x" * (7 * i % 11) for i in range(12)]
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
ARCHITECTURES = {
    "grouped queries": LlamaConfig(**SMALL, num_key_value_heads=1),
    "Qwen3": Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=16),
    "Gemma2": Gemma2Config(**SMALL, num_key_value_heads=2, head_dim=8, sliding_window=512),
    "learned positions": GPT2Config(n_embd=32, n_layer=2, n_head=4),
    "latent attention": DeepseekV3Config(
        **SMALL, **LATENT, v_head_dim=4, num_key_value_heads=4, first_k_dense_replace=2
    ),
}


def talkative(model: LocalModel, config: PreTrainedConfig | None = None) -> LocalModel:
    """A model whose replies end at different lengths: a tenth of its tokens, all letters, are stops."""
    if config is not None:
        config.vocab_size = len(model.tokenizer)
        torch.manual_seed(0)
        network = AutoModelForCausalLM.from_config(config).train(False)
        model = LocalModel(network, model.tokenizer, 512)
    texts = {i: model.tokenizer.decode([i]) for i in range(len(model.tokenizer))}
    letters = [i for i, text in texts.items() if text.isascii() and text.isalpha()]
    model.stop_ids = frozenset(letters[: len(texts) // 10])
    return model


def converse(
    model: LocalModel, temperature: float, remember: bool, turns: int = 4
) -> tuple[list[Conversation], list[int]]:
    """Several turns with observations of all lengths; conversations end early where a reply is cut.

    Returns the conversations and how many tokens a row each forward pass was fed.
    """
    talks, generator = [Conversation(model, text) for text in OPENINGS], Streams(1).torch("s")
    draws, widths = random.Random(0), list[int]()
    hook = model.model.get_input_embeddings().register_forward_hook(
        lambda _module, inputs, _output: widths.append(inputs[0].shape[1])
    )
    active = talks
    for _ in range(turns):
        contexts, pasts = [talk.context for talk in active], [talk.past for talk in active]
        replies = model.extend(contexts, 1, 20, temperature, generator, pasts if remember else ())
        for talk, (reply,) in zip(active, replies, strict=True):
            talk.add_reply(reply)
        active = [talk for talk, (reply,) in zip(active, replies, strict=True) if reply.finish == "stop"]
        for talk in active:
            talk.add_observation("y" * draws.choice([1, 1, 2, 9, 40]))
    hook.remove()
    return talks, widths


def assert_learned(model: LocalModel, talk: Conversation) -> None:
    """The log-probabilities of all sequences are those that the learner computes on the whole rows."""
    for sequence in talk.generations():
        ids = torch.tensor([sequence.prompt_ids + sequence.ids])
        with torch.no_grad():
            learned, _ = model.score(ids, torch.ones_like(ids))
        drawn = torch.tensor(sequence.sampled) == 1
        ours = torch.tensor(sequence.logprobs)[drawn]
        assert (learned[0, len(sequence.prompt_ids) :][drawn] - ours).abs().max() <= 1e-5


def replied(talks: list[Conversation]) -> list[tuple[int, ...]]:
    return [sequence.ids for talk in talks for sequence in talk.generations()]


@pytest.mark.parametrize("temperature", [1.0, 0.0])
def test_turns_from_the_cache_are_the_turns_computed_afresh(fresh_model, temperature) -> None:
    model = talkative(fresh_model)
    talks, widths = converse(model, temperature, True)
    afresh, all_widths = converse(model, temperature, False)
    assert replied(talks) == replied(afresh)
    for talk in talks:
        assert_learned(model, talk)
    replies = [[m for m in talk.messages if m["role"] == "assistant"] for talk in talks]
    assert {1, 4} <= {len(said) for said in replies}  # some end early, some take all turns
    assert len({len(m["content"]) for said in replies for m in said}) > 5
    # Later turns are fed what is new: an observation of 40 letters, its marks and the reply's last token.
    first, *later = [width for width in widths if width > 1]
    assert max(later) < 50 < max(width for width in all_widths if width > first)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_other_architectures_go_on_from_their_cache(fresh_model, name) -> None:
    model = talkative(fresh_model, ARCHITECTURES[name])
    assert is_lasting(model.model.config)
    talks, widths = converse(model, 1.0, True, turns=3)
    afresh, all_widths = converse(model, 1.0, False, turns=3)
    assert replied(talks) == replied(afresh) and sum(widths) < sum(all_widths)
    for talk in talks:
        assert_learned(model, talk)


def test_a_row_alone_goes_on_without_padding(fresh_model) -> None:
    model, generator = talkative(fresh_model), Streams(3).torch("s")
    talk = Conversation(model, "alone")
    for _ in range(3):
        ((reply,),) = model.extend([talk.context], 1, 60, 1.0, generator, [talk.past])
        assert talk.past.ids == (*talk.context, *reply.ids)[:-1]
        talk.add_reply(reply)
        talk.add_observation("again")
    assert_learned(model, talk)


def test_a_rewritten_history_keeps_what_still_agrees(fresh_model) -> None:
    model, past = talkative(fresh_model), Past()
    prompt = model.encode_prompt("first thought, then acted, then waited")
    model.extend([prompt], 1, 5, 0.0, Streams(1).torch("s"), [past])
    rewritten = (*prompt[:6], *model.encode_prompt("another story"))
    assert past.agree(rewritten) >= 6 and past.agree(prompt) == len(prompt) - 1 and past.agree((1, 2)) == 0
    beside, fresh = model.encode_prompt("one that is longer than the rewritten one " * 3), Past()
    contexts = [rewritten, beside]
    cached = model.extend(contexts, 1, 12, 0.0, Streams(1).torch("s"), [past, fresh])
    for (ours,), (theirs,) in zip(
        cached, model.extend(contexts, 1, 12, 0.0, Streams(1).torch("s")), strict=True
    ):
        assert ours.ids == theirs.ids and ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-5)


def test_a_past_belongs_to_one_completion(fresh_model) -> None:
    with pytest.raises(ValueError, match="a past belongs to one completion, but the group has 2"):
        fresh_model.extend([(1, 2)], 2, 4, 1.0, Streams(1).torch("s"), [Past()])


def test_a_cache_that_does_not_last_is_never_gone_on_from(fresh_model) -> None:
    rotation = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    model = talkative(fresh_model, LlamaConfig(**SMALL, max_position_embeddings=32, rope_parameters=rotation))
    talks, widths = converse(model, 1.0, True, turns=3)
    assert all(talk.past == Past() for talk in talks)
    assert widths == converse(model, 1.0, False, turns=3)[1]
    assert not is_lasting(LlamaConfig(**SMALL, layer_types=["full_attention", "linear_attention"]))
    nested = {"full_attention": rotation, "sliding_attention": {"rope_type": "default"}}
    config = LlamaConfig(**SMALL)
    config.rope_parameters = nested
    assert not is_lasting(config)
