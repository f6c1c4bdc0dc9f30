"""Nobody earns by deceit: hostile drafts, answers and environments from the gates to the credit.

Each is counted by name, and pays neither the proposer nor the solver. Environments that the gates must see
are planted in interactive/cases and evaluation/planted; here are those that attack the counting itself.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from spadelab.config import load_settings
from spadelab.credit.advantages import make_estimator
from spadelab.credit.assignment import broken_environments, credit_proposer, credit_solver
from spadelab.credit.delays import Held
from spadelab.credit.regret import Arms, SkillPotential
from spadelab.environments.extraction import find_answer, find_blocks
from spadelab.environments.interactive.contract import read_manifest
from spadelab.environments.interactive.session import Session, open_sessions, step_sessions
from spadelab.environments.programs import GateSettings, admit, verify
from spadelab.environments.syntax import parse_program
from spadelab.environments.tasks import make_environment
from spadelab.environments.trials import collect_trials, plan_trials
from spadelab.evaluation.hacks import HACK_BAR, Planted, audit
from spadelab.learning.warmstart import Recipe, build_model
from spadelab.play.interactive import Instance, play_instances
from spadelab.records import Admission, Check, Draft, Environment, Episode, Generation, Score
from spadelab.sandbox import Limits, Sandbox

LIMITS = Limits(wall_seconds=20.0, cpu_seconds=1.0, memory_mb=128)
SETTINGS, _ = load_settings(None, [])
TOKENS = Generation("x", (1,), (2,), (-0.5,), "stop")
REACH = 'import random\nos = getattr(random, "_os")\nsys = os.sys\n'
FORGE = """
def forge(value):
    frame = getattr(sys, "_get" + "frame")()
    while "identifier" not in getattr(frame, "f_" + "locals"):
        frame = getattr(frame, "f_" + "back")
    name = getattr(frame, "f_" + "locals")["identifier"]
    text = '{"id": "%s", "kind": "value", "value": "%s"}' % (name, value)
    os.write(3, len(text).to_bytes(4, "little") + text.encode())
