"""Sends what was simulated over real sockets: datagrams of radar arrays, and beacons that are kept until settled."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from meridian.sensors.isl_frame import ACK_SIZE, acknowledged

if TYPE_CHECKING:
    from collections.abc import Iterable

Address = tuple[str, int]


def send_datagrams(address: Address, datagrams: Iterable[bytes]) -> int:
    """Send radar datagrams as fast as the socket takes them; how many they were. Nobody says whether they arrived."""
    count = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        for datagram in datagrams:
            with suppress(ConnectionRefusedError):  # what the last one met; radar does not care who listens
                sender.send(datagram)
            count += 1
    return count


class BeaconSender:
    """One sender of beacons: keeps every frame until the edge says that it is settled, and sends it again before."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.settled = 0
        """Frames that the edge has settled."""
        self._kept: deque[bytes] = deque()
        self._sent = 0
        """How many of the kept ones were sent over the present connection."""
        self._changed = asyncio.Event()

    @property
    def kept(self) -> int:
        """Frames that may have to be sent again."""
        return len(self._kept)

    def add(self, frames: Iterable[bytes]) -> None:
        """These are to be sent."""
        self._kept.extend(frames)
        self._changed.set()

    async def run(self, *, retry_pause: float = 0.05) -> None:
        """Send and listen for answers until cancelled; connect again whenever the connection ends."""
        while True:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._connected()
            await asyncio.sleep(retry_pause)

    async def until_settled(self) -> None:
        """Wait until nothing is kept any more."""
        while self._kept:
            self._changed.clear()
            await self._changed.wait()

    async def _connected(self) -> None:
        reader, writer = await asyncio.open_connection(*self.address)
        self._sent = 0
        sending = asyncio.create_task(self._send(writer))
        try:
            await self._listen(reader)
        finally:
            sending.cancel()
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await sending
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while True:
            while self._sent < len(self._kept):
                writer.write(self._kept[self._sent])
                self._sent += 1
                await writer.drain()
            self._changed.clear()
            await self._changed.wait()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        before = 0
        while True:
            settled = acknowledged(await reader.readexactly(ACK_SIZE))
            for _ in range(settled - before):
                self._kept.popleft()
            self._sent -= settled - before
            self.settled += settled - before
            before = settled
            self._changed.set()
