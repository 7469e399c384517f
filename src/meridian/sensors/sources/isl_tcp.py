"""Beacons of satellites over TCP: a server that answers with what is settled, and reads on only then.

Each connection has at most one piece of its stream under way. While that is not settled it is not read from, so its
sender's window closes: nothing is read ahead without bound. What the frames mean is the affair of `isl_frame`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.model.errors import SourceUnavailable
from meridian.sensors.isl_frame import FRAME_MAX, Splitter, ack, decode, framed
from meridian.sensors.observation import SourceKind
from meridian.sensors.source import ObservationSource, Taken

if TYPE_CHECKING:
    from meridian.sensors.screening import Screen
    from meridian.sensors.source import Nanoclock


@dataclass(slots=True, eq=False)
class _Piece:
    """The frames that came over one connection together, and who waits for them to be settled."""

    bodies: list[bytes]
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class IslTcp(ObservationSource):
    """The server that satellites, or the ground stations that relay them, connect to.

    :param most_connections: further ones are closed at once, and counted.
    """

    kind: ClassVar[SourceKind] = SourceKind.INTER_SATELLITE_LINK

    def __init__(
        self,
        name: str,
        address: tuple[str, int],
        screen: Screen,
        now_ns: Nanoclock,
        *,
        most_connections: int = 1024,
    ) -> None:
        super().__init__(name, screen)
        self._address = address
        self._now_ns = now_ns
        self._most = most_connections
        self._server: asyncio.Server | None = None
        self._waiting: list[_Piece] = []
        self._ready = asyncio.Event()
        self._is_stopping = False
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self._address

    @property
    def connections(self) -> int:
        """How many senders are connected."""
        return len(self._connections)

    @property
    def where(self) -> str:
        """The address as people write it."""
        return f"tcp://{self._address[0]}:{self._address[1]}"

    async def open(self) -> None:
        """Bind the port and let senders connect."""
        try:
            self._server = await asyncio.start_server(self._serve, *self._address, limit=FRAME_MAX)
        except OSError as error:
            raise SourceUnavailable(
                f"Source {self.name!r} cannot listen at {self.where}: {error}.",
                remedy="Let no other process use the port, or choose another in `isl.listen_addr`.",
                source=self.name,
            ) from error
        self._address = self._server.sockets[0].getsockname()[:2]

    async def next(self) -> Taken | None:
        """All frames that came over any connection and that nobody has taken yet."""
        while not self._waiting:
            if self._is_stopping:
                return None
            self._ready.clear()
            await self._ready.wait()
        pieces, self._waiting = self._waiting, []
        bodies = [body for piece in pieces for body in piece.bodies]
        now = self._now_ns()

        def settled() -> None:
            for piece in pieces:
                piece.settled.set()

        return Taken(self.screen(decode(bodies, now)), b"".join(map(framed, bodies)), now, settled=settled)

    def stop(self) -> None:
        """Let nobody connect any more; what was read is still given."""
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        self._ready.set()

    async def close(self) -> None:
        """Close all connections; what is settled was answered before."""
        self.stop()
        await asyncio.sleep(0)  # those whose piece was settled just now answer first
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > self._most or self._is_stopping:
                self.drops["connections"] += 1
            else:
                await self._receive(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # whoever sent keeps what was not answered, and sends it again
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter, settled = Splitter(), 0
        while not self._is_stopping and (data := await reader.read(FRAME_MAX)):
            bodies, oversized = splitter.feed(data)
            if bodies:
                await self._handed_over(bodies)
                settled += len(bodies)
                writer.write(ack(settled))
                await writer.drain()
            if oversized:
                self.drops["oversized"] += 1
                return

    async def _handed_over(self, bodies: list[bytes]) -> None:
        piece = _Piece(bodies)
        self._waiting.append(piece)
        self._ready.set()
        await piece.settled.wait()
