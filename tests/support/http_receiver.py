"""A server that takes rows over HTTP and honours idempotency keys: what a user of the HTTP sink would write.

It shares no code with the product. Every room (a path) is a server of its own: rows, keys, and what it was told to do
wrong. `POST /room` delivers, `GET /room` shows, `PUT /room` tells.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 20


@dataclass
class Room:
    """What one receiver has, and how it behaves."""

    rows: list[Any] = field(default_factory=list)
    """In the order in which they were taken."""
    keys: list[str] = field(default_factory=list)
    """Of everything taken."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Every request: its key, its type, its size, and what was answered."""
    next_answers: list[dict[str, Any]] = field(default_factory=list)
    """For the next requests, one each: a status with headers, `lose` the answer, `cut` the connection, or `wait`."""
    always: dict[str, Any] | None = None
    """For all other requests."""
    max_bytes: int = 1 << 30
    refused: list[Any] = field(default_factory=list)
    """The ids of rows for which a request is refused with 422."""
    knows_keys: bool = True


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    rooms: dict[str, Room]
    lock: threading.Lock

    def do_GET(self) -> None:
        with self.lock:
            shown = asdict(self._room())
        self._answer(200, shown)

    def do_PUT(self) -> None:
        told = json.loads(self._body())
        with self.lock:
            for name, value in told.items():
                setattr(self._room(), name, value)
        self._answer(200, {})

    def do_POST(self) -> None:
        body = self._body()
        with self.lock:
            room = self._room()
            order = room.next_answers.pop(0) if room.next_answers else room.always or {}
            noted = {"key": self.headers["idempotency-key"], "type": self.headers["content-type"], "size": len(body)}
            noted |= {"headers": dict(self.headers.items())}
            room.requests.append(noted)
            status, said = self._taken(room, body, order)
            noted["status"] = status
        time.sleep(order.get("wait", 0))
        if order.get("lose") or order.get("cut"):
            self.close_connection = True
            return
        with suppress(OSError):
            self._answer(status, said, order.get("headers", {}))

    def _taken(self, room: Room, body: bytes, order: dict[str, Any]) -> tuple[int, Any]:
        if order.get("cut"):
            return 0, None
        if "status" in order:
            return order["status"], order.get("said", {"error": "as told"})
        if len(body) > room.max_bytes:
            return 413, {"error": "too large"}
        key = self.headers["idempotency-key"]
        if room.knows_keys and key in room.keys:
            return 200, {"repeated": True}
        rows = self._rows(body)
        if bad := [row["id"] for row in rows if isinstance(row, dict) and row.get("id") in room.refused]:
            return 422, {"error": f"row {bad[0]} is refused"}
        room.rows += rows
        room.keys.append(key)
        return 200, {}

    def _rows(self, body: bytes) -> list[Any]:
        if self.headers["content-type"] == "application/x-ndjson":
            return [json.loads(line) for line in body.decode().split("\n") if line]
        found = json.loads(body)
        return found if isinstance(found, list) else [found]

    def _room(self) -> Room:
        return self.rooms.setdefault(self.path.partition("?")[0], Room())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """All rooms."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), type("Handler", (Handler,), {"rooms": {}, "lock": threading.Lock()}))


@dataclass(frozen=True)
class RoomAddress:
    """A room as a test sees it, from another process."""

    url: str

    @classmethod
    def fresh(cls, server: str) -> RoomAddress:
        return cls(f"{server}/{uuid.uuid4().hex}")

    def tell(self, **how: Any) -> None:
        """Change what it is or does."""
        self._call("PUT", json.dumps(how).encode())

    def look(self) -> Room:
        """What it is now."""
        return Room(**json.loads(self._call("GET")))

    def _call(self, method: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.url, body, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            content: bytes = answer.read()
            return content