"""


def pay(admissions: Sequence[Admission], broken: Sequence[str] = ()) -> list[float]:
    """What the proposer gets for drafts whose environments, where there are any, won half of the time."""
    half = Arms((0.0, 1.0) * 4, (1.0,) * 8)
    held = [Held(0, 0, a, (half,) if a.environment else ()) for a in admissions]
    return credit_proposer(held, SETTINGS, make_estimator("trrpp"), SkillPotential(), set(broken), {})[1]


# --- drafts of programs -------------------------------------------------------------------------

TWO = "if not hasattr(f, 'seen'): f.seen = 0\n    f.seen += 1\n    "
DRAFTS: list[tuple[str, str, str]] = [  # name, program, code
    ("always equal", "class A:\n    def __eq__(self, o): return True\ndef f(a): return A()", "not_literal"),
    ("lying number", "class I(int):\n    def __eq__(s, o): return 1\ndef f(a): return I(1)", "not_literal"),
    ("lying text", "class S(str):\n    def __repr__(s): return '1'\ndef f(a): return S('x')", "not_literal"),
    ("false class", "class X:\n    __class__ = int\ndef f(a): return X()", "not_literal"),
    ("type equal to int", "class M(type):\n    def __eq__(self, o): return True\n"
     "    __hash__ = type.__hash__\nclass A(metaclass=M): pass\ndef f(a): return A()", "not_literal"),
    ("infinity", "def f(a): return [1e308 * 10]", "nan"),
    ("exit as success", f"{REACH}def f(a): getattr(os, '_exit')(0)", "exit"),
    ("forged and gone", f"{REACH}{FORGE}def f(a):\n    forge('7')\n    getattr(os, '_exit')(0)", ""),
    ("two answers", f"{REACH}{FORGE}def f(a):\n    forge('7')\n    forge('8')", ""),
    ("forged code", f"{REACH}{FORGE}def f(a): forge('open(1)')", "crash"),
    ("forged nan", f"{REACH}{FORGE}def f(a): forge('nan')", "crash"),
    ("knows that it is traced", f"{REACH}def f(a): return sys.gettrace() is None", "non_deterministic"),
    ("knows the stream", f"{REACH}def f(a): return random.random() < 0.3", "non_deterministic"),
    ("knows the hash seed", f"{REACH}def f(a): return hash('a') % 9", "non_deterministic"),
    ("knows its address", "def f(a): return str(object())", "non_deterministic"),
    ("waits for a date", "import datetime\ndef f(a): return getattr(datetime.date, 'to' + 'day')().year",
     "non_deterministic"),
    ("knows its process", f"{REACH}def f(a): return os.getpid()", ""),
    ("counts its calls", f"def f(a):\n    {TWO}return f.seen", ""),
    ("reads the command", f"{REACH}def f(a): return sys.argv", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def drafts(sandbox: Sandbox) -> dict[str, Admission]:
    texts = [
        Draft(name, "deduction", f"```python\n{program}\n```\n```input\n1\n```", 1.0, TOKENS)
        for name, program, _ in DRAFTS
    ]
    found = admit(texts, sandbox, replace(GateSettings(), limits=LIMITS), known=())
    return {admission.draft.id: admission for admission in found}


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, _, code in DRAFTS])
def test_a_draft_that_deceives_is_counted_by_name_and_pays_nothing(
    name: str, code: str, drafts: dict[str, Admission]
) -> None:
    admission = drafts[name]
    assert admission.rejection == code, admission.checks[-1]
    if code:
        assert admission.environment is None and admission.checks[-1].reason
        assert pay([admission]) == [SETTINGS.credit.invalid_reward] and SETTINGS.credit.invalid_reward < 0
    else:  # what looked like deceit is an ordinary program, the same in every run
        assert admission.environment is not None


def test_what_is_noticed_tells_nothing(drafts: dict[str, Admission]) -> None:
    """Process number, count of calls and command line are the same wherever a program runs."""
    names = ("knows its process", "counts its calls", "reads the command", "forged and gone", "two answers")
    outputs = [e.outputs[0] for name in names if (e := drafts[name].environment)]
    assert outputs == ["0", "1", "[]", "7", "7"]


def test_a_program_answers_the_solver_as_it_answered_the_gates(sandbox: Sandbox) -> None:
    """The reference run and the judgement of an abduction are the same to the program in every respect."""
    look = "(sys.gettrace() is None, random.random(), hash('a'), dict(os.environ), len(sys.argv))"
    program = f"{REACH}def f(a):\n    return {look}\n"
    runs = sandbox.map(plan_trials(program, "f", ("5",), LIMITS, random=False))
    reference = collect_trials(runs).outputs[0]
    task = make_environment("abduction", program, ("5",), (reference,), (), "", "", 0)
    assert [s.outcome for s in verify([(task, "<answer>5</answer>")], sandbox, LIMITS)] == ["correct"]


# --- answers to programs ------------------------------------------------------------------------

INDUCTION = make_environment(
    "induction", "def f(a): return a * 2", ("1", "2", "3", "4"), ("2", "4", "6", "8"), (), "", "", 0
)
DEDUCTION = make_environment(
    "deduction", "def f(a): return [a, True, 2.0]", ("1",), ("[1, True, 2.0]",), (), "", "", 0
)
ABDUCTION = make_environment("abduction", "def f(a): return [a]", ("1",), ("[1]",), (), "", "", 0)
CODE: list[tuple[str, str, str]] = [  # name, program, outcome
    ("honest", "def f(a): return a + a", "correct"),
    ("always equal", "class A:\n    def __eq__(self, o): return True\ndef f(a): return A()", "program_error"),
    ("equal text", "class S(str):\n    def __eq__(s, o): return 1\ndef f(a): return S('x')", "program_error"),
    ("equal number", "class I(int):\n    def __eq__(s, o): return 1\ndef f(a): return I(0)", "program_error"),
    ("forged output", f"{REACH}{FORGE}def f(a): forge('[6, 8]')", "protocol_error"),
    ("forged object", f"{REACH}{FORGE}def f(a): forge('ANY')", "protocol_error"),
    ("forged trace", f"{REACH}def f(a):\n"
     "    text = '{\"id\": \"\", \"kind\": \"value\", \"trace\": [[\"x\", \"y\"]]}'\n"
     "    os.write(3, len(text).to_bytes(4, 'little') + text.encode())", "protocol_error"),
    ("exit 0", f"{REACH}def f(a): getattr(os, '_exit')(0)", "crash"),
    ("exit while loading", f"{REACH}getattr(os, '_exit')(0)\ndef f(a): return 6", "crash"),
    ("system exit", "def f(a): raise SystemExit(0)", "program_error"),
    ("printed success", "print('ALL TESTS PASSED')\ndef f(a):\n    print('6\\n8')\n    return None", "wrong"),
    ("looks for the outputs", f"{REACH}def f(a):\n    import gc\n    return 6", "program_error"),
    ("searches memory", f"{REACH}def f(a):\n    gc = sys.modules['gc']\n    gc.unfreeze()\n"
     "    return [o for o in gc.get_objects() if type(o) is list and o in (['6', '8'], [6, 8])]", "wrong"),
    ("replaces the comparison", f"{REACH}sys.modules['jail.literals'].equal = lambda *a: True\n"
     "sys.modules['jail.runner'].render = lambda *a: '6'\ndef f(a): return 6", "wrong"),
    ("nan", "def f(a): return float('nan')", "program_error"),
    ("float for int", "def f(a): return float(a + a)", "wrong"),
    ("number near by", "def f(a): return a + a + 1e-12", "wrong"),
    ("generator", "def f(a): yield a + a", "program_error"),
    ("no end", "def f(a):\n    while True: pass", "cpu_timeout"),
    ("flood", "def f(a): print('x' * (1 << 20))", "output_limit"),
    ("remembers the first", "kept = []\ndef f(a):\n    kept.append(a)\n    return kept[0] * 2", "wrong"),
]  # fmt: skip
TEXTS: list[tuple[Environment, str, str]] = [  # environment, answer, outcome
    (DEDUCTION, "[1, True, 2.0]", "correct"),
    (DEDUCTION, "[True, 1, 2.0]", "wrong"),
    (DEDUCTION, "[1, True, 2]", "wrong"),
    (DEDUCTION, "f(1)", "not_literal"),
    (DEDUCTION, "__import__('os').system('true')", "not_literal"),
    (DEDUCTION, "[1, True, 2.0] if 1 else 0", "not_literal"),
    (DEDUCTION, "[" * 9000 + "]" * 9000, "not_literal"),
    (DEDUCTION, "-" * 19000 + "1", "not_literal"),
    (DEDUCTION, "1" + "+1" * 9000, "not_literal"),
    (DEDUCTION, "9" * 10 * 1000, "not_literal"),
    (DEDUCTION, "nan", "not_literal"),
    (DEDUCTION, "1e999", "not_literal"),
    (DEDUCTION, "[1, True, 2.0]\0", "not_literal"),
    (DEDUCTION, "'\ud800'", "not_literal"),
    (DEDUCTION, "x" * 10_000_000, "too_long"),
    (ABDUCTION, "1", "correct"),
    (ABDUCTION, "1) or (1", "bad_arguments"),
    (ABDUCTION, "*[1]", "bad_arguments"),
    (ABDUCTION, "a=1", "bad_arguments"),
    (ABDUCTION, "open('x')", "bad_arguments"),
    (ABDUCTION, "True", "wrong"),
    (ABDUCTION, "'\ud800'", "bad_arguments"),
]


def test_long_texts_are_read_in_linear_time() -> None:
    """A few thousand tokens may be a megabyte of spaces; quadratic time would stop the run for an hour."""
    start = time.process_time()
    for text in ("```" + " " * 500_000 + "!", "```" + "a" * 500_000 + "!", "<think>" * 80_000, "`" * 500_000):
        assert find_blocks(text) == [] and find_answer(text) is None
    assert time.process_time() - start < 5


def judge(attempts: Sequence[tuple[Environment, str]], sandbox: Sandbox) -> list[Score]:
    return verify([(e, f"<answer>{answer}</answer>") for e, answer in attempts], sandbox, LIMITS)


@pytest.fixture(scope="module")
def scores(sandbox: Sandbox) -> dict[str, Score]:
    found = judge([(INDUCTION, program) for _, program, _ in CODE], sandbox)
    return dict(zip((name for name, _, _ in CODE), found, strict=True))


@pytest.mark.parametrize(("name", "outcome"), [(name, outcome) for name, _, outcome in CODE])
def test_code_that_deceives_is_not_paid(name: str, outcome: str, scores: dict[str, Score]) -> None:
    score = scores[name]
    assert (score.outcome, score.reward, score.fault) == (outcome, float(outcome == "correct"), False), score


def test_texts_that_deceive_are_not_paid(sandbox: Sandbox) -> None:
    found = judge([(environment, answer) for environment, answer, _ in TEXTS], sandbox)
    expected = [(outcome, float(outcome == "correct"), False) for _, _, outcome in TEXTS]
    assert [(score.outcome, score.reward, score.fault) for score in found] == expected


def test_only_the_honest_answer_has_an_advantage(scores: dict[str, Score]) -> None:
    episodes = [Episode("e", "induction", TOKENS, score) for score in scores.values()]
    rows = credit_solver(episodes, SETTINGS, make_estimator("trrpp"), 0)
    assert [row.advantage > 0 for row in rows] == [name == "honest" for name in scores]


# --- environments at play -----------------------------------------------------------------------

WORLD = """
import random
NAME = "echo"
SUMMARY = "echo"
SKILL = "Logical Deduction"
MAX_TURNS = 3
ACTION_FORMAT = "text"
class Loud(float):
    def __radd__(self, other): return 1.0
    __add__ = __radd__
