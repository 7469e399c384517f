"""The two ends of an edge, as an operator sees them, and what an edge says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.flow.policy import Priority

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

STRETCH = 128
"""Items that a receiver handles before it lets the others go on."""

DeadLetters: TypeAlias = Callable[[str, Sequence[T]], None]
"""Given the edge and a batch that had no room in time. It is responsible for the batch once it has returned."""


class Inlet(Protocol[T_co]):
    """Where an operator receives."""

    def __aiter__(self) -> AsyncIterator[Sequence[T_co]]:
        """The batches until the other end has closed and all is handled.

        A batch is handled when the next one is asked for. If the operator ends, fails or is cancelled before that, the
        next one to iterate gets it again.
        """


class Outlet(Protocol[T_contra]):
    """Where an operator sends."""

    async def send(self, batch: Sequence[T_contra]) -> None:
        """Send a batch whole, or not at all when it is cancelled: the policy says what happens without room."""


class Receives(Protocol[T_co]):
    """What can be taken from, and told that it is done with."""

    async def take(self) -> Sequence[T_co] | None:
        """The batch at the head; None at the end."""

    def handled(self) -> None:
        """The batch that was taken is done with."""


class Batches(Generic[T]):
    """The batches of an edge; asking for the next one says that the one before is handled.

    Now and then it lets the others go on. Without that an operator that always finds a batch, and room for what it
    sends, would fill an edge that sheds before its receiver had a chance.
    """

    __slots__ = ("_edge", "_has_one", "_since_rest")

    def __init__(self, edge: Receives[T]) -> None:
        self._edge = edge
        self._has_one = False
        self._since_rest = 0

    def __aiter__(self) -> Batches[T]:
        return self

    async def __anext__(self) -> Sequence[T]:
        if self._has_one:
            self._has_one = False
            self._edge.handled()
        if self._since_rest >= STRETCH:
            self._since_rest = 0
            await asyncio.sleep(0)
        batch = await self._edge.take()
        if batch is None:
            raise StopAsyncIteration
        self._since_rest += len(batch)
        self._has_one = True
        return batch


@dataclass(frozen=True, slots=True)
class Dropped:
    """Items that an edge did not take."""

    policy: str
    priority: Priority | None
    items: int


@dataclass(frozen=True, slots=True)
class EdgeStats:
    """An edge at one moment, in items."""

    edge: str
    policy: str
    capacity: int
    occupancy: int
    high_water: int
    accepted: int
    handled: int
    fullness: float
    """The share of its tightest room that is taken; all of it while somebody waits, for whom what is left is too
    little."""
    drops: tuple[Dropped, ...] = ()

    @property
    def dropped(self) -> int:
        """Items that were not taken, whatever their priority."""
        return sum(drop.items for drop in self.drops)
