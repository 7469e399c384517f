"""The source that others push to over HTTP: JSON, NDJSON and OTLP logs. Needs the extra `http`.

    POST /v1/events    application/json: an event for each element of an array, or one for any other value
                       application/x-ndjson: an event a line
    POST /v1/logs      OTLP/HTTP in protobuf or JSON: an event for each log record
    GET  /health       200 when a push would be taken in now, 503 when not

200 says that all events of the request are synced in the inbox: they survive a kill and a loss of power. 4xx and 503
say that nothing of it was accepted: 413 too large, 429 no room in the inbox, 503 stopping or no disk. Any other answer,
or none, leaves it open; a request with an `Idempotency-Key` may be repeated until it is answered, and is there once.
The key stands for the request: what comes under a key that is known is not looked at.

The payload of an event is its JSON value as it was sent (for OTLP see `otlp`). `headers` say the content type of the
payload, the path, and the request headers that were chosen. The events of a request are one transaction.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, ClassVar

from holdfast.capture.contract import Boundary, Receiver
from holdfast.capture.http.application import Application, Manner
from holdfast.capture.http.bodies import BodyLimits
from holdfast.capture.http.doors import Events
from holdfast.model.errors import InvalidSource, MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.capture.http.server import Server
    from holdfast.capture.reception import Intake

_MIB = 2**20
_BODIES_AT_ONCE = 8
_SECRET = {"authorization", "cookie", "proxy-authorization"}


class HttpPush(Receiver):
    """A source that takes pushes over HTTP.

    :param port: 0 takes one that is free; `address` says which.
    :param token: the bearer token that every push must carry. Only a source that is bound to this host may have none.
    :param headers: the names of request headers that events carry.
    :param max_body: the largest body in bytes, as sent and once unpacked. Of eight times as much in memory at once,
        further pushes are answered with 429.
    :param patience: how many seconds the head of a request may take, its body, and a connection that is idle.
    :param max_connections: while there are more, requests are answered with 503.
    :param linger: after how many seconds, about, a push is durable: so long it waits for others, to be synced together.
    :param keys_kept: how many of the newest idempotency keys are remembered.
    """

    kind: ClassVar[str] = "http"

    def __init__(
        self,
        name: str = "http",
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: str | None = None,
        headers: Sequence[str] = (),
        max_body: int = 16 * _MIB,
        patience: float = 30.0,
        max_connections: int = 1024,
        linger: float = 0.01,
        keys_kept: int = 1_000_000,
    ) -> None:
        self.name = name
        self.linger = linger
        self.keys_kept = keys_kept
        self._host, self._port = host, port
        self._patience, self._connections = patience, max_connections
        self._manner = Manner(
            name,
            token,
            tuple(header.lower() for header in headers),
            BodyLimits(max_body, patience, max_body * _BODIES_AT_ONCE),
        )
        self._check()
        self._application: Application | None = None
        self._server: Server | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    def serve(self, intake: Intake) -> None:
        """Bind the port, and answer in a thread."""
        try:
            from holdfast.capture.http.otlp import Logs
            from holdfast.capture.http.server import Server
        except ImportError as error:
            raise MissingExtra(
                f"Source {self.name!r} needs a library that is not installed: {error.name}.",
                remedy="Install holdfast[http].",
            ) from error
        listener = self._bound()
        self._application = Application(self._manner, (Events(), Logs()), intake)
        self._server = Server(
            self._application,
            listener,
            patience=self._patience,
            connections=self._connections,
            failed=intake.failed,
        )
        self._server.start()

    def check_connection(self) -> None:
        """Bind the address and give it up again."""
        port = self._port
        self._bound().close()
        self._port = port

    def boundary(self) -> Boundary:
        """What came and what was answered since it was last served."""
        return Boundary() if self._application is None else self._application.boundary()

    def stop(self) -> None:
        """Answer what is there, and close the port."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _bound(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            listener = socket.create_server((self._host, self._port), family=family, backlog=self._connections)
        except OSError as error:
            raise SourceUnavailable(
                f"Source {self.name!r} cannot listen at {self.address}: {error}.",
                remedy="Let no other process use the port, or choose another; it is tried again by itself.",
                source=self.name,
            ) from error
        self._port = listener.getsockname()[1]
        # Handed on to every connection. Otherwise the second half of an answer waits for the client's word about the
        # first, for 40 ms: asyncio sees to it only where a socket names its protocol.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener

    def _check(self) -> None:
        manner = self._manner
        if not self._is_local() and manner.token is None:
            raise self._invalid(
                f"is bound to {self._host} and has no token", "Give it a token, or bind it to 127.0.0.1."
            )
        if secret := _SECRET & set(manner.headers):
            raise self._invalid(f"would keep the header {secret.pop()} in its events", "Choose other headers.")
        numbers = (manner.limits.nbytes, self._patience, self._connections, self.keys_kept)
        if min(numbers) <= 0 or self.linger < 0 or not 0 <= self._port <= 65535:
            raise self._invalid("has a limit of nothing, or no port", "Give limits from 1 on.")

    def _is_local(self) -> bool:
        if self._host == "localhost":
            return True
        try:
            return ip_address(self._host).is_loopback
        except ValueError:
            return False

    def _invalid(self, why: str, remedy: str) -> InvalidSource:
        return InvalidSource(f"Source {self.name!r} {why}.", remedy=remedy, source=self.name)
