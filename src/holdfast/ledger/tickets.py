"""The right to do one thing with one batch on one lane, as types.

`Queued` can only be sent. `Sending` can only be answered. A `Queued` may be dropped: the ledger hands it out again. A
`Sending` that is dropped without an outcome is noticed and reported, because then nobody knows what the sink did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.ledger.lane import Lane


class Desk(Protocol):
    """Where a ticket is handed in: the ledger, as tickets see it."""

    def begin(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The batch is being sent."""

    def acked(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The sink has the batch."""

    def failed(self, lane: Lane, oseq: int, attempt: int) -> int:
        """The attempt failed; returns the number of the next one."""

    def holding(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The batch is parked."""

    def rejecting(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The sink will never take the batch."""

    def dead_lettered(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The rejected rows are durable."""


class _Ticket:
    __slots__ = ("_desk", "_lane", "attempt", "oseq")

    def __init__(self, desk: Desk, lane: Lane, oseq: int, attempt: int) -> None:
        self._desk = desk
        self._lane = lane
        self.oseq = oseq
        self.attempt = attempt

    @property
    def lane(self) -> str:
        """The name of the lane."""
        return self._lane.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lane={self._lane.name!r}, oseq={self.oseq}, attempt={self.attempt})"


class Queued(_Ticket):
    """A batch that may be sent. It has no outcome yet, and dropping it changes nothing."""

    __slots__ = ()

    def send(self) -> Sending:
        """Start the attempt. From here an outcome is owed."""
        self._desk.begin(self._lane, self.oseq, self.attempt)
        return Sending(self._desk, self._lane, self.oseq, self.attempt)


class Sending(_Ticket):
    """A batch on its way to the sink. Exactly one of its methods must be called, once."""

    __slots__ = ()

    def ack(self) -> None:
        """The sink has the batch, durably."""
        self._desk.acked(self._lane, self.oseq, self.attempt)

    def fail(self) -> Queued:
        """A passing failure: the cursor stays, the batch may be sent again."""
        attempt = self._desk.failed(self._lane, self.oseq, self.attempt)
        return Queued(self._desk, self._lane, self.oseq, attempt)

    def hold(self) -> None:
        """No more attempts for now: the lane is frozen until `Ledger.retry` releases the batch."""
        self._desk.holding(self._lane, self.oseq, self.attempt)

    def reject(self) -> Rejecting:
        """A permanent failure: the rows go to the dead letters first, then the cursor moves."""
        self._desk.rejecting(self._lane, self.oseq, self.attempt)
        return Rejecting(self._desk, self._lane, self.oseq, self.attempt)

    def __del__(self) -> None:
        if self._lane.in_flight.get(self.oseq) == self.attempt:
            self._lane.vanished.append(self.oseq)


class Rejecting(_Ticket):
    """A rejected batch whose rows are being written to the dead letters; until they are, the batch is unresolved."""

    __slots__ = ()

    def dead_lettered(self) -> None:
        """The rejected rows are durable in the dead letters: the batch is resolved."""
        self._desk.dead_lettered(self._lane, self.oseq, self.attempt)
