"""Operators that bring several edges into one, or one into several. They change nothing, and lose nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.flow.ports import Inlet, Outlet

T = TypeVar("T")


async def merge(inlets: Sequence[Inlet[T]], outlet: Outlet[T]) -> None:
    """All that comes, in the order in which it comes; what waits for the outlet gets its turn. Ends when all ended."""
    async with asyncio.TaskGroup() as group:
        for inlet in inlets:
            group.create_task(_forward(inlet, outlet))


async def _forward(inlet: Inlet[T], outlet: Outlet[T]) -> None:
    async for batch in inlet:
        await outlet.send(batch)


class CopyToAll:
    """Each batch to every outlet, in their order; the slowest one that makes its sender wait sets the pace.

    Made once for a graph: it knows which outlets have the batch in hand, so that one that was cancelled or failed on
    the way goes on with the others when it is started again.
    """

    def __init__(self) -> None:
        self._reached = 0

    async def __call__(self, inlet: Inlet[T], outlets: Sequence[Outlet[T]]) -> None:
        """Copy until the inlet ends."""
        async for batch in inlet:
            for outlet in outlets[self._reached :]:
                await outlet.send(batch)
                self._reached += 1
            self._reached = 0
