"""The dead letters on disk, in the hands of one thread of one owner. Used under the lock of `DeadLetterLog`."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from holdfast.log import dead_index as tables
from holdfast.log import dead_queries as queries
from holdfast.log.dead_reader import entries_in, read_entries, rows_in
from holdfast.log.dead_values import DeadLetterFilter, EntryState, Fate, Reviewed
from holdfast.log.dead_versions import entry_of, is_outdated, to_batch
from holdfast.log.segment import encode
from holdfast.log.segmented import Kind, SegmentedLog, Steps
from holdfast.model.errors import HoldfastError, LogError
from holdfast.model.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from holdfast.log.dead_entry import DeadLetterEntry
    from holdfast.log.dead_index import Chunk
    from holdfast.log.dead_limits import Admission
    from holdfast.log.dead_reader import Read
    from holdfast.log.dead_values import Listed
    from holdfast.log.opening import Owner

logger = logging.getLogger(__name__)

_DEAD_LETTERS = Kind(
    layout=tables.LAYOUT,
    steps=Steps(Step.DEAD_LETTER_WRITE, Step.DEAD_LETTER_FSYNC, Step.DEAD_LETTER_INDEX, Step.DEAD_LETTER_WRITTEN),
    lengths=tables.segment_lengths,
    recover=lambda _: None,
)
_ROLL_AT = 4 * 2**20
"""Small files: an entry that is kept keeps its file."""


class Survey(NamedTuple):
    """Of which versions entries are."""

    older: int
    """How many are of an older version than the present one."""
    unreadable: tuple[HoldfastError, ...]
    """Why others cannot be read: they are damaged, or of a newer version."""


class DeadStore:
    """Entries, and the tables about them."""

    def __init__(self, directory: Path, owner: Owner) -> None:
        self.log = SegmentedLog(directory, _DEAD_LETTERS, name="dead letters", owner=owner, roll_at=_ROLL_AT)
        with self.log.index.reading() as db:
            self.kept = queries.kept(db)
            self.totals = Counter[Fate]()
            for (_, fate), count in queries.tallies(db, None).items():
                self.totals[fate] += count

    def undecided(self, entries: Sequence[DeadLetterEntry]) -> list[DeadLetterEntry]:
        """Those about which nothing was decided yet, each once."""
        with self.log.index.reading() as db:
            known = queries.known(db, (entry.entry_id for entry in entries))
        return list({entry.entry_id: entry for entry in entries if entry.entry_id not in known}.values())

    def record(self, entries: Sequence[DeadLetterEntry], decided: Admission) -> None:
        """Record as many of the entries as are taken, and let others go for them."""
        taken = entries[: decided.taken]
        if not taken:
            return
        now = self.log.owner.clock()
        (place,) = self.log.append([encode(to_batch(taken))])
        with self.log.naming() as db:
            tables.insert(db, taken, place, now)
            cleared = queries.done(db, decided.cleared)
            files = tables.remove(db, cleared, Fate.PURGED, now)
            evicted = queries.select(db, DeadLetterFilter(), limit=decided.evicted)
            files += tables.remove(db, [each.number for each in evicted], Fate.EVICTED, now)
            kept = queries.kept(db) if files or decided.cleared or decided.evicted else self._with_new(len(taken))
        self.kept = kept
        self.totals.update({Fate.RECORDED: len(taken), Fate.PURGED: len(cleared), Fate.EVICTED: len(evicted)})
        if evicted:
            logger.warning("%d dead letters made room for newer ones: %s", len(evicted), _named(evicted))
        self._remove(files)

    def refuse(self, entries: Sequence[DeadLetterEntry]) -> None:
        """Write down that these rows are dropped on purpose."""
        self.log.owner.hook(Step.DEAD_LETTER_MARK)
        with self.log.index.committing() as db:
            tables.refuse(db, entries, self.log.owner.clock())
        self.totals[Fate.REFUSED] += len(entries)
        logger.warning("no room for %d dead letters, their rows are dropped: %s", len(entries), _named(entries))

    def mark(self, chosen: DeadLetterFilter, state: EntryState) -> int:
        """Write down what was done about entries."""
        self.log.owner.hook(Step.DEAD_LETTER_MARK)
        with self.log.index.committing() as db:
            numbers = [each.number for each in queries.select(db, chosen)]
            tables.mark(db, numbers, state)
            kept = queries.kept(db)
        self.kept = kept
        return len(numbers)

    def note_review(self, number: int) -> None:
        """Write down how far somebody has looked."""
        self.log.owner.hook(Step.DEAD_LETTER_MARK)
        with self.log.index.committing() as db:
            tables.review(db, Reviewed(number, self.log.owner.clock()))

    def remove(self, chosen: DeadLetterFilter, fate: Fate) -> int:
        """Let entries go: first in the index, then on disk; what a crash leaves there is swept later."""
        with self.log.index.reading() as db:
            numbers = [each.number for each in queries.select(db, chosen)]
        if numbers:
            self.log.owner.hook(Step.DEAD_LETTER_TRIM)
            with self.log.index.committing() as db:
                files = tables.remove(db, numbers, fate, self.log.owner.clock())
                kept = queries.kept(db)
            self.kept = kept
            self.totals[fate] += len(numbers)
            logger.info("%d dead letters are gone: %s", len(numbers), fate.value)
            self._remove(files)
        return len(numbers)

    def read(self, listed: Sequence[Listed]) -> Read:
        """These entries, but for those that are gone."""
        return read_entries(self.log.index, self.log.segments, listed)

    def survey(self) -> Survey:
        """Read everything, and say of which versions it is."""
        return _summed(self._survey(chunk) for chunk in self._chunks())

    def migrate(self) -> Survey:
        """Write the chunks with entries of older versions anew; one with entries of a newer version stays."""
        surveys = []
        for chunk in self._chunks():
            surveys.append(self._survey(chunk))
            if surveys[-1].older and not surveys[-1].unreadable:
                self._rewrite(chunk)
        return _summed(surveys)

    def _rewrite(self, chunk: Chunk) -> None:
        entries = [entry_of(row) for row in rows_in(self.log.segments, chunk)]
        (place,) = self.log.append([encode(to_batch(entries))])
        with self.log.naming() as db:
            files = tables.move(db, chunk, place)
        self._remove(files)

    def _survey(self, chunk: Chunk) -> Survey:
        try:
            older = sum(is_outdated(row) for row in rows_in(self.log.segments, chunk))
        except LogError as error:
            return Survey(0, (error,))
        read = entries_in(self.log.segments, chunk).values()
        return Survey(older, tuple(each for each in read if isinstance(each, HoldfastError)))

    def _chunks(self) -> Iterator[Chunk]:
        after = 0
        while True:
            with self.log.index.reading() as db:
                page = queries.chunks_after(db, after, limit=100)
            if not page:
                return
            yield from page
            after = page[-1].first

    def _remove(self, files: list[str]) -> None:
        if files:
            self.log.owner.hook(Step.DEAD_LETTER_TRIMMED)
            self.log.remove(files)

    def _with_new(self, count: int) -> dict[EntryState, int]:
        return {**self.kept, EntryState.NEW: self.kept[EntryState.NEW] + count}


def _summed(surveys: Iterator[Survey] | list[Survey]) -> Survey:
    found = list(surveys)
    return Survey(sum(each.older for each in found), tuple(error for each in found for error in each.unreadable))


def _named(entries: Sequence[Listed] | Sequence[DeadLetterEntry]) -> str:
    return ", ".join(entry.event_id or entry.entry_id for entry in entries)
