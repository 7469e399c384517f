"""A source that takes pushes over HTTP, with its inbox, and somebody who pushes."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3

from holdfast.capture import CaptureState, HttpPush, Reception
from holdfast.log import Inbox, InboxReader
from holdfast.model.steps import StepHook, no_hook

SECONDS = 20.0
"""How long a test waits for what must come."""


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        import json

        return json.loads(self.content)


@dataclass
class Pusher:
    """Somebody who pushes."""

    address: str
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=64, retries=False))

    def post(
        self, body: Any, content_type: str = "application/json", *, path: str = "/v1/events", **headers: str
    ) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", path, body, **{"content-type": content_type, **named})

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        found = self.pool.request(
            method, self.address + path, body=body, headers=headers, timeout=SECONDS, retries=False, redirect=False
        )
        return Answer(found.status, {name.lower(): value for name, value in found.headers.items()}, found.data)

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A bare connection, to send on it byte by byte."""
        parts = urlsplit(self.address)
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS) as bare:
            yield bare


@dataclass
class Receiving(Pusher):
    """A source at work."""

    directory: Path = Path()
    inbox: Inbox = field(kw_only=True)
    reception: Reception = field(kw_only=True)
    failures: list[BaseException] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """The events that another process would read."""
        with InboxReader.open(self.directory) as reader:
            return [row for batch in reader.read(0, None) for row in batch.to_pylist()]

    def payloads(self) -> list[bytes]:
        return [row["payload"] for row in self.rows()]


@contextmanager
def receiving(
    directory: Path,
    *,
    quota: int | None = None,
    flush_interval: float = 0.002,
    hook: StepHook = no_hook,
    epoch: int = 1,
    **how: Any,
) -> Iterator[Receiving]:
    """A source over the inbox in the directory, served until the end."""
    source = HttpPush(**{"port": 0, **how})
    failures: list[BaseException] = []
    with Inbox.open(
        directory, name=source.name, epoch=epoch, quota=quota, flush_interval=flush_interval, hook=hook
    ) as inbox:
        reception = Reception(source, inbox, failed=failures.append)
        reception.start()
        try:
            wait_until(lambda: not source.address.endswith(":0") or bool(failures))
            work = Receiving(source.address, directory=directory, inbox=inbox, reception=reception, failures=failures)
            yield work
            work.pool.clear()
        finally:
            reception.stop()


def wait_until(holds: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it does not hold"
        time.sleep(0.005)


def is_reading(work: Receiving) -> bool:
    return work.reception.status().state is CaptureState.READING


def answer_on(connection: socket.socket) -> bytes:
    """Everything that comes until the other side closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received
