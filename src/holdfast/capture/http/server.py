"""Runs the application in a thread of its own, on uvicorn with the parser of httptools. Needs the extra `http`.

Uvicorn runs any ASGI application, those that describe themselves with OpenAPI among them, and its parser is in C. It
waits for the head of a request for as long as its sender likes, and takes one of any size; both are bounded here.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable

    from holdfast.capture.http.application import Application

HEAD_BYTES = 2**16
_STOP_SECONDS = 5


class Server:
    """A server on a bound socket.

    :param patience: so many seconds a connection may take to send a head, or be idle.
    :param connections: while there are more, requests are answered with 503.
    """

    def __init__(
        self,
        application: Application,
        listener: socket.socket,
        *,
        patience: float,
        connections: int,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._application = application
        self._listener = listener
        self._failed = failed
        self._server = _Uvicorn(
            application,
            uvicorn.Config(
                application,
                http=_BoundedHeads,
                ws="none",
                loop="asyncio",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=connections + 1,
                timeout_keep_alive=patience,  # type: ignore[arg-type]
                timeout_graceful_shutdown=_STOP_SECONDS,
            ),
        )
        self._thread = threading.Thread(target=self._run, name="holdfast-http", daemon=True)

    def start(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests, answer those that are there, and close the socket."""
        self._server.should_exit = True
        self._thread.join()
        self._application.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except BaseException as error:  # a thread must not end without a word
            self._failed(error)
        finally:
            self._listener.close()


class _Uvicorn(uvicorn.Server):
    """Lets the application know when it stops: then it waits for no sender any more."""

    def __init__(self, application: Application, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._application.bodies.stop()
        await super().shutdown(sockets)


class _BoundedHeads(HttpToolsProtocol):
    """A connection whose heads are bounded in time and size: one that is not is closed."""

    _head_deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_deadline is not None and self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_is_there()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._head_deadline is None:
            self._head_bytes = 0
            self._head_deadline = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _head_is_there(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None
