"""Faulty stages in a long chain, found by measuring between them."""

import json
import random

NAME = "Broken Pipeline"
SUMMARY = "Measure a signal along a chain of stages and replace the two that distort it."
SKILL = "Causal Inference"
MAX_TURNS = 17
ACTION_FORMAT = "tool_call"
LEVEL = 3


class BrokenPipelineEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        self.stages = 2 ** (LEVEL + 2)
        self.broken = sorted(random.Random(seed).sample(range(1, self.stages + 1), 2))
        self.left = 2 * (LEVEL + 2) + 3
        return (
            f"A signal runs through stages 1 to {self.stages} in this order. Two of them are broken: each "
            "distorts the signal, and it stays so in all that follows. Tools: "
            '{"name": "measure", "arguments": {"stage": 3}} tells whether the signal is clean behind that '
            'stage; "replace", with the same argument, puts a new stage in. Replacing a sound stage loses, '
            f"replacing both broken ones wins. You have {self.left} calls.",
            {},
        )

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "The game is over.", 0.0, False, True, {}
        self.left -= 1
        text, won = self.answer(action.strip().lower())
        if won is not None:
            self.left = 0
            return text, float(won), True, False, {}
        return f"{text} Turns left: {self.left}.", 0.0, False, self.left == 0, {}

    def answer(self, action: str) -> tuple[str, bool | None]:
        tool, stage = read_call(action)
        if tool not in ("measure", "replace") or not 1 <= stage <= self.stages:
            return f"Call measure or replace with a stage from 1 to {self.stages}.", None
        if tool == "measure":
            clean = not self.broken or stage < self.broken[0]
            return f"Behind stage {stage} the signal is {'clean' if clean else 'distorted'}.", None
        if stage not in self.broken:
            return f"Stage {stage} was sound. You lose.", False
        self.broken.remove(stage)
        return f"Stage {stage} was broken and is replaced.", None if self.broken else True

    def solution(self) -> list[str]:
        actions, first = [], 1
        for broken in self.broken:
            low, high = first, self.stages
            while low < high:
                middle = (low + high) // 2
                actions.append(("measure", middle))
                low, high = (low, middle) if middle >= broken else (middle + 1, high)
            actions.append(("replace", broken))
            first = broken + 1
        calls = [{"name": tool, "arguments": {"stage": stage}} for tool, stage in actions]
        return [json.dumps(call, sort_keys=True) for call in calls]

    def hint(self) -> str:
        return (
            "Only the first broken stage can be located: measure in the middle of what may hold it. When it "
            "is mended, the next shows itself behind it."
        )


def read_call(action: str) -> tuple[str, int]:
    """The tool and its stage; ("", 0) for anything else."""
    try:
        call = json.loads(action)
        tool, stage = call["name"], call["arguments"]["stage"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", 0
    return (tool, stage) if isinstance(tool, str) and type(stage) is int else ("", 0)
