"""What all edges have in common: how they are received from, closed and looked at. How they are sent to is theirs.

A batch goes in whole after the last await of `send`, and leaves when the receiver comes back for the next: cancelling
either side at any await loses nothing and repeats nothing. Any number of senders, one receiver, one event loop.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast.flow.ports import Batches
from holdfast.flow.turns import Turns
from holdfast.model.errors import BatchTooLarge, EdgeClosed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from holdfast.flow.ports import EdgeStats

T = TypeVar("T")


class Channel(ABC, Generic[T]):
    """A bounded way from one operator to the next."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._turns = Turns(self._room)
        self._news = asyncio.Event()
        self._closed = False

    @abstractmethod
    async def send(self, batch: Sequence[T]) -> None:
        """Send a batch whole, or not at all when it is cancelled; without room, do as the policy says."""

    def close(self) -> None:
        """Nothing more is taken. What is in can still be received; whoever waits to send gets `EdgeClosed`."""
        self._closed = True
        self._news.set()
        self._turns.call_all()

    # The receiver's end

    def __aiter__(self) -> AsyncIterator[Sequence[T]]:
        return Batches(self)

    async def take(self) -> Sequence[T] | None:
        """The batch at the head, the same until it is `handled`; None when the edge is closed and empty."""
        while (head := self._head()) is None:
            if self._closed:
                return None
            self._news.clear()
            await self._news.wait()
        return head

    @abstractmethod
    def handled(self) -> None:
        """The batch that was taken is done with: its room is free."""

    # What it says about itself

    @property
    def is_drained(self) -> bool:
        """Whether it is closed and all is handled."""
        return self._closed and self._head() is None

    @abstractmethod
    def stats(self) -> EdgeStats:
        """The edge now."""

    # For the kinds of edges

    @abstractmethod
    def _head(self) -> Sequence[T] | None:
        """The batch that is in hand or next; None when there is none."""

    @abstractmethod
    def _room(self) -> int:
        """How many items fit for somebody who waits."""

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise EdgeClosed(
                f"Edge {self.name!r} is closed: its other end has ended.",
                kept="The batch is with its sender.",
                remedy="End as well; what ended the other side stands in its own line of the log.",
                edge=self.name,
            )

    def _refuse_too_large(self, items: int, capacity: int) -> None:
        if items > capacity:
            raise BatchTooLarge(
                f"A batch of {items} items cannot be sent on edge {self.name!r}, which holds {capacity}.",
                kept="The batch is with its sender.",
                remedy="Send smaller batches, or give the edge a larger capacity.",
                edge=self.name,
                items=items,
            )
