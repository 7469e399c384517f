"""An edge for batches that are all alike: it waits, sheds or gives up in time, as its policy says.

Batches travel on it and items are counted, so a thousand items cost about as much as one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from holdfast.flow.buffer import Buffer
from holdfast.flow.channel import Channel
from holdfast.flow.policy import Backpressure, Credits, Shed, Timed
from holdfast.flow.ports import Dropped, EdgeStats
from holdfast.flow.telling import Drops
from holdfast.model.errors import InvalidFlowPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.flow.ports import DeadLetters

T = TypeVar("T")


class Edge(Channel[T]):
    """One edge.

    :param dead_letters: takes what had no room in time; a `Timed` edge needs it.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        policy: Backpressure | Shed | Timed | Credits,
        *,
        dead_letters: DeadLetters[T] | None = None,
    ) -> None:
        if isinstance(policy, Timed) and dead_letters is None:
            raise InvalidFlowPolicy(
                f"Edge {name!r} gives up after {policy.deadline} s, but nobody takes what it gives up.",
                remedy="Give the edge dead letters.",
                edge=name,
            )
        super().__init__(name)
        self.policy = policy
        self._dead_letters = dead_letters
        self._buffer: Buffer[T] = Buffer(capacity)
        self._drops = Drops(name, policy.name)

    async def send(self, batch: Sequence[T]) -> None:
        """Send a batch whole, or not at all when it is cancelled; without room, do as the policy says."""
        await self._send(batch, "")

    async def _send(self, batch: Sequence[T], source: str) -> None:
        self._refuse_when_closed()
        if isinstance(self.policy, Shed):
            self._shed(batch)
            return
        items = len(batch)
        if not self._turns.is_free(items):
            self._refuse_too_large(items, self._buffer.capacity)
            if not await self._has_room_in_time(items, source):
                self._give_up(batch)
                return
            self._refuse_when_closed()
        self._place(batch)

    async def _has_room_in_time(self, items: int, source: str) -> bool:
        if not isinstance(self.policy, Timed):
            await self._turns.wait(items, source)
            return True
        try:
            async with asyncio.timeout(self.policy.deadline):
                await self._turns.wait(items, source)
        except TimeoutError:
            return False
        return True

    def _shed(self, batch: Sequence[T]) -> None:
        fitting = min(len(batch), self._room())
        if fitting < len(batch):
            self._drops.dropped(len(batch) - fitting)
            batch = batch[:fitting]
        self._place(batch)

    def _give_up(self, batch: Sequence[T]) -> None:
        assert self._dead_letters is not None
        self._dead_letters(self.name, batch)
        self._drops.dropped(len(batch))

    def _place(self, batch: Sequence[T]) -> None:
        if len(batch):
            self._buffer.put(batch)
            self._news.set()
        self._turns.call()

    def handled(self) -> None:
        """The batch that was taken is done with: its room is free."""
        self._buffer.drop_head()
        self._turns.call()

    def stats(self) -> EdgeStats:
        """The edge now."""
        buffer = self._buffer
        return EdgeStats(
            self.name,
            self.policy.name,
            capacity=buffer.capacity,
            occupancy=buffer.occupancy,
            high_water=buffer.high_water,
            accepted=buffer.accepted,
            handled=buffer.handled,
            fullness=1.0 if self._turns else buffer.fullness,
            drops=(Dropped(self.policy.name, None, self._drops.count),),
        )

    def _head(self) -> Sequence[T] | None:
        return self._buffer.head if self._buffer else None

    def _room(self) -> int:
        return self._buffer.room
