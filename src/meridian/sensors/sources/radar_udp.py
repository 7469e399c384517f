"""Radar frames over UDP: many datagrams a wake-up, and what the kernel had to drop.

Nobody waits for an answer, so nothing here can slow the arrays down: when we do not read, the kernel drops, and says
with the next datagram how many. What the frames mean is the affair of `radar_frame`.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from holdfast.model.errors import SourceUnavailable
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import DATAGRAM_MAX, FRAME_SIZE, decode, is_whole
from meridian.sensors.source import ObservationSource, Taken

if TYPE_CHECKING:
    from meridian.sensors.screening import Screen
    from meridian.sensors.source import Nanoclock

RECEIVE_BUFFER = 4 * 2**20
_SO_RXQ_OVFL = 40
"""Linux's option that lets each datagram say how many were dropped before it; Python has no name for it."""
_COUNT = struct.Struct("=I")
_SO_MEMINFO, _MEMINFO, _DROPS = 55, struct.Struct("=9I"), 8
"""Linux's option that tells what a socket holds and has dropped, and where in the answer that stands."""
_WRAPS_AT = 2**32


class RadarUdp(ObservationSource):
    """The socket that the arrays of one address send to.

    :param linger: how many seconds datagrams gather after the first, so that they are taken in together.
    :param most: at most so many frames are taken in together.
    """

    kind: ClassVar[SourceKind] = SourceKind.RADAR

    def __init__(
        self,
        name: str,
        address: tuple[str, int],
        screen: Screen,
        now_ns: Nanoclock,
        *,
        linger: float = 0.01,
        most: int = 8192,
        receive_buffer: int = RECEIVE_BUFFER,
    ) -> None:
        super().__init__(name, screen)
        self._address = address
        self._now_ns = now_ns
        self._linger = linger
        self._room = memoryview(bytearray(most * FRAME_SIZE + DATAGRAM_MAX))
        self._receive_buffer = receive_buffer
        self._socket: socket.socket | None = None
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._overflow = 0

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self._address

    @property
    def where(self) -> str:
        """The address as people write it."""
        return f"udp://{self._address[0]}:{self._address[1]}"

    async def open(self) -> None:
        """Bind the socket."""
        try:
            self._socket = self._bound()
        except OSError as error:
            raise SourceUnavailable(
                f"Source {self.name!r} cannot listen at {self.where}: {error}.",
                remedy="Let no other process use the port, or choose another in `radar.bind_addrs`.",
                source=self.name,
            ) from error
        self._address = self._socket.getsockname()[:2]

    async def next(self) -> Taken | None:
        """The frames of all datagrams that are there, once there is one."""
        while True:
            if not self._is_stopping:
                await self._readable()
                await asyncio.sleep(self._linger)
            if data := self._receive():
                now = self._now_ns()
                return Taken(self.screen(decode(data, now)), data, now)
            if self._is_stopping:
                self._count_last_drops()
                return None

    def stop(self) -> None:
        """Wait for no further datagram; those that the kernel holds are still taken."""
        self._is_stopping = True
        self._wake.set()

    async def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _bound(self) -> socket.socket:
        found = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        bound = socket.socket(family, socket.SOCK_DGRAM)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
            bound.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
        return bound

    async def _readable(self) -> None:
        assert self._socket is not None, "the source is not open"
        loop, descriptor = asyncio.get_running_loop(), self._socket.fileno()
        self._wake.clear()
        loop.add_reader(descriptor, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            loop.remove_reader(descriptor)

    def _receive(self) -> bytes:
        """The frames of the datagrams that are there now, one behind the other."""
        filled = self._receive_first()
        if filled is None:
            return b""
        assert self._socket is not None
        receive, room = self._socket.recv_into, self._room
        last = len(room) - DATAGRAM_MAX
        try:
            while filled <= last:
                filled += self._whole(receive(room[filled : filled + DATAGRAM_MAX], 0, socket.MSG_TRUNC))
        except OSError:  # there is no more, or the socket fails: that the next call meets, and nothing is lost by it
            pass
        return bytes(room[:filled])

    def _receive_first(self) -> int | None:
        """Of the first datagram, the size and what it says of the kernel's drops; None when there is none.

        Only the first is asked: to ask every datagram costs as much again as to receive it.
        """
        assert self._socket is not None
        try:
            size, told, *_ = self._socket.recvmsg_into(
                [self._room[:DATAGRAM_MAX]], socket.CMSG_SPACE(_COUNT.size), socket.MSG_TRUNC
            )
        except BlockingIOError:
            return None
        for level, kind, data in told:
            if (level, kind) == (socket.SOL_SOCKET, _SO_RXQ_OVFL):
                self._note_overflow(*_COUNT.unpack(data[: _COUNT.size]))
        return self._whole(size)

    def _count_last_drops(self) -> None:
        """What was dropped behind the last datagram no datagram tells any more; the socket does, on Linux from 4.12."""
        assert self._socket is not None
        with suppress(OSError):
            told = self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
            self._note_overflow(_MEMINFO.unpack(told)[_DROPS])

    def _note_overflow(self, count: int) -> None:
        self.drops["kernel"] += (count - self._overflow) % _WRAPS_AT
        self._overflow = count

    def _whole(self, size: int) -> int:
        """The size of a datagram of whole frames; 0 for another, which is dropped and counted."""
        if is_whole(size):
            return size
        self.drops["wrong_size"] += 1
        return 0
