"""An HTTP proxy in front of a server, told per request what to do with it: the faults of a network, on order."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PASS = "pass"
LOSE_ANSWER = "lose the answer"
"""The server acts on the request, and the connection breaks before its answer is through."""
CUT = "cut"
"""The connection breaks before the request is through."""

Rule = Callable[[str, str], str | int]
"""For a method and a path, what to do: one of the above, or a status to answer with instead of the server."""


def pass_all(_: str, __: str) -> str:
    """The network is well."""
    return PASS


class Proxy:
    """Stands in front of `upstream` at `address`; `rule` may be changed at any time."""

    def __init__(self, upstream: str) -> None:
        self.rule: Rule = pass_all
        self.requests: list[tuple[str, str]] = []
        proxy, target = self, urlsplit(upstream)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                proxy.requests.append((self.command, self.path))
                action = proxy.rule(self.command, self.path)
                if action == CUT:
                    self.close_connection = True
                    return
                if isinstance(action, int):
                    self._answer(action, {}, b"")
                    return
                status, headers, answer = self._forward(body)
                if action == LOSE_ANSWER:
                    self.close_connection = True
                    return
                self._answer(status, headers, answer)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815

            def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
                connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=20)
                try:
                    connection.request(self.command, self.path, body, dict(self.headers))
                    response = connection.getresponse()
                    return response.status, dict(response.getheaders()), response.read()
                finally:
                    connection.close()

            def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                length = headers.get("Content-Length") if self.command == "HEAD" else None
                self.send_header("content-length", length or str(len(body)))
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop answering; connections to the address are refused from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
