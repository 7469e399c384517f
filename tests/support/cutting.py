"""A TCP relay between a client and a server that can be cut: at once, or at the moment a word passes through it."""

from __future__ import annotations

import socket
from contextlib import suppress
from enum import Enum
from threading import Lock, Thread
from typing import Self


class Cut(Enum):
    """When the connection breaks, for a word on its way to the server or in its answer."""

    BEFORE = "the server never sees the word"
    AFTER = "the server has done what the word asks, but its answer, which repeats the word, is lost"


class Relay:
    """Forwards connections to `host:port` until it is told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lock = Lock()
        self._links: set[tuple[socket.socket, socket.socket]] = set()
        self._armed: tuple[bytes, Cut] | None = None
        self._is_down = False
        Thread(target=self._accept, daemon=True).start()

    def cut_at(self, word: bytes, when: Cut) -> None:
        """Break the connection on which `word` passes next, once."""
        self._armed = (word, when)

    def go_down(self) -> None:
        """Break every connection and refuse new ones, as a dead server does."""
        self._is_down = True
        self._break_all()

    def come_up(self) -> None:
        """Forward new connections again."""
        self._is_down = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_down()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._is_down:
                    client.close()
                    continue
                server = socket.create_connection(self._target)
                with self._lock:
                    self._links.add((client, server))
                Thread(target=self._pump, args=(client, server, Cut.BEFORE), daemon=True).start()
                Thread(target=self._pump, args=(server, client, Cut.AFTER), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, side: Cut) -> None:
        """Forward one direction; each of the two moments of a cut belongs to one."""
        with suppress(OSError):
            while data := source.recv(65536):
                if self._armed is not None and self._armed[1] is side and self._armed[0] in data:
                    self._armed = None
                    break
                target.sendall(data)
        _break(source, target)

    def _break_all(self) -> None:
        with self._lock:
            links, self._links = self._links, set()
        for link in links:
            _break(*link)


def _break(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
