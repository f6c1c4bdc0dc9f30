"""Conversations as training sequences: the tokens that sampling gives, and a mask of the model's own."""

from __future__ import annotations

import hashlib
import json
import random

import pytest

from spadelab.learning.conversations import encode_conversation
from spadelab.learning.warmstart import Recipe, build_model, draw_batches
from spadelab.learning.worldstart import world_proposer_conversation, world_solver_conversation

MODEL = build_model(Recipe("world-shared", hidden=32, layers=1, heads=2))


@pytest.mark.parametrize("draw", [world_solver_conversation, world_proposer_conversation])
def test_equals_what_turns_give_token_by_token(draw):
    for number in range(20):
        messages = draw(random.Random(number))
        expected, mask = list(MODEL.encode_prompt(messages[0]["content"])), []
        mask += [0] * len(expected)
        for message in messages[1:]:
            if message["role"] == "assistant":
                new = MODEL.encode_completion(message["content"])
            else:
                new = MODEL.encode_prompt(message["content"])
            expected += new
            mask += [int(message["role"] == "assistant")] * len(new)
        assert encode_conversation(MODEL.tokenizer, messages) == (tuple(expected), tuple(mask))


@pytest.mark.parametrize(
    ("draw", "digest"),
    [(world_solver_conversation, "377b4c47ff1fe83f"), (world_proposer_conversation, "85468a336d5aeb7c")],
)
def test_the_bundled_models_were_started_on_these_very_texts(draw, digest):
    """Other texts want other weights: change this only together with them."""
    texts = [json.dumps(draw(random.Random(number))) for number in range(100)]
    assert hashlib.sha256("".join(texts).encode()).hexdigest()[:16] == digest


def test_a_reply_is_tokenised_alone():
    messages = [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "    "},
        {"role": "user", "content": "import random\n"},
    ]
    ids, mask = encode_conversation(MODEL.tokenizer, messages)
    assert [i for i, own in zip(ids, mask, strict=True) if own] == list(MODEL.encode_completion("    "))


def test_a_template_that_rewrites_history_is_refused():
    tokenizer = build_model(Recipe("world-shared", hidden=32, layers=1, heads=2)).tokenizer
    tokenizer.chat_template = "{% for m in messages[-1:] %}{{ m['content'] }}{% endfor %}"
    messages = [{"role": r, "content": r} for r in ("user", "assistant", "user")]
    with pytest.raises(ValueError, match="rewrites"):
        encode_conversation(tokenizer, messages)


def test_batches_learn_the_assistants_tokens_alone():
    ids, labels, positions = next(draw_batches(MODEL, "world-shared", 8, random.Random(1)))
    learned = labels != -100
    assert ids.shape == labels.shape == positions.shape and (labels[learned] == ids[learned]).all()
    assert learned.any(dim=1).all() and not learned[:, 0].any()
    ends = (ids == MODEL.tokenizer.eos_token_id).sum(dim=1)
    assert ((labels == MODEL.tokenizer.eos_token_id).sum(dim=1) == ends).all()
