"""One job on its way to a remote jail, and the reading of what comes back."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass

from .channel import classify
from .jail import Ending
from .jobs import Job, Outcome
from .service import Load, Result
from .wire import LOAD, Codec, WireError


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of a job, one a call, and the one that ended its child, if any did."""

    outcomes: list[Outcome]
    ended: Outcome | None


def fail(job: Job, outcome: Outcome) -> Report:
    """The report when `outcome` is all there is to say."""
    return Report([outcome] * len(job.calls), outcome)


class Parcel:
    """A job on its way. Raises UnicodeEncodeError for text that no encoding can carry."""

    def __init__(self, index: int, job: Job) -> None:
        self.index = index
        self.job = job
        self._names = [secrets.token_hex(8) for _ in job.calls]
        self._codec = Codec(job.limits)
        frame = self._codec.encode(list(zip(self._names, job.calls, strict=True)), job.source, job.stream)
        limits = job.limits
        answers = max(1, len(job.calls))
        self.seconds = limits.wall_seconds * answers
        self.load = Load(
            frame, answers, limits.wall_seconds, limits.cpu_seconds, limits.memory_mb, self._codec.frame_cap
        )

    def read(self, result: Result) -> Report:
        """Check what the child wrote, as if it had just come down its channel."""
        outcomes: list[Outcome] = []
        received = bytearray(result.received)
        try:
            expected = deque(self._names or [LOAD])
            for number, reply in enumerate(self._codec.split(received)):
                seconds = result.seconds[number] if number < len(result.seconds) else 0.0
                failed = reply.id == LOAD and reply.kind != "value" and not number
                if not failed and reply.id != expected.popleft():
                    raise WireError("an answer to no question")
                outcome = self._codec.to_outcome(reply, seconds, loading=reply.id == LOAD)
                if failed:
                    return fail(self.job, outcome)
                outcomes += [outcome] if reply.id != LOAD else []
                if not expected:
                    break
            if not expected and received:
                raise WireError("more answers than questions")
            ended = self._explain(result) if expected else None
        except WireError as error:
            ended = Outcome("protocol_error", message=str(error)[:500])
        missing = len(self._names) - len(outcomes)
        return Report(outcomes + [ended] * missing if ended else outcomes, ended)

    def _explain(self, result: Result) -> Outcome:
        limits = self.job.limits
        if result.end == "silent":
            return Outcome("wall_timeout", message=f"no answer within {limits.wall_seconds:g} s")
        if result.end == "too long":
            return Outcome("output_limit", message="the answer is too long for the service")
        if result.end == "answered":
            return Outcome("protocol_error", message="a reply without an end")
        ending = Ending(result.status, result.killed, result.cpu_seconds)
        return classify(ending, limits, sum(result.seconds))
