"""A sandbox service over HTTP, as SandboxFusion speaks it: one script, one request, one answer.

The interface (bytedance/SandboxFusion, sandbox_api.py): POST {url}/run_code with `code`, `language`,
`stdin`, `run_timeout`, `memory_limit_MB` and `fetch_files`; the answer has `status` (Success, Failed,
SandboxError), `run_result` with `status` (Finished, Error, TimeLimitExceeded), `stdout` and `stderr`, and
`files`, in base64. A run's answer is a file, since releases up to 2025 do not read what a run prints until
it ends: more than 128 KiB never ends, and under load some of it is lost.
"""

from __future__ import annotations

import base64
import binascii
import http.client
import json
import secrets
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from .backends import HERE, INSIDE, Flavour, configure, make_environment, read_filters

# Of what children write, in one answer; base64 makes four bytes of three, here twice.
_ROOM = 4_000_000
_MAX_ANSWER = 8 << 20
_START_SECONDS = 30.0
_PASSING = (429, 502, 503, 504)  # too many requests; nobody behind the gateway
_MEMORY_MB = 4096

# The interpreter is started again: the hash seed holds from the start only, and the environment of the
# service is none of the programs' business.
_START = """
import os, sys
if sys.version_info < (3, 10):
    sys.exit("the Python that the service runs is " + sys.version.split()[0] + ", and 3.10 is needed")
os.execve(sys.executable, [sys.executable, "-s", "-B", "-c", {boot!r}, {cargo!r}], {environment!r})
"""
_BOOT = """
import ast, sys
from importlib.machinery import ModuleSpec
del sys.path[0]
sources, configs = ast.literal_eval(sys.argv.pop())
class Cargo:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=name == "jail") if name in sources else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(sources[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Cargo())
from jail.courier import main
main(configs)
"""


class ServiceError(RuntimeError):
    """The service did not answer as it should; the message says how and what would help."""


class ServiceAway(ServiceError):
    """Nobody answers at the address now, or too many ask; that may pass."""


class Load(msgspec.Struct, frozen=True):
    """One job for the far side: `frame` is its request, `answers` how many frames must come back."""

    frame: bytes
    answers: int
    wall_seconds: float
    cpu_seconds: float
    memory_mb: int
    cap: int


class Result(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a child wrote, unread, and how that ended; `seconds` has the time of each whole frame."""

    end: Literal["answered", "silent", "closed", "too long"]
    seconds: list[float]
    status: int
    killed: bool
    cpu_seconds: float
    received: bytes


class Facts(msgspec.Struct, frozen=True):
    """The far zygote's report about itself."""

    python: str
    dropped: bool
    landlock: int
    uid: int
    kernel: str


class Answer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Results of the first jobs, at least one unless the far zygote died; `found` is for the self-test."""

    facts: Facts
    found: list[str]
    results: list[Result]


class _Run(msgspec.Struct, frozen=True):
    status: str
    stderr: str | None = None


class _Response(msgspec.Struct, frozen=True):
    status: str
    message: str | None = None
    run_result: _Run | None = None
    files: dict[str, str] = {}


class Service:
    """The service at `url`. Raises ServiceError for anything but an http(s) address without credentials."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ServiceError(
                "sandbox.url must be a SandboxFusion service's address, such as http://host:8080"
            )
        self.url = url.rstrip("/")

    def send(self, flavour: Flavour, loads: Sequence[Load], trail: str = "") -> Answer:
        """Run the jobs, one after the other. Raises ServiceError; safe to use from several threads.

        `trail` names what the runs of one self-test leave for each other.
        """
        mark = secrets.token_hex(16)
        # The mark, which is the answer's name, and the programs come by standard input: no file holds them.
        stdin = msgspec.json.encode({"mark": mark, "trail": trail, "room": _ROOM, "jobs": loads})
        seconds = _START_SECONDS + sum(load.wall_seconds * load.answers for load in loads)
        request = {
            "code": write_script(flavour),
            "language": "python",
            "stdin": stdin.decode(),
            "run_timeout": seconds,
            "memory_limit_MB": _MEMORY_MB,
            "fetch_files": [mark],
        }
        response = self._post(json.dumps(request).encode(), seconds + _START_SECONDS)
        try:
            return self._read(msgspec.json.decode(response, type=_Response), mark)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, binascii.Error) as error:
            raise self._error(f"answers in another form ({str(error)[:200]})") from None

    def _post(self, body: bytes, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/run_code", body, headers, method="POST")
        received = bytearray()
        try:
            with urllib.request.urlopen(request, timeout=seconds) as response:
                while part := response.read1(1 << 16):
                    received += part
                    if len(received) > _MAX_ANSWER:
                        raise self._error("answers with too many bytes")
                    if time.monotonic() > deadline:
                        raise self._error(f"did not finish its answer within {seconds:g} s")
        except (OSError, http.client.HTTPException) as error:
            late = isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", 0), TimeoutError)
            final = late or getattr(error, "code", 503) not in _PASSING
            raise self._error(f"does not answer ({error})", ServiceError if final else ServiceAway) from None
        return bytes(received)

    def _read(self, response: _Response, mark: str) -> Answer:
        run = response.run_result
        if mark in response.files:
            return msgspec.json.decode(base64.b64decode(response.files[mark], validate=True), type=Answer)
        reasons = (run.stderr or "").strip().splitlines() if run else [response.message or ""]
        state = f"{response.status}, {run.status if run else 'no result'}"
        raise self._error(f"could not run the jail ({state}: {(reasons or ['no reason'])[-1][:300]})")

    def _error(self, what: str, kind: type[ServiceError] = ServiceError) -> ServiceError:
        return kind(f"the sandbox service {self.url} {what}; see that it runs and that sandbox.url is right")


def write_script(flavour: Flavour) -> str:
    """The script for one kind of jail: the files of the jail as they are, the courier, and its orders."""
    sources = {
        f"jail.{Path(name).stem}": (HERE / name).read_text("utf-8") for name in (*INSIDE, "courier.py")
    }
    configs = {machine: configure(flavour, {}, read_filters(machine)) for machine in ("x86_64", "aarch64")}
    cargo = repr(({"jail": "", **sources}, configs))
    return _START.format(boot=_BOOT, cargo=cargo, environment=make_environment(flavour))
