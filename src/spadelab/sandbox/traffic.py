"""Work in many children at once: begun as cores and memory allow, handed back as it gets done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass

from .capacity import Budget
from .channel import Channel, Switchboard
from .jobs import SandboxUnavailable


@dataclass(slots=True)
class Task:
    """One request to a child: `begin` makes it and gives the channel, or raises SandboxUnavailable.

    `failure` says why it could not begin.
    """

    index: int
    megabytes: int
    begin: Callable[[], Channel]
    again: bool = False
    channel: Channel | None = None
    failure: str = ""


def direct(waiting: deque[Task], budget: Budget, most: int) -> Generator[Task]:
    """Begin what waits, at most `most` at a time and within the budget; yields each task when it is done.

    Whoever takes them may append further tasks. When it stops early, what runs goes on unwatched.
    """
    running: dict[Channel, Task] = {}
    board = Switchboard()
    try:
        while waiting or running:
            done: list[Task] = []
            while (
                waiting
                and len(running) < most
                and budget.admit(waiting[0].megabytes, wait=not (running or done))
            ):
                task = waiting.popleft()
                if _begin(task, budget):
                    assert task.channel is not None
                    running[task.channel] = task
                    if not task.channel.done:
                        board.add(task.channel)
                        continue
                    del running[task.channel]
                    budget.release(task.megabytes)
                done.append(task)
            for channel in () if done else board.wait():
                task = running.pop(channel)
                budget.release(task.megabytes)
                done.append(task)
            yield from done
    finally:
        for task in running.values():
            budget.release(task.megabytes)


def _begin(task: Task, budget: Budget) -> bool:
    try:
        task.channel = task.begin()
    except SandboxUnavailable as error:
        task.failure = str(error)
    finally:
        if task.channel is None:
            budget.release(task.megabytes)
    return task.channel is not None
