"""The verb `generate`: tasks for other uses, written and gated, without any training."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from spadelab.command.boundary import INTERRUPTED, print_json, warn_unsafe
from spadelab.command.collection import REJECTED, TASKS, Collection, open_collection
from spadelab.command.interruption import Interruption
from spadelab.command.preflight import check_models
from spadelab.command.ticker import Ticker
from spadelab.conductor import open_sandbox
from spadelab.config import Settings
from spadelab.errors import UserError
from spadelab.families import make_family
from spadelab.learning.players import load_policy
from spadelab.models.local import LocalModel
from spadelab.records import Admission, Environment
from spadelab.rng import Streams
from spadelab.roles.proposer import Request
from spadelab.sandbox import Sandbox

# So many drafts in a row without one admitted task mean that the model cannot write tasks.
HOPELESS = 1000
STOPPING = "stopping after this batch; press Ctrl-C again to stop at once"


def generate(settings: Settings, count: int, folder: Path, as_json: bool, quiet: bool) -> int:
    """Write `count` tasks into the folder, going on with those that are there; 130 when interrupted."""
    check_models(settings)
    warn_unsafe(settings.sandbox.executor_type)
    collection = open_collection(folder, settings)
    torch.set_num_threads(settings.model.threads)
    role = settings.solver_model if settings.shared_model else settings.proposer.model
    with (
        open_sandbox(settings) as sandbox,
        Ticker("tasks", count, quiet) as ticker,
        Interruption(STOPPING) as interruption,
    ):
        writer = Writer(settings, load_policy(settings, role), sandbox)
        drafts, fruitless = 0, 0
        while len(collection) < count and not interruption.asked:
            before = len(collection)
            admissions = writer.write_batch(collection)
            collection.store(admissions, count)
            drafts += len(admissions)
            fruitless = 0 if len(collection) > before else fruitless + len(admissions)
            check_hope(collection, fruitless)
            ticker.show(len(collection), f"{drafts} drafts")
    return conclude(collection, count, as_json)


def check_hope(collection: Collection, fruitless: int) -> None:
    """Raise UserError after too many drafts in a row that all were rejected."""
    if fruitless >= HOPELESS:
        ((reason, _),) = collection.rejections.most_common(1)
        raise UserError(
            f"none of the last {fruitless} drafts was admitted (most often: {reason}); see "
            f"{collection.folder / REJECTED}, and choose another proposer.model or difficulty."
        )


def conclude(collection: Collection, count: int, as_json: bool) -> int:
    """Say what is there now; the exit code."""
    path = collection.folder / TASKS
    if as_json:
        kinds = {kind: len(tasks) for kind, tasks in sorted(collection.by_kind.items())}
        rejections = dict(collection.rejections.most_common())
        print_json({"tasks": len(collection), "file": str(path), "kinds": kinds, "rejections": rejections})
    else:
        print(f"{len(collection)} tasks in {path}", flush=True)
    if len(collection) >= count:
        return 0
    print("stopped; the same command goes on from here", file=sys.stderr)
    return INTERRUPTED


class Writer:
    """The proposer at work. Batch n is the same however often the work was interrupted before it."""

    def __init__(self, settings: Settings, model: LocalModel, sandbox: Sandbox) -> None:
        self.settings, self.model = settings, model
        self.family = make_family(settings, sandbox)
        self.seeds = self.family.seeds()

    def write_batch(self, collection: Collection) -> list[Admission]:
        """One batch of drafts through the gates."""
        streams, name = Streams(self.settings.run.seed), f"generate {collection.batch}"
        requests = list(self.plan(collection.by_kind, streams.python(name)))
        drafts = self.family.write(self.model, requests, collection.batch, streams.torch(name))
        return self.family.admit(self.model, drafts, collection.keys, collection.batch, streams)

    def plan(self, written: Mapping[str, list[Environment]], stream: random.Random) -> Iterator[Request]:
        """Requests with difficulties drawn evenly between self_play's initial and greatest."""
        play, references = self.settings.self_play, self.settings.proposer.references
        kinds, shares = list(play.task_types), list(play.task_types.values())
        for kind in stream.choices(kinds, weights=shares, k=play.tasks_per_round):
            difficulty = stream.randint(round(play.start_of(kind)), round(play.limit_of(kind)))
            pool = written.get(kind) or [seed for seed in self.seeds if seed.kind == kind]
            yield Request(kind, difficulty, tuple(stream.sample(pool, min(references, len(pool)))))
