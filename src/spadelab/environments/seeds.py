"""The one hand-written triple that a run starts from: the identity function (AZR §3.3.1)."""

from __future__ import annotations

from spadelab.environments.programs import task_key
from spadelab.environments.tasks import KINDS, make_environment
from spadelab.records import Environment

PROGRAM = "def f(a):\n    return a"
INPUTS = ("'Hello world'", "1", "[1, 2]", "(3, 4)", "{'a': 1}", "-0.5")
MESSAGE = "give back what you get"


def identity_environments() -> list[Environment]:
    """The identity triple as a task of each kind; the outputs of this program are its inputs."""
    return [
        make_environment(kind, PROGRAM, inputs, inputs, (), MESSAGE, task_key(kind, PROGRAM, inputs), 0)
        for kind in KINDS
        for inputs in (INPUTS if kind == "induction" else INPUTS[:1],)
    ]
