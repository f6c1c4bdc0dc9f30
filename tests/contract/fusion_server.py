"""A sandbox service as SandboxFusion answers, on a free port: real processes, with or without isolation."""

from __future__ import annotations

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

CAPTURED = 1 << 20
FAULTS = {
    "broken": (500, b"out of order"),
    "malformed": (200, b'{"status": '),
    "foreign": (200, b'{"code": 0}'),
    "silent": (200, b'{"status": "Success", "run_result": {"status": "Finished", "stdout": ""}}'),
    "failing": (200, b'{"status": "SandboxError", "message": "no space left"}'),
}


class FusionServer:
    """A context manager. `isolated`: each run in a jail of its own, else in a plain process.

    `url` + "/" + a key of FAULTS is a service that always answers so. `fault` breaks the good one.
    """

    def __init__(self, isolated: bool) -> None:
        self.isolated = isolated
        self.fault = ""
        self.requests = 0
        self.printed = ""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests += 1
                fault = service.fault or self.path.strip("/").partition("/")[0]
                status, answer = FAULTS.get(fault) or (200, service.run(json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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
                [*(jail(folder) if self.isolated else ()), sys.executable, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY)),
            )
            try:
                out, errors = process.communicate(request["stdin"].encode(), request["run_timeout"])
                status = "Finished"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, errors = process.communicate()
                status = "TimeLimitExceeded"
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
        return json.dumps(response | {"run_result": result, "executor_pod_name": None, "files": {}}).encode()

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
    """A bubblewrap of its own for one run: no network, a private /tmp, its own processes."""
    command = [find_bwrap()[0], "--unshare-all", "--unshare-user", "--die-with-parent", "--uid", "1000"]
    command += [
        "--gid",
        "1000",
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/bin",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    command += ["--tmpfs", "/tmp"]
    for path in ("/usr", "/lib", "/lib64", "/bin"):
        if Path(path).is_symlink():
            command += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).is_dir():
            command += ["--ro-bind", path, path]
    for path in sorted({sys.base_prefix, sys.prefix, folder}):
        command += ["--ro-bind", path, path]
    return [*command, "--chdir", folder, "--"]
