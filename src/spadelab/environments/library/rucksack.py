"""A rucksack to be packed as well as can be."""

import itertools
import json
import random

NAME = "Rucksack"
SUMMARY = "Pack a rucksack so that the things in it are worth as much as the limit of weight allows."
SKILL = "Optimization"
MAX_TURNS = 22
ACTION_FORMAT = "tool_call"
LEVEL = 3
THINGS = ("axe", "tent", "rope", "lamp", "stove", "radio", "map", "water", "bread", "blanket", "spade")


class RucksackEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.things = {name: (rng.randint(3, 19), rng.randint(10, 60)) for name in THINGS[: LEVEL + 6]}
        self.limit = sum(weight for weight, _ in self.things.values()) * 3 // 5
        self.packed: list[str] = []
        choices = [
            names for size in range(len(self.things)) for names in itertools.combinations(self.things, size)
        ]
        bearable = [names for names in choices if self.total(names, 0) <= self.limit]
        self.best = max(bearable, key=lambda names: self.total(names, 1))
        self.left = 2 * len(self.things)
        listing = "\n".join(
            f"{name}: {weight} kg, worth {worth}" for name, (weight, worth) in self.things.items()
        )
        return (
            f"Pack a rucksack that bears {self.limit} kg with things that are worth as much as possible:\n"
            f"{listing}\n"
            'Tools: {"name": "pack", "arguments": {"thing": "axe"}} puts a thing in; "unpack", with the same '
            'argument, takes it out; {"name": "leave", "arguments": {}} ends the packing. You win if no '
            f"other choice is worth more. You have {self.left} calls, the last one included.",
            {},
        )

    def total(self, names: tuple[str, ...] | list[str], column: int) -> int:
        return sum(self.things[name][column] for name in names)

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
        tool, thing = read_call(action)
        if tool == "leave":
            worth, best = self.total(self.packed, 1), self.total(self.best, 1)
            return f"You leave with {worth}; the best is {best}.", worth == best
        if tool not in ("pack", "unpack") or thing not in self.things:
            return "Call pack or unpack with one of the things, or leave.", None
        if (thing in self.packed) == (tool == "pack"):
            return f"The {thing} is {'already' if tool == 'pack' else 'not'} in the rucksack.", None
        packed = [*self.packed, thing] if tool == "pack" else [name for name in self.packed if name != thing]
        if self.total(packed, 0) > self.limit:
            return f"The {thing} would make it heavier than {self.limit} kg.", None
        self.packed = packed
        return f"In it are {self.total(packed, 0)} kg, worth {self.total(packed, 1)}.", None

    def solution(self) -> list[str]:
        calls = [{"name": "pack", "arguments": {"thing": name}} for name in self.best]
        return [json.dumps(call, sort_keys=True) for call in [*calls, {"name": "leave", "arguments": {}}]]

    def hint(self) -> str:
        spare = self.limit - self.total(self.best, 0)
        return (
            f"The best choice leaves {'no' if spare == 0 else 'some'} weight unused. Start from the worth of "
            "each kilogram, then try exchanges."
        )


def read_call(action: str) -> tuple[str, str]:
    """The tool and its thing, "" for what is not there."""
    try:
        call = json.loads(action)
        return str(call["name"]), str(call["arguments"].get("thing", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "", ""
