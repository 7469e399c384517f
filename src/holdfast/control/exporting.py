"""Where the metrics go: into a file that is replaced whole, or out of a port of this host alone."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from holdfast.control.metrics import exposition
from holdfast.control.values import plain
from holdfast.model.errors import ControlUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.control.status import Status


def write_metrics(path: Path, status: Status) -> None:
    """Replace the file; who reads it sees the old text or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(exposition(status))
    draft.rename(path)


class MetricsPort:
    """Serves `/metrics`, and `/health` with 200 when the pipeline is ready and 503 when it is not, on loopback.

    :param port: 0 for one that is free.
    """

    def __init__(self, port: int, status: Callable[[], Status]) -> None:
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(status))
        except OSError as error:
            raise ControlUnavailable(
                f"Port {port} cannot be used for metrics: {error.strerror}.", remedy="Name another port."
            ) from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(status: Callable[[], Status]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._send(200, "text/plain; version=0.0.4; charset=utf-8", exposition(status()))
            elif self.path == "/health":
                health = status().health
                self._send(200 if health.ready else 503, "application/json", json.dumps(plain(health)))
            else:
                self._send(404, "text/plain; charset=utf-8", "There are /metrics and /health.\n")

        def log_message(self, *_: object) -> None:
            """Requests are not worth a line."""

        def _send(self, code: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
