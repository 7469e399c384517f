"""What delivery needs of the logs around it, and no more. `holdfast.log` has the real ones; tests have simple doubles.

Both are used from several threads at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from holdfast.log.dead_entry import DeadLetterEntry
    from holdfast.model.positions import Position


class PublishedBatch(Protocol):
    """A batch of the outbox, without its rows."""

    @property
    def oseq(self) -> int:
        """Its number; never used again."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def positions(self) -> Mapping[str, Position]:
        """For each source that moved, where it stands after the batch."""


class Outbox(Protocol):
    """The batches that wait to be delivered."""

    @property
    def uuid(self) -> str:
        """Which outbox it is: an oseq of another one means something else."""

    def last_oseq(self) -> int:
        """The highest number it ever gave out."""

    def trimmed(self) -> int:
        """Batches up to this one may be gone."""

    def batches(self, after: int = 0) -> Sequence[PublishedBatch]:
        """What it still has, ascending."""

    def positions_at(self, oseq: int) -> Mapping[str, Position]:
        """Where the sources stood after a batch, also when it is gone; nothing when it is on record no more."""

    def read(self, oseq: int) -> pa.Table:
        """The rows of a batch, verified and in order."""

    def release(self, through: int) -> None:
        """Nobody needs the batches up to this one any more."""


class DeadLetters(Protocol):
    """Where rows go that can never be delivered."""

    def put(self, entries: Sequence[DeadLetterEntry]) -> int:
        """Record entries that are not there yet; durable on return. Returns how many were new."""

    def rejected(self, stage: str, oseq: int) -> frozenset[int]:
        """The ordinals of a batch that a stage has rejected."""

    def refused(self, stage: str, oseq: int) -> frozenset[int]:
        """Those of them for whose entries there was no room, so that they are dropped on purpose."""
