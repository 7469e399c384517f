"""The servers of the benchmark of pushes, each in a process of its own: python -m bench._http_servers KIND DIRECTORY.

`ours` is the HTTP source with its inbox. The others are bare: the same server library takes the body and appends it to
a file, which is synced once for all that came within an interval (`grouped`), or once for each request (`each`). Prints
the port, and ends when its input does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from holdfast.capture import HttpPush, Reception
from holdfast.log import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINGER = HttpPush().linger


@contextmanager
def ours(directory: Path) -> Iterator[int]:
    """The source as it is."""
    source = HttpPush(port=_free_port())
    with Inbox.open(directory / "inbox", name=source.name, epoch=1, flush_interval=source.linger) as inbox:
        reception = Reception(source, inbox, failed=lambda error: print(error, file=sys.stderr))
        reception.start()
        yield int(source.address.rpartition(":")[2])
        reception.stop()


class Grouped:
    """A file that is synced for all that came meanwhile."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._waiting: list[tuple[bytes, asyncio.Future[None], asyncio.AbstractEventLoop]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    async def append(self, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        with self._changed:
            self._waiting.append((body, done, loop))
            self._changed.notify()
        await done

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
            time.sleep(LINGER)
            with self._changed:
                group, self._waiting = self._waiting, []
            self._file.write(b"".join(body for body, _, _ in group))
            os.fsync(self._file.fileno())
            group[0][2].call_soon_threadsafe(self._answer, [done for _, done, _ in group])

    @staticmethod
    def _answer(waiting: list[asyncio.Future[None]]) -> None:
        for done in waiting:
            done.set_result(None)


class Each:
    """A file that is synced for each request."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    async def append(self, body: bytes) -> None:
        self._file.write(body)
        os.fsync(self._file.fileno())


@contextmanager
def bare(make: Callable[[Path], Grouped | Each], directory: Path) -> Iterator[int]:
    """The same library with nothing around it."""
    store = make(directory / "bodies")

    async def application(_: object, receive: Callable[[], Any], send: Callable[[object], Any]) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        await store.append(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        application, http="httptools", loop="asyncio", lifespan="off", log_config=None, access_log=False
    )
    threading.Thread(target=uvicorn.Server(config).run, args=([listener],), daemon=True).start()
    yield listener.getsockname()[1]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(kind: str, directory: str) -> None:
    """Serve until the input ends."""
    place = Path(directory)
    serving = {
        "ours": lambda: ours(place),
        "grouped": lambda: bare(Grouped, place),
        "each": lambda: bare(Each, place),
    }[kind]()
    with serving as port:
        print(port, flush=True)
        sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
