"""Whole conversations as training sequences: the assistant's tokens are learned, the rest is context."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from spadelab.models.local import Message


def encode_conversation(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Token ids of a conversation, and a mask that is 1 on the assistant's tokens, end tokens included.

    Token in, token out: the ids are those that sampling turn by turn gives, so a reply is tokenised
    alone. Raises ValueError when the chat template does not simply append (some drop old thoughts).
    """
    ids: list[int] = []
    mask: list[int] = []
    written = ""
    for number, message in enumerate(messages, start=1):
        if message["role"] == "assistant":
            new = [*tokenizer(message["content"], add_special_tokens=False).input_ids, tokenizer.eos_token_id]
            written += message["content"] + str(tokenizer.eos_token)
        else:
            text = str(
                tokenizer.apply_chat_template(
                    list(messages[:number]), tokenize=False, add_generation_prompt=True
                )
            )
            if not text.startswith(written):
                raise ValueError("the chat template rewrites earlier messages, so turns cannot be appended")
            new = tokenizer(text[len(written) :], add_special_tokens=False).input_ids
            written = text
        ids += new
        mask += [int(message["role"] == "assistant")] * len(new)
    return tuple(ids), tuple(mask)
