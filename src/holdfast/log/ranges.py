"""Decides how much of a log a reader is given next. Pure: the index hands in its rows, as many as are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from holdfast.log.values import Limits


@dataclass(frozen=True, slots=True)
class Span:
    """What admission needs to know of a chunk. A part of its rows counts as that part of its bytes."""

    first_seq: int
    last_seq: int
    length: int
    ends: npt.NDArray[np.int64] | None
    """The seqs that end a transaction, ascending; None when every row does."""

    @property
    def rows(self) -> int:
        """How many events it holds."""
        return self.last_seq - self.first_seq + 1

    def end_at_or_before(self, seq: int) -> int:
        """The last transaction end in it up to `seq`; 0 when there is none."""
        if self.ends is None:
            return seq if seq >= self.first_seq else 0
        count = int(np.searchsorted(self.ends, seq, side="right"))
        return int(self.ends[count - 1]) if count else 0

    def end_behind(self, seq: int) -> int | None:
        """The first transaction end behind `seq`; None when there is none."""
        start = max(seq + 1, self.first_seq)
        if self.ends is None:
            return start if start <= self.last_seq else None
        count = int(np.searchsorted(self.ends, start))
        return int(self.ends[count]) if count < len(self.ends) else None

    def fitting(self, rows: int, nbytes: int) -> int:
        """How many of its rows fit into so much."""
        return min(rows, self.rows, ((nbytes + 1) * self.rows - 1) // self.length if nbytes >= 0 else 0)

    def share(self, rows: int) -> int:
        """The bytes that a number of its rows count for."""
        return self.length * rows // self.rows


def next_end(after: int, spans: Iterator[Span], limits: Limits) -> int:
    """The end of the range to read next: `after` when there is nothing.

    As much as fits the limits; and at least one transaction, or one row when transactions may be cut.

    :param spans: of all that is visible, from the one that holds `after + 1` on, ascending and without gaps.
    """
    reached, rows, nbytes = after, limits.rows, limits.nbytes
    for span in spans:
        start = max(after, span.first_seq - 1)
        there = span.last_seq - start
        fit = min(there, span.fitting(rows, nbytes))
        stop = span.end_at_or_before(start + fit) if limits.whole_transactions else start + fit
        reached = max(reached, stop)
        if fit < there:
            return reached if reached > after else _at_least_one(after, span, spans, limits)
        rows, nbytes = rows - fit, nbytes - span.share(fit)
    return reached


def _at_least_one(after: int, span: Span, spans: Iterator[Span], limits: Limits) -> int:
    if not limits.whole_transactions:
        return after + 1
    end = span.end_behind(after)
    while end is None:
        end = next(spans).end_behind(after)
    return end
