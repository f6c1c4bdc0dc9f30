"""Where a verb begins and ends: exit codes, errors as one sentence, libraries that keep quiet."""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import typer

from spadelab.errors import UserError

INTERRUPTED = 130
USER_ERROR = 2
UNSAFE = "warning: sandbox unsafe: generated programs run without a jail, with all your rights"
P = ParamSpec("P")


def verb(function: Callable[P, int]) -> Callable[P, None]:
    """Turn a function that returns an exit code into a command.

    An error that the user can mend is one sentence on stderr and exit code 2; with the command's
    `as_json` set it is also `{"error": ...}` on stdout. Anything else keeps its traceback.
    """

    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = function(*args, **kwargs)
        except expected_errors() as error:
            sentence = " ".join(str(error).split())
            if kwargs.get("as_json"):
                print_json({"error": sentence})
            sys.stdout.flush()
            print(f"error: {sentence}", file=sys.stderr)
            code = USER_ERROR
        except KeyboardInterrupt as interrupt:
            print("; ".join(["interrupted", *map(str, interrupt.args)]), file=sys.stderr)
            code = INTERRUPTED
        raise typer.Exit(code)

    return command


def expected_errors() -> tuple[type[Exception], ...]:
    """What the user can mend. Called when something was raised, so that `--help` imports no sandbox."""
    from spadelab.sandbox import SandboxUnavailable

    return UserError, SandboxUnavailable


def hush_libraries() -> None:
    """Silence progress bars and warnings that a user cannot act on. Call it before importing torch."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, indent=2, default=str), flush=True)


def warn_unsafe(backend: str) -> None:
    """Say aloud, on stderr, that the backend is no jail."""
    if backend == "unsafe":
        print(UNSAFE, file=sys.stderr)


def notify(sentences: list[str]) -> None:
    """Notices of replaced settings, on stderr."""
    for sentence in sentences:
        print(f"notice: {sentence}", file=sys.stderr)
