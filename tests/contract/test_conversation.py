"""Token-in, token-out: a conversation's training sequence is what was sampled, token for token."""

from __future__ import annotations

import pytest
import torch

from spadelab.models.local import LocalModel, resolve_model
from spadelab.play.conversation import Conversation
from spadelab.records import Generation

THINKING = (
    "{% for m in messages %}<|{{ m['role'] }}|>{% if m['role'] == 'assistant' and not loop.last %}"
    "{{ m['content'].split('#')[-1] }}{% else %}{{ m['content'] }}{% endif %}"
    "{% if m['role'] == 'assistant' %}<|end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel.load(resolve_model("tiny"), 512)


def reply(model: LocalModel, text: str) -> Generation:
    ids = model.encode_completion(text)
    return Generation(text, (), ids, (-0.5,) * len(ids), "stop")


def test_two_turns_are_one_sequence_of_what_the_template_gives(model: LocalModel) -> None:
    talk = Conversation(model, "guess")
    talk.add_reply(reply(model, "3"))
    talk.add_observation("higher")
    talk.add_reply(reply(model, "5"))
    (sequence,) = talk.generations()
    text = model.tokenizer.decode(sequence.prompt_ids + sequence.ids)
    assert text == "<|user|>guess<|assistant|>3<|end|><|user|>higher<|assistant|>5<|end|>"
    drawn = [i for i, sampled in zip(sequence.ids, sequence.sampled, strict=True) if sampled]
    assert model.tokenizer.decode(drawn) == "3<|end|>5<|end|>"
    assert all((p == -0.5) == bool(s) for p, s in zip(sequence.logprobs, sequence.sampled, strict=True))


def test_sampled_ids_are_kept_even_where_the_text_would_be_encoded_otherwise(model: LocalModel) -> None:
    byte_by_byte = tuple(
        i for c in "    return (a, b)" for i in model.tokenizer(c, add_special_tokens=False).input_ids
    )
    assert byte_by_byte != tuple(model.tokenizer("    return (a, b)", add_special_tokens=False).input_ids)
    ids = (*byte_by_byte, model.tokenizer.eos_token_id)
    talk = Conversation(model, "x")
    talk.add_reply(Generation("    return (a, b)", (), ids, (-1.0,) * len(ids), "stop"))
    talk.add_observation("y")
    talk.add_reply(reply(model, "z"))
    assert talk.generations()[0].ids[: len(ids)] == ids


def test_an_unanswered_observation_is_left_out(model: LocalModel) -> None:
    talk = Conversation(model, "x")
    talk.add_reply(reply(model, "1"))
    talk.add_observation("y")
    (sequence,) = talk.generations()
    assert sequence.ids == model.encode_completion("1") and set(sequence.sampled) == {1}


def test_a_template_that_rewrites_history_starts_a_new_sequence() -> None:
    model = LocalModel.load(resolve_model("tiny"), 512)
    model.tokenizer.chat_template = THINKING
    talk = Conversation(model, "q")
    talk.add_reply(reply(model, "plain"))
    talk.add_observation("more")
    assert talk.finished == []  # nothing to strip: the template only appended (with its newline)
    talk.add_reply(reply(model, "thought#act"))
    talk.add_observation("go on")
    talk.add_reply(reply(model, "last"))
    first, second = talk.generations()
    assert model.tokenizer.decode(first.ids) == "plain<|end|>\n<|user|>more<|assistant|>thought#act<|end|>"
    shown = model.tokenizer.decode(second.prompt_ids)
    assert shown.endswith("<|user|>more<|assistant|>act<|end|>\n<|user|>go on<|assistant|>")
    assert model.tokenizer.decode(second.ids) == "last<|end|>"


def test_log_probabilities_of_a_sampled_conversation_agree_with_the_learner(model: LocalModel) -> None:
    generator = torch.Generator().manual_seed(0)
    talk = Conversation(model, "3, 4")
    for observation in ("5", "6"):
        ((sampled,),) = model.extend([talk.context], 1, 12, 1.0, generator)
        talk.add_reply(sampled)
        if sampled.finish != "stop":
            break
        talk.add_observation(observation)
    (sequence,) = talk.generations()
    ids = torch.tensor([sequence.prompt_ids + sequence.ids])
    logp, _ = model.score(ids, torch.ones_like(ids))
    drawn = torch.tensor(sequence.sampled) == 1
    learner = logp[0, len(sequence.prompt_ids) :][drawn]
    assert torch.allclose(learner, torch.tensor(sequence.logprobs)[drawn], atol=1e-5)
