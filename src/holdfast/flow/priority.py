"""An edge on which high priority goes first, and low priority is what is shed.

Each priority has a room of its own. What is of high priority waits for room there and is never shed. What is of low
priority never waits: it is let in while it fits and the whole edge stands below its high-water mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from holdfast.flow.buffer import Buffer
from holdfast.flow.channel import Channel
from holdfast.flow.policy import ByPriority, Priority
from holdfast.flow.ports import Dropped, EdgeStats
from holdfast.flow.telling import Drops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


class PriorityEdge(Channel[T]):
    """One edge with two priorities. Batches are divided; items of one priority keep their order."""

    def __init__(self, name: str, capacity: int, policy: ByPriority) -> None:
        super().__init__(name)
        self.policy = policy
        self._priority_of = cast("Callable[[T], Priority]", policy.priority_of)
        low = max(1, round(capacity * policy.low_share))
        self._high: Buffer[T] = Buffer(capacity - low)
        self._low: Buffer[T] = Buffer(low)
        self._mark = int(capacity * policy.high_water)
        self._in_hand: Buffer[T] | None = None
        self._drops = Drops(name, policy.name)
        self._decisions = dict.fromkeys(Priority, 0)
        self._high_water = 0

    async def send(self, batch: Sequence[T]) -> None:
        """Send a batch: what is of high priority whole, or nothing at all when it is cancelled."""
        self._refuse_when_closed()
        priorities = [self._priority_of(item) for item in batch]
        high = [item for item, priority in zip(batch, priorities, strict=True) if priority is Priority.HIGH]
        low = [item for item, priority in zip(batch, priorities, strict=True) if priority is Priority.LOW]
        if high and not self._turns.is_free(len(high)):
            self._refuse_too_large(len(high), self._high.capacity)
            await self._turns.wait(len(high))
            self._refuse_when_closed()
        self._place(high, low)

    def _place(self, high: list[T], low: list[T]) -> None:
        self._decisions[Priority.HIGH] += len(high)
        self._decisions[Priority.LOW] += len(low)
        if high:
            self._high.put(high)
        if low:
            self._shed(low)
        self._high_water = max(self._high_water, self._occupancy)
        self._news.set()
        self._turns.call()

    def _shed(self, low: list[T]) -> None:
        fitting = max(0, min(len(low), self._low.room, self._mark - self._occupancy))
        if fitting:
            self._low.put(low[:fitting])
        if fitting < len(low):
            self._drops.dropped(len(low) - fitting)

    def handled(self) -> None:
        """The batch that was taken is done with: its room is free."""
        assert self._in_hand is not None, "nothing is in hand"
        self._in_hand.drop_head()
        self._in_hand = None
        self._turns.call()

    @property
    def decisions(self) -> Mapping[Priority, int]:
        """How many items were found to be of each priority, shed or not."""
        return dict(self._decisions)

    def stats(self) -> EdgeStats:
        """The edge now."""
        return EdgeStats(
            self.name,
            self.policy.name,
            capacity=self._high.capacity + self._low.capacity,
            occupancy=self._occupancy,
            high_water=self._high_water,
            accepted=self._high.accepted + self._low.accepted,
            handled=self._high.handled + self._low.handled,
            fullness=1.0 if self._turns else max(self._high.fullness, self._low.fullness),
            drops=(
                Dropped(self.policy.name, Priority.HIGH, self._decisions[Priority.HIGH] - self._high.accepted),
                Dropped(self.policy.name, Priority.LOW, self._drops.count),
            ),
        )

    @property
    def _occupancy(self) -> int:
        return self._high.occupancy + self._low.occupancy

    def _head(self) -> Sequence[T] | None:
        return None if (buffer := self._in_hand or self._next()) is None else buffer.head

    def _next(self) -> Buffer[T] | None:
        return self._high if self._high else self._low if self._low else None

    async def take(self) -> Sequence[T] | None:
        """The oldest batch of high priority, or of low when there is none; the same until it is `handled`."""
        batch = await super().take()
        if self._in_hand is None:
            self._in_hand = self._next()
        return batch

    def _room(self) -> int:
        return self._high.room
