"""A conversation as tokens: what was sampled is never encoded again, so training sees what was sampled."""

from __future__ import annotations

from spadelab.models.local import LocalModel, Message
from spadelab.models.slab import Past
from spadelab.records import Generation


class Conversation:
    """Grows by replies and observations; `generations` are its training sequences.

    There is one sequence as long as the chat template only appends. A template that rewrites history
    (thoughts dropped from earlier replies) starts a new one with each observation. `past` is what the
    model's cache holds of the context.
    """

    def __init__(self, model: LocalModel, opening: str) -> None:
        self.model = model
        self.messages: list[Message] = [{"role": "user", "content": opening}]
        self.finished: list[Generation] = []
        self.past = Past()
        self._begin()

    @property
    def context(self) -> tuple[int, ...]:
        """Token ids to continue from."""
        return (*self._prompt, *self._ids)

    def add_reply(self, reply: Generation) -> None:
        """Append what the model sampled."""
        self._ids += reply.ids
        self._logprobs += reply.logprobs
        self._sampled += [1] * len(reply.ids)
        self._finish = reply.finish
        self.messages.append({"role": "assistant", "content": reply.text})

    def add_observation(self, text: str) -> None:
        """Append a user message; the last reply must have ended by a stop token."""
        self.messages.append({"role": "user", "content": text})
        more = self.model.encode_answer(self.messages, self._ids[-1])
        if more is None:
            self.finished.append(self._close())
            self._begin()
            return
        self._ids += more
        self._logprobs += [0.0] * len(more)
        self._sampled += [0] * len(more)

    def generations(self) -> tuple[Generation, ...]:
        """The sequences, oldest first; the text of each is its last reply."""
        return (*self.finished, self._close())

    def _begin(self) -> None:
        self._prompt = self.model.encode_messages(self.messages)
        self._ids: list[int] = []
        self._logprobs: list[float] = []
        self._sampled: list[int] = []
        self._finish = "length"

    def _close(self) -> Generation:
        # An observation that nobody answered teaches nothing.
        end = max((i + 1 for i, sampled in enumerate(self._sampled) if sampled), default=0)
        text = next((m["content"] for m in reversed(self.messages) if m["role"] == "assistant"), "")
        return Generation(
            text,
            self._prompt,
            tuple(self._ids[:end]),
            tuple(self._logprobs[:end]),
            self._finish,
            tuple(self._sampled[:end]),
        )
