"""The way into a flow: numbers the values of a source and lets barriers in between them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast.checkpoint.operators.items import Barrier, End, Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checkpoint.operators.credits import Edge
    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.items import Offset, Source

T = TypeVar("T")


class SourceFeed(Generic[T]):
    """Sends what a source gives to every edge that hangs on it.

    A source that is read goes through `read_all`; whoever receives by itself pushes from `start` on, then closes.
    """

    def __init__(self, name: str, edges: Sequence[Edge[T]], start: ReplayFrom) -> None:
        self.name = name
        self._edges = tuple(edges)
        self.start = start
        self._next_seq = start.next_seq
        self._one_at_a_time = asyncio.Lock()
        self._closed = asyncio.Event()

    async def read_all(self, source: Source[T]) -> None:
        """Send everything that the source has behind the starting point."""
        async with aclosing(source.read(self.start.after)) as reading:
            async for value, offset in reading:
                await self.push(value, offset)
        self.close()

    async def push(self, value: T, offset: Offset) -> None:
        """Send one value; waits for credits."""
        async with self._one_at_a_time:
            seq = self._next_seq
            self._next_seq += 1
            for edge in self._edges:
                await edge.send(Item(edge.name, seq, value, offset))

    def close(self) -> None:
        """Nothing more will be pushed. Barriers may still pass, so that the last snapshot covers everything."""
        self._closed.set()

    async def closed(self) -> None:
        """Wait until nothing more will be pushed."""
        await self._closed.wait()

    async def barrier(self, barrier: Barrier) -> None:
        """Send a barrier behind everything that was pushed."""
        async with self._one_at_a_time:
            for edge in self._edges:
                await edge.send(barrier)

    async def end(self) -> None:
        """Let the operators end: nothing follows, no barrier either."""
        async with self._one_at_a_time:
            for edge in self._edges:
                await edge.send(End())
