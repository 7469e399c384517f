"""Reads the bodies of requests, with a bound on everything: the size of each, its time, and the size of all together.

A body that is refused is not read to its end, but neither is the connection cut at once: a sender that is still writing
would find its connection broken instead of the answer. So twice as much as is allowed is read, and what of it is too
much is thrown away; then it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from holdfast.capture.http.gunzip import Gunzip
from holdfast.model.errors import PushRefused, PushTooLarge, PushTooSlow, ReceiverBusy, ReceiverStopping

Receive = Callable[[], Awaitable[dict[str, Any]]]
"""Gives the next message of a request, as ASGI has it."""


class SenderGone(Exception):
    """The connection was closed before the body was there: nobody waits for an answer."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """What bodies may be."""

    nbytes: int
    """Of one, as sent and once unpacked."""
    seconds: float
    """From its first byte to its last."""
    nbytes_at_once: int
    """Of all that are in memory."""


class Bodies:
    """All bodies that are being read. Used by the thread of the server."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        self.received = 0
        """Bytes of all there ever were, as sent."""
        self._held = 0
        self._is_stopping = False
        self._deadlines: set[asyncio.Timeout] = set()

    def hold(self, nbytes: int) -> None:
        """Keep so much more in memory; `ReceiverBusy` when that is too much."""
        if self._held + nbytes > self.limits.nbytes_at_once:
            raise ReceiverBusy(
                f"Bodies of {self._held} bytes are being taken in, and no more than {self.limits.nbytes_at_once} are.",
                remedy="Push again in a moment, or less at once.",
            )
        self._held += nbytes

    def let_go(self, nbytes: int) -> None:
        """So much is not in memory any more."""
        self._held -= nbytes

    def stop(self) -> None:
        """Wait for no sender any more."""
        self._is_stopping = True
        for deadline in self._deadlines:
            if not deadline.expired():
                deadline.reschedule(0)

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """What is done within must end in time: `PushTooSlow`, or `ReceiverStopping` when nobody waits any more."""
        deadline = asyncio.timeout(0 if self._is_stopping else self.limits.seconds)
        self._deadlines.add(deadline)
        try:
            async with deadline:
                yield
        except TimeoutError:
            raise self._late() from None
        finally:
            self._deadlines.discard(deadline)

    def _late(self) -> PushRefused:
        if self._is_stopping:
            return ReceiverStopping("The pipeline is stopping.", remedy="Push again when it runs.")
        return PushTooSlow(
            f"The body was not there within {self.limits.seconds:g} s.", remedy="Send it faster, or less at once."
        )


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive, bodies: Bodies) -> None:
        self._receive = receive
        self._bodies = bodies
        self._limit = bodies.limits.nbytes
        self._held = 0
        self.received = 0
        """Bytes, as sent."""
        self.is_over = False
        """Whether it was read to its end."""

    async def read(self, *, declared: int | None, is_gzip: bool) -> bytes:
        """All of it, unpacked.

        :param declared: how many bytes its sender says it has.
        """
        if declared is not None and declared > self._limit:
            raise self._too_large()
        gunzip = Gunzip(self._limit) if is_gzip else None
        pieces: list[bytes] = []
        async with self._bodies.in_time():
            while not self.is_over:
                piece = await self._next()
                if self.received > self._limit:
                    raise self._too_large()
                pieces.append(self._hold(piece if gunzip is None else gunzip.feed(piece)))
        if gunzip is not None:
            gunzip.finish()
        return b"".join(pieces)

    async def discard(self) -> None:
        """Read on for a while, for nothing: so that its sender comes to read the answer."""
        with suppress(PushRefused, SenderGone):
            async with self._bodies.in_time():
                while not self.is_over and self.received < 2 * self._limit:
                    await self._next()

    def let_go(self) -> None:
        """It is not needed any more."""
        self._bodies.let_go(self._held)
        self._held = 0

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise SenderGone
        piece: bytes = message.get("body", b"")
        self.received += len(piece)
        self._bodies.received += len(piece)
        self.is_over = not message.get("more_body", False)
        return piece

    def _hold(self, piece: bytes) -> bytes:
        self._bodies.hold(len(piece))
        self._held += len(piece)
        return piece

    def _too_large(self) -> PushTooLarge:
        return PushTooLarge(f"The body is larger than {self._limit} bytes.", remedy="Send it in several requests.")
