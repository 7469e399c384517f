"""The control socket of a pipeline: a Unix socket in its directory that only the owner's user may open.

One request a connection, one line of JSON each way, bounded in size, number and time. Who serves owns the directory,
so a socket that is found there is a left-over.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.control.values import plain, told
from holdfast.model.errors import ControlMismatch, ControlUnavailable, HoldfastError, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = logging.getLogger("holdfast")

FILE = "control.sock"
VERSION = 1
MOST_BYTES = 4 << 20
"""How long a line may be."""
_LONGEST_ADDRESS = 100
_MOST_CONNECTIONS = 16
_PATIENCE = 5.0


@contextmanager
def address(directory: Path) -> Iterator[str]:
    """The address of the socket in a directory, however long the path to it is."""
    path = str(directory / FILE)
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    if not sys.platform.startswith("linux"):
        raise ControlUnavailable(
            f"The path {path} is too long for a socket.", remedy="Give the pipeline a directory with a shorter path."
        )
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{FILE}"
    finally:
        os.close(handle)


class ControlSocket:
    """Answers requests until it is closed, each in a thread of its own.

    :param ask: does what a request names.
    """

    def __init__(self, directory: Path, ask: Callable[[str, Mapping[str, object]], object]) -> None:
        self._path = directory / FILE
        self._ask = ask
        self._slots = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._busy: set[threading.Thread] = set()
        self._is_closed = False
        self._listening = self._bound(directory)
        self._inode = self._path.stat().st_ino
        self._thread = threading.Thread(target=self._accept, name="control", daemon=True)
        self._thread.start()

    def close(self, patience: float = 2.0) -> None:
        """Let the answers that are under way go out, and serve no more."""
        for thread in list(self._busy):
            thread.join(patience)
        self._is_closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(patience)
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def _bound(self, directory: Path) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.unlink(missing_ok=True)
            with address(directory) as where:
                listening.bind(where)
            self._path.chmod(0o600)  # before it listens, so nobody else was let in
            listening.listen(_MOST_CONNECTIONS)
        except OSError as error:
            listening.close()
            raise ControlUnavailable(
                f"The control socket {self._path} cannot be made: {error.strerror}.",
                remedy="Let the pipeline's directory be on a local disk that this user may write to.",
            ) from error
        return listening

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if not self._slots.acquire(blocking=False):
                connection.close()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="control-request", daemon=True)
            self._busy.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                connection.settimeout(_PATIENCE)
                send(connection, self._answer(connection))
        finally:
            self._slots.release()
            self._busy.discard(threading.current_thread())

    def _answer(self, connection: socket.socket) -> dict[str, object]:
        try:
            request = receive(connection)
            what, given = request.get("ask"), request.get("with", {})
            if not isinstance(what, str) or not isinstance(given, dict):
                raise InvalidRequest("The request names nothing to do.", remedy="Upgrade both ends.")
            connection.settimeout(None)
            return {"answer": plain(self._ask(what, given))}
        except HoldfastError as error:
            return {"error": told(error)}
        except Exception as error:  # whoever asks is told, and the pipeline goes on
            log.exception("a request to the pipeline failed")
            unforeseen = ControlUnavailable(
                f"The request failed: {error!r}.",
                remedy="Report it with the stack, which is in the log of the run: `log/holdfast.log` by default.",
            )
            return {"error": told(unforeseen)}


def send(connection: socket.socket, message: Mapping[str, object]) -> None:
    """One line."""
    line = json.dumps({"version": VERSION, **message}).encode() + b"\n"
    if len(line) > MOST_BYTES:
        refused = InvalidRequest("The message is too long.", remedy="Ask for less at once.")
        line = json.dumps({"version": VERSION, "error": told(refused)}).encode() + b"\n"
    connection.sendall(line)


def receive(connection: socket.socket) -> dict[str, object]:
    """The one line that the other end sends; `ControlMismatch` when it is of another version."""
    line = bytearray()
    while not line.endswith(b"\n"):
        received = connection.recv(65536)
        if not received or len(line) + len(received) > MOST_BYTES:
            raise ControlUnavailable(
                "The other end sent too much." if received else "The other end hung up.", remedy="Try again."
            )
        line += received
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or message.get("version") != VERSION:
        theirs = message.get("version") if isinstance(message, dict) else "none"
        raise ControlMismatch(
            f"The other end speaks version {theirs} of the control protocol, and this one version {VERSION}.",
            remedy="Use the command of the version that runs the pipeline.",
        )
    return message