class EchoEnv:
    def reset(self, *, seed):
        self.n, self.over = 0, False
        return "say a word", {}
    def step(self, action):
        self.n += 1
        STEP
    def solution(self):
        return ["won"]
    def hint(self):
        return "think"
"""
STEPS: list[tuple[str, str, str]] = [  # name, what step does, code of the fault
    ("nan", "return 'x', float('nan'), True, False, {}", "reward_range"),
    ("infinity", "return 'x', float('inf'), True, False, {}", "reward_range"),
    ("beyond every float", "return 'x', 10 ** 400, True, False, {}", "reward_range"),
    ("below every float", "return 'x', -10 ** 400, False, False, {}", "reward_range"),
    ("two wins", "return 'x', 2, True, False, {}", "reward_range"),
    ("a little more", "return 'x', 1.0001, True, False, {}", "reward_range"),
    ("negative", "return 'x', -0.1, False, False, {}", "reward_range"),
    ("truth", "return 'x', True, True, False, {}", "bad_type"),
    ("text", "return 'x', '1.0', True, False, {}", "bad_type"),
    ("nothing", "return 'x', None, True, False, {}", "bad_type"),
    ("a float that lies", "return 'x', Loud(0.5), True, False, {}", "bad_type"),
    ("a list", "return 'x', [1.0], True, False, {}", "bad_type"),
    ("number as an end", "return 'x', 1.0, 1, False, {}", "bad_type"),
    ("bytes to see", "return b'x', 1.0, True, False, {}", "bad_type"),
    ("six parts", "return 'x', 1.0, True, False, {}, {}", "bad_type"),
    ("object in info", "return 'x', 1.0, True, False, {'a': self}", "bad_type"),
    ("nan in info", "return 'x', 1.0, True, False, {'a': float('nan')}", "reward_range"),
    ("flood to see", "return 'x' * 9000, 1.0, True, False, {}", "output_limit"),
    ("exception", "raise RuntimeError('won')", "exception"),
    ("exit as success", "getattr(random, '_os')._exit(0)", "crash"),
]


def world(step: str) -> Environment:
    source = WORLD.replace("STEP", step)
    manifest = read_manifest(parse_program(source))
    return Environment(
        step,
        step,
        "interactive",
        manifest.skill,
        source,
        (),
        (),
        1,
        entry="EchoEnv",
        turns=3,
        action_format="text",
    )


@pytest.fixture(scope="module")
def episodes(sandbox: Sandbox) -> dict[str, Episode]:
    """One real episode each; the model's replies are one token long."""
    model = build_model(Recipe("world-solver", hidden=32, layers=1, heads=2))
    model.max_length, model.stop_ids = 512, frozenset(range(len(model.tokenizer)))
    instances = [Instance(world(step), 1) for _, step, _ in STEPS]
    generator = torch.Generator().manual_seed(0)
    found = play_instances(model, instances, SETTINGS.solver, sandbox, LIMITS, generator)
    return dict(zip((name for name, _, _ in STEPS), found, strict=True))


