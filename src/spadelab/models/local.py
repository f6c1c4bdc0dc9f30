"""A policy on this machine: any causal language model of transformers, trained and sampled in place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from spadelab.config_sections import BUNDLED_MODELS
from spadelab.models.sampler import sample
from spadelab.models.slab import Past, is_lasting
from spadelab.records import Generation

PACKAGE = Path(__file__).parent / "tiny"
# Rows of one sampling batch: large enough to amortise the per-step overhead, small enough for the cache
# of a tiny model to stay near the processor.
ROWS_PER_BATCH = 256
Message = dict[str, str]
"""One message of a conversation: "role" and "content"."""


def resolve_model(name: str) -> Path:
    """The folder of a model: a bundled one by its name, anything else is a path."""
    return PACKAGE / BUNDLED_MODELS[name] if name in BUNDLED_MODELS else Path(name)


class LocalModel:
    """Weights and tokenizer of one policy; `version` counts the optimiser steps it has taken."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, max_length: int) -> None:
        window = getattr(model.config, "sliding_window", None)
        if window and getattr(model.config, "use_sliding_window", True) and window < max_length:
            raise ValueError(
                f"{type(model).__name__} has a sliding attention window of {window} tokens, which the "
                f"sampler does not do; set model.max_seq_len to {window} or less"
            )
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length
        self.version = 0
        self.sampled_tokens = 0
        ends = {tokenizer.eos_token_id, model.generation_config.eos_token_id}
        self.stop_ids = frozenset(
            i for end in ends for i in (end if isinstance(end, list) else [end]) if i is not None
        )
        self.pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id

    @classmethod
    def load(cls, folder: Path, max_length: int, device: str = "cpu", dtype: str = "float32") -> LocalModel:
        """Load weights and tokenizer from a model folder in the ordinary format."""
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=getattr(torch, dtype), local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return cls(model.to(device).train(False), tokenizer, max_length)  # type: ignore[arg-type]

    def save(self, folder: Path) -> None:
        """Write weights and tokenizer so that `load` (or any other program) can read them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def encode_prompt(self, prompt: str) -> tuple[int, ...]:
        """Token ids of one user message under the model's chat template, ready to be continued."""
        return self._encode(self._render([{"role": "user", "content": prompt}], True))

    def encode_answer(self, messages: Sequence[Message], last: int) -> tuple[int, ...] | None:
        """Token ids that lead from a sampled reply to the next one.

        `messages` end with the reply and the user message that answers it; `last` is the final token id of
        the reply. None when the chat template does not only append, but rewrites what came before.
        """
        before, after = self._render(messages[:-1], False), self._render(messages, True)
        if not after.startswith(before):
            return None
        # What the template puts behind the end token is not part of the sampled reply.
        end = str(self.tokenizer.decode([last]))
        return self._encode(before[before.rindex(end) + len(end) :] + after[len(before) :])

    def encode_messages(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of a whole conversation, ready to be continued."""
        return self._encode(self._render(messages, True))

    def encode_completion(self, completion: str) -> tuple[int, ...]:
        """Token ids of a completion, the end token included."""
        return (*self.tokenizer(completion, add_special_tokens=False).input_ids, self.tokenizer.eos_token_id)

    def generate(
        self,
        prompts: Sequence[str],
        group: int,
        max_new_tokens: int,
        temperature: float,
        generator: torch.Generator,
    ) -> list[list[Generation]]:
        """Sample `group` completions for each prompt, in the order of `prompts`.

        A prompt that leaves no room under `max_length` raises ValueError naming both lengths.
        """
        encoded = [self.encode_prompt(prompt) for prompt in prompts]
        return self.extend(encoded, group, max_new_tokens, temperature, generator)

    def extend(
        self,
        encoded: Sequence[tuple[int, ...]],
        group: int,
        max_new_tokens: int,
        temperature: float,
        generator: torch.Generator,
        pasts: Sequence[Past] = (),
    ) -> list[list[Generation]]:
        """As `generate`, from token ids.

        `pasts`, one for each prompt with a group of 1, belong to conversations that grow: what one holds
        of its prompt is not computed again, and after the call it holds the prompt with its completion.
        They stay empty where the model's cache does not allow that.
        """
        if pasts and group != 1:
            raise ValueError(f"a past belongs to one completion, but the group has {group}; make it 1")
        pasts = pasts if is_lasting(self.model.config) else ()
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        per_batch = max(1, ROWS_PER_BATCH // group)
        results: dict[int, list[Generation]] = {}
        self.model.train(False)
        for start in range(0, len(order), per_batch):
            batch = order[start : start + per_batch]
            room = self.max_length - max(len(encoded[i]) for i in batch)
            if room < 1:
                longest = self.max_length - room
                raise ValueError(f"a prompt has {longest} tokens; model.max_seq_len is {self.max_length}")
            groups = sample(
                self.model,
                [encoded[i] for i in batch],
                group,
                min(max_new_tokens, room),
                temperature,
                self.stop_ids,
                self.pad_id,
                generator,
                [pasts[i] for i in batch if pasts],
            )
            for i, members in zip(batch, groups, strict=True):
                self.sampled_tokens += sum(len(member.ids) for member in members)
                results[i] = [
                    Generation(
                        str(self.tokenizer.decode(member.ids, skip_special_tokens=True)),
                        encoded[i],
                        tuple(member.ids),
                        tuple(member.logprobs),
                        member.finish,
                    )
                    for member in members
                ]
        return [results[i] for i in range(len(encoded))]

    def _render(self, messages: Sequence[Message], prompt: bool) -> str:
        text = self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=prompt
        )
        return str(text)

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False).input_ids)

    def score(
        self, ids: torch.Tensor, mask: torch.Tensor, temperature: float = 1.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probability of each token given those before it, and the logits it was drawn from.

        `ids` [rows, length] are right-padded token ids, `mask` is 1 on real tokens. Returns
        [rows, length] log-probabilities under softmax(logits / temperature), 0 at the first position,
        and the scaled logits [rows, length - 1, vocabulary].
        """
        logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1].float()
        logits = logits / (temperature or 1.0)
        chosen = torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)
        return torch.nn.functional.pad(chosen, (1, 0)), logits
