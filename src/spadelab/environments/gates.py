"""Gates for program tasks: what a draft must survive to become an environment, cheapest first.

extract, size, syntax, static, arguments and stored cost microseconds; then every distinct program
runs in fresh jailed processes, all drafts in one batch. Only what came out of that execution is
stored: no output is ever taken from a model (AZR §3.3.3, where j = 2 runs are two processes here).
"""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from spadelab.environments.candidates import Candidate, list_importable
from spadelab.environments.extraction import PROGRAM_LABELS, find_blocks, has_markup, strip_thoughts
from spadelab.environments.syntax import (
    ProgramError,
    find_entry,
    find_forbidden,
    parse_program,
    reads_input,
    task_key,
)
from spadelab.environments.tasks import KINDS, make_environment
from spadelab.environments.trials import (
    Rejected,
    Trials,
    check_determinism,
    check_execution,
    collect_trials,
    plan_trials,
)
from spadelab.records import Admission, Draft
from spadelab.sandbox import Job, Limits, Sandbox
from spadelab.sandbox.literals import LiteralError, parse_arguments, render
from spadelab.sandbox.tracer import MAX_ENTRIES

RANDOM_WORDS = ("random", "numpy", "sympy")  # what a program with randomness in it has to mention


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Bounds on drafts. An input obeys `max_output_chars` too: in abduction it is what is answered.

    Induction keeps the first `induction_pairs` distinct inputs; the first half (N // 2) is shown, the
    rest hidden.
    """

    max_output_chars: int = 400
    max_source_chars: int = 4000
    max_difficulty: int = 200
    induction_pairs: int = 10
    min_induction_pairs: int = 2
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True)
class _Candidate(Candidate):
    """The fields fill up from top to bottom."""

    source: str = ""
    blocks: list[str] = field(default_factory=list)
    message: str = ""
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    function: str = ""
    inputs: tuple[str, ...] = ()
    key: str = ""


def admit(
    drafts: Sequence[Draft], sandbox: Sandbox, settings: GateSettings, known: Container[str], cycle: int = 0
) -> list[Admission]:
    """Judge drafts; one admission each, in order, with an environment where every gate passed.

    `known` holds the keys of stored environments; the second of two copies in the batch is rejected
    as well. Codes "jail_died" and "unavailable" are failures of the machinery, not of the draft.
    Raises ValueError for a kind that is not in KINDS.
    """
    importable = list_importable(sandbox)
    candidates = [_Candidate(draft) for draft in drafts]
    for candidate in candidates:
        if candidate.draft.kind not in KINDS:
            raise ValueError(f"unknown kind {candidate.draft.kind!r}; known: {', '.join(KINDS)}")
        _pass_static(candidate, importable, settings, known)
    taken: set[str] = set()
    for candidate, trials in _run_trials([c for c in candidates if c.alive], sandbox, settings.limits):
        _pass_executed(candidate, trials, settings, taken, cycle)
    return [candidate.admission() for candidate in candidates]


def _pass_static(
    candidate: _Candidate, importable: Container[str], settings: GateSettings, known: Container[str]
) -> None:
    candidate.pass_gate("extract", lambda: _extract(candidate))
    candidate.pass_gate("size", lambda: _check_size(candidate, settings))
    candidate.pass_gate("syntax", lambda: _parse(candidate))
    candidate.pass_gate("static", lambda: _check_static(candidate, importable))
    candidate.pass_gate("arguments", lambda: _read_inputs(candidate, settings))
    candidate.pass_gate("stored", lambda: _check_stored(candidate, known))


def _run_trials(
    candidates: Sequence[_Candidate], sandbox: Sandbox, limits: Limits
) -> list[tuple[_Candidate, Trials]]:
    """Run every distinct (program, inputs) once, all in one batch."""
    plans: dict[tuple[str, tuple[str, ...]], tuple[Job, ...]] = {}
    for c in candidates:
        random = any(word in c.source for word in RANDOM_WORDS)
        plans[c.source, c.inputs] = plan_trials(c.source, c.function, c.inputs, limits, random)
    results = iter(sandbox.map([job for jobs in plans.values() for job in jobs]))
    trials = {key: collect_trials([next(results) for _ in jobs]) for key, jobs in plans.items()}
    return [(c, trials[c.source, c.inputs]) for c in candidates]


def _pass_executed(
    candidate: _Candidate, trials: Trials, settings: GateSettings, taken: set[str], cycle: int
) -> None:
    candidate.pass_gate("executes", lambda: check_execution(trials), trials.seconds)
    candidate.pass_gate("deterministic", lambda: check_determinism(trials))
    candidate.pass_gate("output", lambda: _check_outputs(candidate, trials, settings))
    candidate.pass_gate("difficulty", lambda: _check_difficulty(trials, settings))
    candidate.pass_gate("novel", lambda: _check_novel(candidate, taken))
    if candidate.alive:
        c = candidate
        c.environment = make_environment(
            c.draft.kind, c.source, c.inputs, trials.outputs, trials.trace, c.message, c.key, cycle
        )


def _extract(candidate: _Candidate) -> None:
    text = strip_thoughts(candidate.draft.text)
    if text is None:
        raise Rejected("no_program", "a thought is never closed, so nothing outside it was written")
    blocks = find_blocks(text)
    programs = [content for label, content in blocks if label in PROGRAM_LABELS]
    candidate.blocks = [content for label, content in blocks if label == "input" and content.strip()]
    candidate.message = next((content.strip() for label, content in blocks if label == "message"), "")
    candidate.source = programs[0].strip("\n").rstrip() if programs else ""
    if not candidate.source:
        raise Rejected("no_program", "there is no ```python block with a program")
    if not candidate.blocks:
        raise Rejected("no_input", "there is no ```input block with an argument list")
    if len(candidate.blocks) > 1 and candidate.draft.kind != "induction":
        raise Rejected(
            "several_inputs", f"one ```input block is wanted, {len(candidate.blocks)} were written"
        )


def _check_size(candidate: _Candidate, settings: GateSettings) -> None:
    for name, text in (("program", candidate.source), ("message", candidate.message)):
        if len(text) > settings.max_source_chars:
            raise Rejected("too_long", f"the {name} has more than {settings.max_source_chars} characters")
    room = settings.max_output_chars * settings.induction_pairs
    if sum(map(len, candidate.blocks)) > 2 * room:
        raise Rejected("too_long", f"the inputs have more than {2 * room} characters")


def _parse(candidate: _Candidate) -> None:
    if len(candidate.source.splitlines()) != candidate.source.count("\n") + 1:
        # Such characters would make the lines of the trace ambiguous.
        raise Rejected("syntax", "the program contains a line separator that is not a newline")
    try:
        candidate.tree = parse_program(candidate.source)
    except ProgramError as error:
        raise Rejected("syntax", f"the program is not valid Python: {error}") from None
    entry = find_entry(candidate.tree)
    if entry is None:
        raise Rejected("no_function", "the program defines no function at the top level")
    candidate.function = entry.name


def _check_static(candidate: _Candidate, importable: Container[str]) -> None:
    reason = find_forbidden(candidate.tree, importable)
    if not reason and has_markup(candidate.source + candidate.message + "".join(candidate.blocks)):
        reason = "tags of the answer format are not allowed in a task"
    if reason:
        raise Rejected("forbidden", reason)


def _read_inputs(candidate: _Candidate, settings: GateSettings) -> None:
    if candidate.draft.kind == "induction":
        written = [text for block in candidate.blocks for text in _read_lists(block)]
        candidate.inputs = _drop_equal(written, settings.induction_pairs)
        fewest = settings.min_induction_pairs
        if len(candidate.inputs) < fewest:
            raise Rejected("too_few_inputs", f"at least {fewest} different inputs are wanted")
    else:
        candidate.inputs = (_read_only_list(candidate.blocks[0]),)
    if max(map(len, candidate.inputs)) > settings.max_output_chars:
        raise Rejected("too_long", f"an input has more than {settings.max_output_chars} characters")


def _drop_equal(written: Sequence[str], most: int) -> tuple[str, ...]:
    """The first `most`, without what equals an earlier one: a table of f(1) knows f(True) and f(1.0)."""
    kept: dict[str, tuple[object, ...]] = {}
    for text in dict.fromkeys(written):
        arguments = parse_arguments(text)
        if len(kept) < most and arguments not in kept.values():
            kept[text] = arguments
    return tuple(kept)


def _read_only_list(block: str) -> str:
    try:
        return _canonical(block)
    except LiteralError as error:
        lines = [line for line in block.split("\n") if line.strip()]
        if len(lines) > 1 and all(map(_is_list, lines)):
            raise Rejected("several_inputs", f"one input is wanted, {len(lines)} were written") from None
        raise Rejected("bad_arguments", f"the input is not an argument list: {error}") from None


def _read_lists(block: str) -> list[str]:
    """One list a line; a block that cannot be read so is one list over several lines."""
    lines = [line for line in block.split("\n") if line.strip()]
    try:
        return list(map(_canonical, lines if all(map(_is_list, lines)) else [block]))
    except LiteralError as error:
        raise Rejected("bad_arguments", f"an input is not an argument list: {error}") from None


def _is_list(text: str) -> bool:
    try:
        return bool(_canonical(text))
    except LiteralError:
        return False


def _canonical(text: str) -> str:
    arguments = parse_arguments(text)
    if not arguments:
        raise LiteralError("it is empty")
    return ", ".join(map(render, arguments))


def _check_stored(candidate: _Candidate, known: Container[str]) -> None:
    candidate.key = task_key(candidate.draft.kind, candidate.source, candidate.inputs)
    if candidate.key in known:
        raise Rejected("duplicate", "the same task is stored already")


def _check_outputs(candidate: _Candidate, trials: Trials, settings: GateSettings) -> None:
    outputs = trials.outputs
    if "None" in outputs:
        raise Rejected("none", "the program returns None: it must return something")
    longest = max(map(len, outputs))
    if longest > settings.max_output_chars:
        raise Rejected(
            "output_too_long", f"an output has {longest} characters, at most {settings.max_output_chars}"
        )
    if candidate.draft.kind == "induction":
        visible, hidden = outputs[: len(outputs) // 2], outputs[len(outputs) // 2 :]
        if len(set(hidden)) == 1 and (len(hidden) > 1 or hidden[0] in visible):
            raise Rejected(
                "constant_induction", "all hidden inputs give the same output: a constant would win"
            )
    entry = find_entry(candidate.tree)
    if candidate.draft.kind == "abduction" and entry and not reads_input(entry):
        raise Rejected("constant_abduction", "the program does not look at its input: any input would win")
    shown = [*outputs, *(part for pair in trials.trace for part in pair)]
    if any(map(has_markup, shown)):
        raise Rejected("forbidden", "tags of the answer format appear among the values")


def _check_difficulty(trials: Trials, settings: GateSettings) -> None:
    most = min(settings.max_difficulty, MAX_ENTRIES - 1)  # a longer trace would be cut, and its length wrong
    if len(trials.trace) > most:
        raise Rejected(
            "too_difficult", f"the program executes {len(trials.trace)} statements, at most {most}"
        )


def _check_novel(candidate: _Candidate, taken: set[str]) -> None:
    if candidate.key in taken:
        raise Rejected("duplicate", "the same task was written before in this batch")
    taken.add(candidate.key)