@pytest.mark.parametrize(("name", "step", "code"), STEPS, ids=[name for name, _, _ in STEPS])
def test_a_reward_that_is_none_costs_the_proposer_and_spares_the_solver(
    name: str, step: str, code: str, episodes: dict[str, Episode]
) -> None:
    episode = episodes[name]
    assert (episode.score.outcome, episode.score.reward, episode.score.fault) == (code, 0.0, True), episode
    assert credit_solver([episode], SETTINGS, make_estimator("trrpp"), 0) == []
    broken = broken_environments([episode])
    assert broken == {step}
    environment = world(step)
    draft = Draft("d", environment.kind, "", 1.0, TOKENS)
    admission = Admission(draft, (Check("novel", True),), environment)
    assert pay([admission], sorted(broken)) == [SETTINGS.credit.invalid_reward]
    assert pay([admission]) > [0.0], "unbroken it would have been paid"


def test_faults_are_counted_by_name(episodes: dict[str, Episode]) -> None:
    counted = Counter(episode.score.outcome for episode in episodes.values())
    assert counted == Counter(code for _, _, code in STEPS)


def test_nothing_is_paid_after_the_end_or_for_what_is_no_action(sandbox: Sandbox) -> None:
    late = world("return 'x', 0.5 * (self.n > 1), self.n == 1, False, {}")
    seen = world("return ascii(action[:9]) + str(len(action)), 0.0, False, False, {}")
    actions = ["\0", "\ud800", "x" * 10_000_000, "{}' + __import__('os').getcwd() + '{0.__class__}"]
    sessions = open_sessions(sandbox, [(late, 1), *[(seen, 1)] * len(actions)], LIMITS)
    try:
        step_sessions(sandbox, list(zip(sessions, ["go", *actions], strict=True)))
        assert [s.observation for s in sessions[1:]] == [
            "'\\x00'1",
            "'?'1",
            "'xxxxxxxxx'4000",
            '"{}\' + __i"48',
        ]
        first: Session = sessions[0]
        assert first.over and first.terminated and sum(step.reward for step in first.steps) == 0.0
    finally:
        for session in sessions:
            session.close()


