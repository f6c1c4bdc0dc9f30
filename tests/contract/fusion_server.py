"""A sandbox service as SandboxFusion answers, on a free port: real processes, with or without isolation.

Where its releases differ, as the one that carries less. Compared with SandboxFusion's own server.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from spadelab.sandbox.backends import find_bwrap

# Releases up to 2025 read what a run prints when it has ended: what prints more never ends.
CAPTURED = 1 << 17
FAULTS = {
    "broken": (500, b"out of order"),
    "malformed": (200, b'{"status": '),
    "foreign": (200, b'{"code": 0}'),
    "silent": (200, b'{"status": "Success", "run_result": {"status": "Finished", "stdout": ""}}'),
    "failing": (200, b'{"status": "SandboxError", "message": "no space left"}'),
    "refusing": (422, b'{"detail": [{"type": "missing", "loc": ["body", "code"]}]}'),
}


class FusionServer:
    """A context manager. `isolated`: each run in a jail of its own, else in a plain process.

    `url` + "/" + a key of FAULTS is a service that always answers so. `fault` breaks the good one;
    the next `busy` requests are turned away.
    """

    def __init__(self, isolated: bool, port: int = 0) -> None:
        self.isolated = isolated
        self.fault = ""
        self.busy = 0
        self.requests = 0
        self.printed = ""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests += 1
                fault = service.fault or self.path.strip("/").partition("/")[0]
                busy = (503, b"") if service.busy else None
                service.busy = max(0, service.busy - 1)
                status, answer = busy or FAULTS.get(fault) or (200, service.run(json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def run(self, request: dict[str, Any]) -> bytes:
        """What /run_code does: a file, `python FILE`, and what it printed."""
        assert request["language"] == "python"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "code.py")
            path.write_text(request["code"], "utf-8")
            memory = request["memory_limit_MB"] << 20
            process = subprocess.Popen(
                [
                    *(jail(folder) if self.isolated else ()),
                    "bash",
                    "-c",
                    f"cd {folder} && {sys.executable} {path}",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY)),
            )
            try:
                out, errors = process.communicate(request["stdin"].encode(), request["run_timeout"])
                status = "Finished" if max(len(out), len(errors)) <= CAPTURED else "TimeLimitExceeded"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, errors = process.communicate()
                status = "TimeLimitExceeded"
            wanted = {name: Path(folder, name) for name in request["fetch_files"]}
            files = {n: base64.b64encode(p.read_bytes()).decode() for n, p in wanted.items() if p.is_file()}
        self.printed = out[:CAPTURED].decode("utf-8", "replace")
        result = {
            "status": status,
            "execution_time": 0.1,
            "return_code": process.returncode,
            "stdout": self.printed,
            "stderr": errors[:CAPTURED].decode("utf-8", "replace"),
        }
        good = status == "Finished" and process.returncode == 0
        response = {"status": "Success" if good else "Failed", "message": "", "compile_result": None}
        return json.dumps(
            response | {"run_result": result, "executor_pod_name": None, "files": files}
        ).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def jail(folder: str) -> list[str]:
    """A bubblewrap of its own for one run, which leaves open what `isolation: lite` does.

    A private /tmp, network and process numbers; but the host's shared memory, and the right to mount.
    """
    command = [find_bwrap()[0], "--unshare-all", "--unshare-user", "--die-with-parent", "--uid", "1000"]
    command += ["--gid", "1000", "--cap-add", "CAP_SYS_ADMIN", "--clearenv", "--setenv", "PATH", "/usr/bin"]
    command += ["--proc", "/proc", "--dev", "/dev", "--bind", "/dev/shm", "/dev/shm", "--tmpfs", "/tmp"]
    for path in ("/usr", "/lib", "/lib64", "/bin"):
        if Path(path).is_symlink():
            command += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).is_dir():
            command += ["--ro-bind", path, path]
    for path in sorted({sys.base_prefix, sys.prefix}):
        command += ["--ro-bind", path, path]
    return [*command, "--bind", folder, folder, "--"]
