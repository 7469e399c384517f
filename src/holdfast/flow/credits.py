"""An edge on which the receiver decides how much may be under way: nothing is sent without a credit for each item.

A credit comes back after its item is processed, not when it is received, so never more is under way than was granted.
The receiver may lend out several batches at once, to a pool or another loop, and may withhold what comes back, as while
it flushes a checkpoint: credits that are out may still be spent, then the senders stand still. Sources that wait get
the credits in turn, so a fast one does not starve a slow one.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast.flow.edge import Edge
from holdfast.flow.telling import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from holdfast.flow.policy import Credits
    from holdfast.flow.ports import EdgeStats

T = TypeVar("T")


class CreditEdge(Edge[T]):
    """One edge with credits.

    :param granted: how many items may be under way.
    """

    def __init__(self, name: str, granted: int, policy: Credits) -> None:
        super().__init__(name, granted, policy)
        self.granted = granted
        self._lent = 0
        self._kept_back = 0
        self._withheld = False
        self.lost = 0
        """Credits that were lent and never came back."""

    # The senders' end

    @property
    def credits(self) -> int:
        """How many items may be sent now."""
        return self._room()

    def sender(self, source: str) -> Sender[T]:
        """The end of one source. Sources that wait get credits in turn."""
        return Sender(self._send, source)

    # The receiver's end

    async def lend(self) -> Loan[T] | None:
        """The next batch, to be settled when it is processed; None when the edge is closed and empty.

        Loans are for a receiver that processes several batches at once. One batch at a time is what iterating is for.
        """
        batch = await self.take()
        if batch is None:
            return None
        self._lent += self._buffer.drop_head()
        return Loan(self, batch)

    def withhold(self) -> None:
        """Keep back the credits that would return from now on."""
        self._withheld = True

    def release(self) -> None:
        """Return what was kept back, and go on."""
        self._withheld = False
        self._return(0)

    def handled(self) -> None:
        """The batch that was taken is processed: its credits return."""
        self._return(self._buffer.drop_head())

    def settle(self, items: int) -> None:
        """So many items that were lent are processed."""
        self._lent -= items
        self._return(items)

    def take_back(self, batch: Sequence[T]) -> None:
        """A batch that was lent is not processed: it is next again."""
        self._lent -= len(batch)
        self._buffer.put_back(batch)
        self._news.set()

    def lose(self, items: int) -> None:
        """Somebody forgot a loan: its credits stay out, so that the leak shows as senders that stop."""
        self.lost += items
        tell("credits lost", logging.ERROR, edge=self.name, items=items, lost=self.lost)

    def stats(self) -> EdgeStats:
        """The edge now; what is lent is still on it."""
        stats = super().stats()
        return replace(stats, occupancy=stats.occupancy + self._lent, handled=stats.handled - self._lent)

    def _return(self, items: int) -> None:
        self._kept_back += items
        if not self._withheld:
            self._kept_back = 0
            self._turns.call()

    def _room(self) -> int:
        return self._buffer.room - self._lent - self._kept_back


class Sender(Generic[T]):
    """What one source sends to."""

    def __init__(self, send: Callable[[Sequence[T], str], Coroutine[None, None, None]], source: str) -> None:
        self._send = send
        self._source = source

    async def send(self, batch: Sequence[T]) -> None:
        """Send a batch whole, or not at all when it is cancelled; waits for credits."""
        await self._send(batch, self._source)


class Loan(Generic[T]):
    """A batch that is being processed. Settled once, by `with` or by hand; a loan that is forgotten is told of.

    A `with` that is left by an error, or cancelled, gives the batch back: it is the next to be lent.
    """

    def __init__(self, edge: CreditEdge[T], batch: Sequence[T]) -> None:
        self._edge = edge
        self.batch = batch
        self._is_settled = False

    def settle(self) -> None:
        """The batch is processed. A second time changes nothing."""
        if not self._is_settled:
            self._is_settled = True
            self._edge.settle(len(self.batch))

    def __enter__(self) -> Sequence[T]:
        return self.batch

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.settle()
        elif not self._is_settled:
            self._is_settled = True
            self._edge.take_back(self.batch)

    def __del__(self) -> None:
        if not self._is_settled:
            self._edge.lose(len(self.batch))
