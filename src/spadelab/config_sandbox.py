"""The settings of the sandbox: where generated code runs, what it may import and how much it may use."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from spadelab.config_self_play import Section

Seconds = Annotated[float, Field(gt=0, le=3600)]
Mebibytes = Annotated[int, Field(ge=16)]
Bytes = Annotated[int, Field(ge=1024, le=1 << 26)]


class RoleLimits(Section):
    """Limits of one role's code where they differ; null: as in `sandbox` itself."""

    timeout_seconds: Seconds | None = None
    cpu_seconds: Seconds | None = None
    memory_limit_mb: Mebibytes | None = None
    output_bytes: Bytes | None = None


class SandboxSettings(Section):
    """The jail in which all generated code runs."""

    executor_type: Literal["auto", "bubblewrap", "landlock", "docker", "podman", "remote", "unsafe"] = "auto"
    """"auto": the first of bubblewrap, landlock, docker and podman that works here; "remote": a service at
    `sandbox.url`; "unsafe" (no jail) only when typed. `sandbox.backend` means the same."""
    timeout_seconds: Seconds = 5.0
    """Wall-clock limit in seconds: of a program's load and of each call, apart."""
    cpu_seconds: Seconds | None = None
    """Limit of a program's CPU time in seconds, its load and all calls together; null: `timeout_seconds`."""
    memory_limit_mb: Mebibytes = 256
    """Memory limit of one program in MiB."""
    output_bytes: Bytes = 65536
    """Most printed characters of a call, and apart from them of its result's text."""
    proposer: RoleLimits = RoleLimits()
    """Limits of programs and environments that the proposer wrote: in the gates, and, for environments,
    while they are played."""
    solver: RoleLimits = RoleLimits()
    """Limits of what runs to check the solver's answers to program tasks: its code (induction), or the
    program on its input (abduction)."""
    allowed_packages: tuple[str, ...] = ("numpy", "sympy")
    """Packages beside the standard library's harmless part that programs may import, by the name that
    `import` wants; each must be installed."""
    workers: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Jails at the same time (the articles' `task_queue.workers`); null: one a core."""
    image: str | None = None
    """Image of docker or podman, with Python 3.11 or later; for podman also the folder of a root file
    system. Null: `python:X.Y-slim`, X.Y being the version that runs spadelab. The packages of
    `allowed_packages` are lent from here, so an image of another version needs that list empty."""
    url: str = ""
    """Address of the service of executor_type "remote", such as http://localhost:8080."""

    @field_validator("allowed_packages")
    @classmethod
    def _check_packages(cls, packages: tuple[str, ...]) -> tuple[str, ...]:
        for name in packages:
            if not name.isidentifier():
                raise ValueError(f'must hold names as `import` wants them, but "{name}" is none')
            if name in sys.stdlib_module_names:
                raise ValueError(
                    f'must hold packages only, but "{name}" belongs to the standard library, whose '
                    "harmless part is allowed already"
                )
        return packages

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        if self.executor_type == "remote" and not self.url.startswith(("http://", "https://")):
            raise ValueError(
                f'sandbox.url is "{self.url}", but sandbox.executor_type "remote" needs the address of a '
                "service there, such as http://localhost:8080"
            )
        return self
