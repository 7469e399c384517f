"""The batches that the ledger knows: their numbers, where they end, and which of them may be forgotten."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from holdfast.model.errors import BatchNotNew, PositionWentBack, UnknownSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.ledger.resume import Resume
    from holdfast.model.positions import Position


class Batches:
    """Every batch still kept in the outbox, ascending; numbers may have holes, and are never used again."""

    __slots__ = ("ends", "last_oseq", "released", "retained", "sources", "uncommitted")

    def __init__(self, sources: Iterable[str], known: Resume) -> None:
        self.sources = frozenset(sources)
        self.last_oseq = known.last_oseq
        """The highest number ever used."""
        self.released = known.trimmed
        """Batches up to this one may be gone from the outbox."""
        self.retained = deque(batch.oseq for batch in known.batches)
        """The numbers of the batches above `released`."""
        self.uncommitted: deque[tuple[int, Mapping[str, Position]]] = deque(
            (batch.oseq, dict(batch.ends)) for batch in known.batches if batch.oseq > known.cursors.committed
        )
        """The batches above `committed`, with their ends."""
        self.ends = dict(known.cursors.positions)
        """Where each source stands after the newest batch."""
        for _, ends in self.uncommitted:
            self.ends.update(ends)

    def add(self, oseq: int, ends: Mapping[str, Position]) -> None:
        """A batch was published."""
        if oseq <= self.last_oseq:
            raise BatchNotNew(
                f"Batch {oseq} is not new: {self.last_oseq} was used before, and numbers are never used again.",
                remedy="Number the batch above the highest number the outbox ever gave out.",
                oseq=oseq,
            )
        ends = dict(ends)  # ours from here on, whatever the caller does with its own
        for source, end in ends.items():
            self._check_end(source, end, oseq)
        self.last_oseq = oseq
        self.ends.update(ends)
        self.retained.append(oseq)
        self.uncommitted.append((oseq, ends))

    def after(self, oseq: int) -> list[int]:
        """The batches kept above `oseq`."""
        return [kept for kept in self.retained if kept > oseq]

    def commit_through(self, oseq: int, positions: dict[str, Position]) -> None:
        """Bring `positions` forward to where the sources stand after batch `oseq`."""
        uncommitted = self.uncommitted
        while uncommitted and uncommitted[0][0] <= oseq:
            positions.update(uncommitted.popleft()[1])

    def release(self, through: int) -> None:
        """Batches up to this one are needed by nobody."""
        self.released = through
        while self.retained and self.retained[0] <= through:
            self.retained.popleft()

    def cut(self, to: int, ends: Mapping[str, Position]) -> None:
        """Forget every batch above `to`: a rollback computes them anew, under new numbers."""
        self.retained = deque(oseq for oseq in self.retained if oseq <= to)
        self.uncommitted = deque((oseq, at) for oseq, at in self.uncommitted if oseq <= to)
        self.ends = dict(ends)

    def are_earlier(self, ends: Mapping[str, Position]) -> bool:
        """Whether these are positions of our sources, none of them after where the source stands now."""
        return all(source in self.ends and self.ends[source].at_or_after(end) for source, end in ends.items())

    def _check_end(self, source: str, end: Position, oseq: int) -> None:
        previous = self.ends.get(source)
        if previous is None:
            if source not in self.sources:
                raise UnknownSource(
                    f"Batch {oseq} carries a position of source {source!r}, which this pipeline does not read.",
                    remedy=f"Declare the source; known are {', '.join(sorted(self.sources)) or 'none'}.",
                    source=source,
                    oseq=oseq,
                )
        elif not end.at_or_after(previous):
            raise PositionWentBack(
                f"Batch {oseq} ends at {end} for source {source!r}, which is not at or after {previous}.",
                remedy="The source was reset or replaced: roll the pipeline back, or give the new source a new name.",
                source=source,
                oseq=oseq,
            )
