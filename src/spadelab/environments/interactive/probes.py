"""Who plays a draft at the gates: its own solution, players that know nothing, players that know other
instances, random players, odd but legal actions, and guesses, which are many: each plays one instance, and
the others when that was won or told the answer.

A policy is named "group:detail". Groups: "solution", "junk" (the same action for ever, whatever the
environment), "borrowed" (what solves other seeds), "own" (one action of the solution for ever), "sweep"
(enumerations), "copy" (parts of the opening), "text" (words of the module, and what a solver might say of any
environment), "sink" (actions that hold several answers), "random" (on further seeds), "odd".
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from spadelab.environments.interactive.contract import Manifest
from spadelab.environments.interactive.places import have_place
from spadelab.environments.interactive.plays import Play, write_call

PROBED = 3
"""Gate seeds that are played by others than the solution."""
LONGEST = 32
"""Turns that a player gets who need not run out of them."""
_JUNK = ("", "zzzz", "0", "1", "yes")
_QUICK_JUNK = ("done", "A", "no")
_BORROWED = 6
_AT_ONCE = 8
"""Texts in one episode: some do no harm to each other, many would be a search."""
# What stands between several answers; "[]" is a list of them.
_JOINTS = (" ", ",", "\n", ";", " or ", "|", "[]")
# fmt: off
# What a solver might say who has no idea.
REPLIES = (
    "I do not know.", "What?", "ok", "help", "42", "YES", "Let me think about it step by step.", "No!",
    "The answer is 5.", "x" * 60, "x" * 400, "hello", "I think it is five", "please", "pass", "-7", "0.5",
    "007", "[1]", "win", "look", "a b c d e f g h", "north", "abcdefgh", "1000", "é", "ABC", "x = 1",
    ".*", "1-9999", "0..9999", "<99999", ">-1", "not 3", "HELP ME NOW", "any", "all",
)
_ODD = (
    "", "-1", "1.5", "99999999999999999999999999", "nan", "inf", "²", "1e999", "½", "٣", "a\nb\n\nc", "None",
    "1_0", "0x1F", "NUL \x00 here", "tab\there", "第一步：向左走", "true", "É", "HELP ME", "{}", "[]",
    "[[1]]", '{"a":', '{"name": null}', "\u202e\ufeff\U0001f600", "null", "1,2,3", "(1, 2)", "+", "1 2 3",
    "-", "{0} {x} %s %d $y", ",", "x" * 4000, ":", "'\"`\\", "= =", "\\boxed{}", "</think>", "7" * 4000,
    "- " * 1000, "[" * 1000,
)
# fmt: on
# Of each group of plays one in so many is repeated: strides that come to every seed that it plays.
_REPEATED = {"borrowed": 10, "junk": 10, "random": 7, "odd": 25, "solution": 3, "text": 20}
_WORD = re.compile(r"[^\W_]+|-?\d+")


@dataclass(frozen=True, slots=True)
class Instance:
    """What an environment says of one seed: legal actions that are said to win, and the hint."""

    seed: int
    opening: str
    solution: tuple[str, ...]
    hint: str = ""


def plan_first(manifest: Manifest) -> list[str]:
    """What is played, without sense, before anything else."""
    return [_shape(manifest, text) for text in ("1", "zzzz", "A")][: manifest.max_turns]


def plan_probes(manifest: Manifest, instances: Sequence[Instance]) -> list[Play]:
    """The episodes that are played one by one, those that are likeliest to be worth a look first."""
    plays = [_make(manifest, i, "solution", i.solution, after=_after(i)) for i in instances]
    probed = instances[:PROBED]
    for text in _JUNK:
        plays += [_repeat(manifest, i, f"junk:{text}", text, manifest.max_turns + 1) for i in probed]
    for text in _QUICK_JUNK:
        plays += [_repeat(manifest, i, f"junk:{text}", text, LONGEST) for i in probed]
    if manifest.action_format != "tool_call":
        plays += [_make(manifest, i, "junk:echo", (None,), LONGEST) for i in probed]
    for number, instance in enumerate(probed):
        others = [*instances[number + 1 :], *instances[:number]]
        plays += _plan_informed(manifest, instance, others)
    return plays


def plan_guesses(manifest: Manifest, instances: Sequence[Instance]) -> dict[str, list[Play]]:
    """What copies from the opening, any text, and several answers at once: the plays of each policy."""
    plays: dict[str, list[Play]] = defaultdict(list)
    planned = [play for one in instances[:PROBED] for play in _plan_texts(manifest, one)]
    planned += [play for one in instances for play in _plan_sinks(manifest, one, instances)]
    for play in planned:
        plays[play.policy].append(play)
    return plays


def tells(play: Play, solution: Sequence[str]) -> bool:
    """Whether a play won, or saw the only action of the solution on its way."""
    seen = [step.observation for step in play.session.steps] if len(solution) == 1 else []
    return play.won or any(have_place([(text, solution[0])]) for text in seen)


def choose_again(plays: Sequence[Play]) -> list[Play]:
    """The plays that are repeated by the calls of real play, beginning with one that solves another seed.

    Solutions, and of each other kind some, on all seeds.
    """
    groups: dict[str, list[Play]] = defaultdict(list)
    for play in plays:
        groups[play.policy.partition(":")[0]].append(play)
    return [play for group, every in _REPEATED.items() for play in groups[group][::-every]]


def plan_odd(manifest: Manifest, instances: Sequence[Instance]) -> list[Play]:
    """Odd actions in pairs, at the start of each instance and in the middle of its solution.

    Every action comes at the start of every instance, and is the first of a pair on some of them; it comes
    in the middle of one instance.
    """
    plays = []
    for number, instance in enumerate(instances[:PROBED]):
        odd = _list_odd(manifest, instance)
        half = instance.solution[: len(instance.solution) // 2]
        middle = odd[number::PROBED] if half else []
        turned = odd[number % 2 :] + odd[: number % 2]
        plays += [_make(manifest, instance, "odd", pair) for pair in _pair(turned)]
        plays += [_make(manifest, instance, "odd:middle", (*half, *pair)) for pair in _pair(middle)]
    return plays


def _pair(actions: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(actions[i : i + 2]) for i in range(0, len(actions), 2)]


def plan_random(
    manifest: Manifest, instances: Sequence[Instance], seeds: Sequence[int], count: int
) -> list[Play]:
    """Random draws from what wins other seeds, and from that and all words of their openings, in turn.

    `count`: episodes on each seed.
    """
    stream = random.Random(instances[0].seed)  # the gate seeds come from the source: the same each time
    actions = sorted({action for instance in instances for action in instance.solution})
    pools = {"random:actions": actions}
    if manifest.action_format != "tool_call":
        words = {word for instance in instances for word in _WORD.findall(instance.opening)}
        pools["random:words"] = sorted({*actions, *words})
    turns = min(LONGEST, manifest.max_turns)
    players = list(itertools.islice(itertools.cycle(pools.items()), count))
    return [
        Play(policy, seed, manifest.max_turns, tuple(stream.choices(pool, k=turns)), turns)
        for policy, pool in players
        for seed in seeds
    ]


def _plan_informed(manifest: Manifest, instance: Instance, others: Sequence[Instance]) -> list[Play]:
    """Players that know how other seeds are won, and enumerations."""
    plays = [
        _make(manifest, instance, f"borrowed:whole {i}", other.solution, LONGEST)
        for i, other in enumerate(others[:2])
    ]
    for action in list(dict.fromkeys(a for other in others for a in other.solution))[:_BORROWED]:
        plays.append(_make(manifest, instance, f"borrowed:{action}", (action,), manifest.max_turns))
    for action in dict.fromkeys((instance.solution[0], instance.solution[-1])):
        plays.append(_make(manifest, instance, "own", (action,), manifest.max_turns))
    if manifest.action_format != "tool_call":
        words = list(dict.fromkeys(_WORD.findall(instance.opening)))[:LONGEST]
        numbers = [str(number) for number in range(max(LONGEST, manifest.max_turns) + 1)]
        plays.append(_make(manifest, instance, "sweep:words", words or ("",)))
        plays.append(
            _make(manifest, instance, "sweep:numbers", numbers[1:] if manifest.max_turns < 9 else numbers)
        )
    return plays


def _plan_texts(manifest: Manifest, instance: Instance) -> list[Play]:
    """Players that copy from the opening, read the module or say anything, some texts an episode."""
    words = _WORD.findall(instance.opening)
    lines = [line.strip() for line in instance.opening.splitlines() if line.strip()]
    numbers = [word for word in words if word.lstrip("-").isdecimal()]
    size = min(_AT_ONCE, manifest.max_turns)
    copies = {f"words {i}": words[i : i + size] for i in range(0, min(len(words), LONGEST), size)}
    ends = {"last words": words, "last numbers": numbers, "last lines": lines}
    copies |= {name: row[::-1][:size] for name, row in ends.items()}
    copies |= {"numbers": numbers[:size], "lines": lines[:size]}
    texts = list(dict.fromkeys((*manifest.words, *REPLIES)))
    count = -(-len(texts) // size)  # neighbours in the module (options, directions) come to different rows
    rows = {f"copy:{name}": row for name, row in copies.items() if row}
    rows |= {f"text:{i}": texts[i::count] for i in range(count)}
    if manifest.action_format == "tool_call":
        last = instance.solution[-1]
        calls = {
            f"text:tools {i}": [write_call(text, {}) or "" for text in texts[i::count]] for i in range(count)
        }
        rows = {name: [_put(last, text) for text in row] for name, row in rows.items()} | calls
    plays = [_make(manifest, instance, name, row) for name, row in rows.items()]
    if manifest.action_format != "tool_call" and len(instance.solution) > 1:  # what helps at every step
        turns = min(len(instance.solution) + 1, LONGEST, manifest.max_turns)
        plays += [_repeat(manifest, instance, f"text:{text}", text, turns) for text in manifest.words]
    return plays


def _put(action: str, text: str) -> str:
    """A tool call with the text, or the number that it is, as the value of each argument."""
    call = json.loads(action)
    value = int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else text
    return write_call(call["name"], dict.fromkeys(call["arguments"], value)) or ""


def _plan_sinks(manifest: Manifest, instance: Instance, instances: Sequence[Instance]) -> list[Play]:
    """The solution with each action between two of other instances, as if all answers were right at once."""
    others = [a for one in instances if one.seed != instance.seed for a in one.solution]
    mix = _mix_calls if manifest.action_format == "tool_call" else _mix
    plays = []
    for sign in _JOINTS:
        mixed = [mix(action, others, sign) for action in instance.solution]
        if mixed[-1] != instance.solution[-1]:
            plays.append(_make(manifest, instance, f"sink:{sign}", mixed))
    return plays


def _mix(text: str, others: Sequence[str], sign: str) -> str:
    """The text between two others, or alone when there are not two."""
    different = [other for other in dict.fromkeys(others) if other != text]
    if len(different) < 2:
        return text
    row = (different[0], text, different[1])
    return f"[{', '.join(row)}]" if sign == "[]" else sign.join(row)


def _mix_calls(action: str, others: Sequence[str], sign: str) -> str:
    """The call with each of its arguments between those of two other calls of the tool."""
    call = json.loads(action)
    name, given = call["name"], call["arguments"]
    same = [call["arguments"] for call in map(json.loads, others) if call["name"] == name]
    for key, value in given.items():
        text = _mix(str(value), [str(one[key]) for one in same if key in one], sign)
        if type(value) in (str, int) and text != str(value):
            given[key] = text
    return write_call(name, given) or action


def _make(
    manifest: Manifest,
    instance: Instance,
    policy: str,
    actions: Sequence[str | None],
    turns: int = 0,
    after: tuple[str, ...] = (),
) -> Play:
    """An episode of these actions, or of `turns` turns, the last action going on."""
    most = turns if turns > manifest.max_turns else min(turns or len(actions), manifest.max_turns)
    return Play(policy, instance.seed, manifest.max_turns, tuple(actions), most, after)


def _repeat(manifest: Manifest, instance: Instance, policy: str, text: str, turns: int) -> Play:
    longest = turns if turns == manifest.max_turns + 1 else min(turns, manifest.max_turns)
    return _make(manifest, instance, policy, (_shape(manifest, text),), longest)


def _shape(manifest: Manifest, text: str) -> str:
    """The text as an action that the format allows."""
    if manifest.action_format == "tool_call":
        return write_call(text, {}) or ""
    return text.strip()


def _after(instance: Instance) -> tuple[str, ...]:
    return (instance.solution[-1], instance.solution[0], "zzzz")


def _list_odd(manifest: Manifest, instance: Instance) -> list[str]:
    texts = list(_ODD)
    if manifest.action_format != "tool_call":
        middle = instance.solution[len(instance.solution) // 2]
        return [
            *texts,
            middle.upper(),
            middle.swapcase(),
            middle[::-1],
            f"{middle} {middle}",
            f"-{middle}",
            middle[:1],
        ]
    odd = [_shape(manifest, text) for text in texts]
    for action in dict.fromkeys(instance.solution):
        call = json.loads(action)
        names = list(call["arguments"])
        values: list[object] = [None, "", -1, 10**20, 1.5, [], [[]], {}, {"x": None}, True, "x" * 3000, "第"]
        odd += [write_call(call["name"], dict.fromkeys(names, value)) or "" for value in values]
        odd += [
            write_call(call["name"], {}) or "",
            write_call(call["name"], {**call["arguments"], "unknown": 1}) or "",
            write_call(call["name"], {name: str(value) for name, value in call["arguments"].items()}) or "",
        ]
        if len(odd) > 3 * len(texts):
            break
    return odd
