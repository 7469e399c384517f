"""Which items of one input were applied: what makes a repeated item recognisable.

Everything up to `applied` is a closed prefix; numbers above it that came out of order stand in a sparse set. The set
is bounded in size and in age by *raising the prefix over the holes*: what is forgotten is then on the refused side, so
an applied item is never admitted again. The price is that an item which comes later than the bounds allow is refused
(`TOO_LATE`) although it may never have been applied; it is counted, not hidden.

The window also knows the offset of the prefix's end, from which a source must replay. No clock: `now` is passed in,
and a cut holds ages, so a restart may use a timer with another zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.checkpoint.operators.items import Offset


class Verdict(Enum):
    """What is to be done with an item."""

    NEW = "apply it"
    DUPLICATE = "drop it: it was applied"
    TOO_LATE = "drop it: it was applied, or its place was given up"


@dataclass(frozen=True, slots=True)
class DedupLimits:
    """The bounds of the sparse set."""

    max_entries: int = 100_000
    max_age: float = 300.0
    """Seconds that a hole is kept open for an item to come."""


@dataclass(frozen=True, slots=True)
class SparseEntry:
    """An applied item above the prefix."""

    seq: int
    age: float
    offset: Offset


@dataclass(frozen=True, slots=True)
class InputCut:
    """How far an input was applied, at one moment; part of a snapshot."""

    applied: int = 0
    """Every number up to this one is applied or given up."""
    offset: Offset | None = None
    """Where to replay from: the offset of the item `applied`; None is the beginning."""
    given_up: int = 0
    """The highest number that was given up; 0 when none was."""
    above: tuple[SparseEntry, ...] = ()
    """Applied items above the prefix, in the order in which they came."""


class InputWindow:
    """Tells new items of one input from repeated ones."""

    def __init__(self, limits: DedupLimits, cut: InputCut | None = None, *, now: float = 0.0) -> None:
        start = InputCut() if cut is None else cut
        self._limits = limits
        self._applied, self._offset, self._given_up = start.applied, start.offset, start.given_up
        self._above = {entry.seq: (now - entry.age, entry.offset) for entry in start.above}
        self._lowest = list(self._above)
        heapify(self._lowest)
        self._highest = max(self._above, default=self._applied)
        self.holes_given_up = 0

    @property
    def highest(self) -> int:
        """The highest number that was applied."""
        return self._highest

    def __len__(self) -> int:
        return len(self._above)

    def verdict(self, seq: int) -> Verdict:
        """What to do with the item of this number."""
        if seq > self._applied:
            return Verdict.DUPLICATE if seq in self._above else Verdict.NEW
        return Verdict.DUPLICATE if seq > self._given_up else Verdict.TOO_LATE

    def record(self, seq: int, offset: Offset, *, now: float) -> None:
        """Remember that a new item was applied."""
        assert self.verdict(seq) is Verdict.NEW, f"item {seq} was applied twice"
        self._highest = max(self._highest, seq)
        if seq == self._applied + 1:
            self._applied, self._offset = seq, offset
        else:
            self._above[seq] = (now, offset)
            heappush(self._lowest, seq)
        if self._above:
            self._settle(now)

    def cut(self, now: float) -> InputCut:
        """The window as a value."""
        self._settle(now)
        above = tuple(SparseEntry(seq, now - time, offset) for seq, (time, offset) in self._above.items())
        return InputCut(self._applied, self._offset, self._given_up, above)

    def _settle(self, now: float) -> None:
        self._absorb()
        while self._above and (len(self._above) > self._limits.max_entries or self._expired(now)):
            self._raise_to(self._oldest() if self._expired(now) else self._lowest[0])
            self._absorb()

    def _oldest(self) -> int:
        return next(iter(self._above))

    def _expired(self, now: float) -> bool:
        time, _ = self._above[self._oldest()]
        return now - time > self._limits.max_age

    def _absorb(self) -> None:
        while self._lowest and self._lowest[0] == self._applied + 1:
            self._take_lowest()

    def _raise_to(self, seq: int) -> None:
        while self._lowest and self._lowest[0] <= seq:
            self._take_lowest()

    def _take_lowest(self) -> None:
        """Move the prefix up to the lowest sparse number, over the hole in front of it if there is one."""
        seq = heappop(self._lowest)
        _, self._offset = self._above.pop(seq)
        if seq > self._applied + 1:
            self.holes_given_up += seq - self._applied - 1
            self._given_up = seq - 1
        self._applied = seq