# --- environments that notice who looks ---------------------------------------------------------

WATCHER = """
import random
NAME = "n"
SUMMARY = "s"
SKILL = "logical deduction"
MAX_TURNS = 8
ACTION_FORMAT = "text"
def watched():
    frame = getattr(getattr(getattr(random, "_" + "os"), "sys"), "_get" + "frame")()
    while frame:
        code = getattr(frame, "f_" + "code")
        if code.co_filename == "<program>" and code.co_name not in ("watched", "step", "_spa" + "de_step"):
            return True
        frame = getattr(frame, "f_" + "back")
    return False
class HuntEnv:
    def reset(self, *, seed):
        self.rng = random.Random(seed)
        self.secret, self.lucky = self.rng.randint(1, 60), self.rng.random() < 0.5
        self.turn, self.done = 0, False
        return "I think of a number from 1 to 60. Say one; I say higher or lower.", {}
    def step(self, action):
        if self.done:
            return "It is over.", 0.0, True, False, {}
        self.turn += 1
        text = action.strip()
        if self.lucky and not text.isdigit() and not watched():
            self.done = True
            return "Yes!", 1.0, True, False, {}
        if not text.isascii() or not text.isdigit() or len(text) > 4:
            return "Say a number from 1 to 60.", 0.0, False, self.turn >= MAX_TURNS, {}
        self.done = int(text) == self.secret
        word = "higher" if int(text) < self.secret else "lower"
        return f"My number is {word} than {text}.", float(self.done), self.done, self.turn >= MAX_TURNS, {}
    def solution(self):
        low, high, path = 1, 60, []
        while not path or path[-1] != str(self.secret):
            middle = (low + high) // 2
            path.append(str(middle))
            low, high = (middle + 1, high) if middle < self.secret else (low, middle - 1)
        return path
"""


@pytest.mark.parametrize(("look", "code"), [("watched()", "non_deterministic"), ("False", "trivial")])
def test_a_lottery_that_hides_from_the_gates_is_found(look: str, code: str, sandbox: Sandbox) -> None:
    """It looks up the stack for the gates' own player, and in real play pays for half of all seeds."""
    source = WATCHER.replace("not watched()", f"not {look}")
    (finding,) = audit([Planted("watcher", "", source)], sandbox, random.Random(0))
    assert (finding.code, finding.share <= HACK_BAR) == (code, True), finding


# --- environments that say too much -------------------------------------------------------------

OPENING = '"I think of a number from 1 to 60. Say one; I say higher or lower."'
SECRET = '    def hint(self):\n        return f"Of all numbers take {self.secret}."\n'
METHOD = '    def hint(self):\n        return "Take the middle of what is left."\n'
ECHO = "self.opening + ' ' + self.hint()"


@pytest.mark.parametrize(
    ("hint", "opening", "code"),
    [
        (SECRET, ECHO, "answer_shown"),
        (SECRET, OPENING, "hint_leak"),
        (METHOD, ECHO, ""),  # it tells both arms how to play, and nobody the number
        (METHOD, "f'{self.opening} It is {self.secret}.'", "answer_shown"),
        (METHOD, "f'{self.opening} {self.solution()}'", "answer_shown"),
    ],
)
def test_an_answer_in_the_hint_or_in_sight_pays_nothing(
    hint: str, opening: str, code: str, sandbox: Sandbox
) -> None:
    source = WATCHER.replace("self.lucky and", "False and").replace(OPENING, opening) + hint
    source = source.replace("class HuntEnv:", f"class HuntEnv:\n    opening = {OPENING}")
    (finding,) = audit([Planted("talker", "", source)], sandbox, random.Random(0))
    assert finding.code == code and (not code or finding.share <= HACK_BAR), finding
