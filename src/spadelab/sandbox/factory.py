"""Which sandbox: jails on this machine, or a service elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from .sandbox import Sandbox


def make_sandbox(
    backend: str = "auto",
    workers: int | None = None,
    allowed_packages: Sequence[str] = ("numpy", "sympy"),
    canaries: bool = True,
    image: str | None = None,
    url: str = "",
) -> Sandbox:
    """The sandbox that the settings ask for: a `RemoteSandbox` at `url` for "remote", else a `Sandbox`.

    `backend` may also be the service's address itself. Raises SandboxUnavailable with the reason
    and the cure.
    """
    if backend.startswith(("http://", "https://")):
        backend, url = "remote", backend
    if backend == "remote":
        from .remote import RemoteSandbox  # HTTP is slow to import, and few need it

        return RemoteSandbox(url, workers, allowed_packages, canaries)
    return Sandbox(backend, workers, allowed_packages, canaries, image)
