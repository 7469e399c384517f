"""Batches in the order they came, counted by their items and never more than the capacity. No waiting, no policy.

The batch at its head can be taken in hand. It keeps its place, and its room, until it is handled: whoever takes again
before that gets the same one. So a receiver that dies with a batch in hand has lost nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Buffer(Generic[T]):
    """The content of an edge, or of one priority of it."""

    __slots__ = ("_batches", "accepted", "capacity", "handled", "high_water")

    def __init__(self, capacity: int) -> None:
        self._batches: deque[Sequence[T]] = deque()
        self.capacity = capacity
        self.accepted = 0
        """Items that came in, ever."""
        self.handled = 0
        """Items that are done with, ever."""
        self.high_water = 0
        """The most items that were in at once."""

    @property
    def occupancy(self) -> int:
        """Items that are in now, in hand or not."""
        return self.accepted - self.handled

    @property
    def room(self) -> int:
        """Items that fit now."""
        return self.capacity - self.accepted + self.handled

    @property
    def fullness(self) -> float:
        """The share of the capacity that is taken."""
        return self.occupancy / self.capacity

    def __bool__(self) -> bool:
        return bool(self._batches)

    def put(self, batch: Sequence[T]) -> None:
        """Take a batch in behind the others."""
        assert len(batch) <= self.room, "a batch was let in for which there is no room"
        self._batches.append(batch)
        self.accepted += len(batch)
        self.high_water = max(self.high_water, self.accepted - self.handled)

    def put_back(self, batch: Sequence[T]) -> None:
        """Take a batch in again that was dropped from the head, in front of the others."""
        self._batches.appendleft(batch)
        self.handled -= len(batch)

    @property
    def head(self) -> Sequence[T]:
        """The batch that is next, or in hand."""
        return self._batches[0]

    def drop_head(self) -> int:
        """The head is handled; returns how many items it had."""
        items = len(self._batches.popleft())
        self.handled += items
        return items
