"""The dead letters of a pipeline: rows that can never be processed or delivered, kept with the reason.

Putting an entry twice changes nothing. What is put is durable when `put` returns, and only then may a cursor pass the
row.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from holdfast.log import dead_index as rows
from holdfast.log.dead_entry import from_batch, to_batch
from holdfast.log.opening import Owner
from holdfast.log.segment import decode, encode, read_place
from holdfast.log.segmented import Kind, SegmentedLog, Steps
from holdfast.model.clock import Clock, utc_now
from holdfast.model.closing import Closing
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from holdfast.log.dead_entry import DeadLetterEntry

_DEAD_LETTERS = Kind(
    layout=rows.LAYOUT,
    steps=Steps(Step.DEAD_LETTER_WRITE, Step.DEAD_LETTER_FSYNC, Step.DEAD_LETTER_INDEX, Step.DEAD_LETTER_WRITTEN),
    lengths=rows.segment_lengths,
    recover=lambda _: None,
)


class DeadLetterLog(Closing):
    """The one writer of the dead letters, and their reader. Any thread of its process may call its methods."""

    def __init__(self, log: SegmentedLog) -> None:
        self._log = log
        self._lock = RLock()
        self.uuid = log.identity.uuid

    @classmethod
    def open(cls, directory: Path, *, epoch: int, hook: StepHook = no_hook, clock: Clock = utc_now) -> Self:
        """Make or reopen the dead letters, as the owner of this epoch; refusals as for `Inbox.open`."""
        return cls(SegmentedLog(directory, _DEAD_LETTERS, name="dead letters", owner=Owner(epoch, hook, clock)))

    def put(self, entries: Sequence[DeadLetterEntry]) -> int:
        """Record entries that are not recorded yet; how many that were. They are durable when this returns."""
        with self._lock:
            with self._log.index.reading() as db:
                known = rows.known(db, (entry.entry_id for entry in entries))
            new = {entry.entry_id: entry for entry in entries if entry.entry_id not in known}
            if new:
                self._write(list(new.values()))
            return len(new)

    def rejected(self, stage: str, oseq: int) -> frozenset[int]:
        """The places of the rows of a batch that were given up at a stage."""
        with self._lock, self._log.index.reading() as db:
            return rows.rejected(db, stage, oseq)

    def count(self) -> int:
        """How many entries there are."""
        with self._lock, self._log.index.reading() as db:
            return rows.count(db)

    def entries(self, after: int = 0) -> Iterator[DeadLetterEntry]:
        """The entries in the order in which they were put, but for the first `after`; verified."""
        with self._lock, self._log.index.reading() as db:
            runs = rows.runs(db, after)
        for first, _, place in runs:
            data = read_place(self._log.segments / place.file, place.offset, place.length, place.crc32c)
            yield from from_batch(decode(data).slice(max(after + 1 - first, 0)))

    def close(self) -> None:
        """Give up the files; what was put stays."""
        with self._lock:
            self._log.close()

    def _write(self, entries: Sequence[DeadLetterEntry]) -> None:
        (place,) = self._log.append([encode(to_batch(entries))])
        with self._log.naming() as db:
            rows.insert(db, entries, place)
