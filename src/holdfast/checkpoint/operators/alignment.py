"""Lines up the barriers of an operator's inputs: a pure state machine.

An input whose barrier has come is held until the others' have come too, so that the state then holds exactly the items
in front of the barriers. A snapshot that was given up lets go of what it held, and its late barriers mean nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Arrival(Enum):
    """What the arrival of a barrier asks for."""

    IGNORE = "it belongs to a snapshot that is over"
    HOLD = "hold this input until the others' barriers come"
    SNAPSHOT = "all have come: take the snapshot, let all inputs go"


class Alignment:
    """Where an operator is in the current aligned snapshot."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self._inputs = tuple(inputs)
        self._current = 0
        self._over = 0
        self._arrived: set[str] = set()

    @property
    def held(self) -> frozenset[str]:
        """The inputs that must not be read now."""
        return frozenset(self._arrived)

    def arrive(self, name: str, snapshot_id: int) -> Arrival:
        """A barrier has come on an input."""
        if snapshot_id <= self._over or snapshot_id < self._current:
            return Arrival.IGNORE
        if snapshot_id > self._current:
            self._current = snapshot_id
            self._arrived.clear()
        self._arrived.add(name)
        if len(self._arrived) < len(self._inputs):
            return Arrival.HOLD
        self.abandon(snapshot_id)
        return Arrival.SNAPSHOT

    def abandon(self, snapshot_id: int) -> None:
        """The snapshot is over here, taken or given up."""
        self._over = max(self._over, snapshot_id)
        if self._current <= self._over:
            self._arrived.clear()

    def missing(self, snapshot_id: int) -> tuple[str, ...]:
        """The inputs whose barrier is still awaited for this snapshot, in their order; none when it is over."""
        if snapshot_id <= self._over:
            return ()
        arrived = self._arrived if snapshot_id == self._current else set()
        return tuple(name for name in self._inputs if name not in arrived)
