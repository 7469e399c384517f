"""Reads dead letters from any process of their host, while their owner puts more. It writes nothing.

What its owner lets go meanwhile is not there any more; everything else is read as its owner would read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.log import dead_queries as queries
from holdfast.log.dead_index import LAYOUT
from holdfast.log.dead_values import ANY
from holdfast.log.dead_versions import entry_of
from holdfast.log.opening import open_to_read
from holdfast.log.segment import DIRECTORY, decode, read_place
from holdfast.model.closing import Closing
from holdfast.model.errors import EntryDamaged, HoldfastError, LogError, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from holdfast.log.dead import Reading
    from holdfast.log.dead_entry import DeadLetterEntry
    from holdfast.log.dead_index import Chunk
    from holdfast.log.dead_values import DeadLetterFilter, Fate, Listed, Where
    from holdfast.log.dead_versions import Row
    from holdfast.log.index import Index

Read = dict[int, "DeadLetterEntry | HoldfastError"]
"""Entries by number; where one cannot be read, why."""


class DeadLetterReader(Closing):
    """A reading handle on dead letters; one thread at a time."""

    def __init__(self, directory: Path, index: Index) -> None:
        self._segments = directory / DIRECTORY
        self._index = index

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open dead letters that exist; `LogMissing` when they do not, `ForeignLog` when it is something else."""
        return cls(directory, open_to_read(directory, LAYOUT.kind)[0])

    def counts(self, chosen: DeadLetterFilter = ANY) -> dict[Where, int]:
        """How many entries are meant, by stage and kind."""
        with self._index.reading() as db:
            return queries.counts(db, chosen)

    def tallies(self, since: datetime | None = None) -> dict[tuple[Where, Fate], int]:
        """What became of rows from the minute of that time on, or ever: also of those that are gone by now."""
        with self._index.reading() as db:
            return queries.tallies(db, since)

    def pages(self, chosen: DeadLetterFilter = ANY, *, size: int = 500) -> Iterator[Sequence[Reading]]:
        """The entries that are meant, each verified, in the order in which they were put, some at a time."""
        after = 0
        while page := self._select(chosen, after, size):
            yield self._read(page)
            after = page[-1].number

    def close(self) -> None:
        """Give up the index."""
        self._index.close()

    def _select(self, chosen: DeadLetterFilter, after: int, limit: int) -> list[Listed]:
        with self._index.reading() as db:
            return queries.select(db, chosen, after=after, limit=limit)

    def _read(self, page: Sequence[Listed]) -> list[Reading]:
        """What cannot be read is looked for once more: its owner may have moved it, or let it go."""
        found = read_entries(self._index, self._segments, page)
        if any(isinstance(each, LogError) for each in found.values()):
            found = read_entries(self._index, self._segments, page)
        return [(each, found[each.number]) for each in page if each.number in found]


def read_entries(index: Index, segments: Path, listed: Sequence[Listed]) -> Read:
    """These entries, but for those that are gone."""
    with index.reading() as db:
        places = queries.places(db, [each.number for each in listed])
    read = ((entries_in(segments, chunk), numbers) for chunk, numbers in places.items())
    return {number: entries[number] for entries, numbers in read for number in numbers}


def entries_in(segments: Path, chunk: Chunk) -> Read:
    """The entries that lie in one piece, each verified."""
    try:
        rows = rows_in(segments, chunk)
    except LogError as error:
        return dict.fromkeys(range(chunk.first, chunk.last + 1), error)
    return {number: _verified(row) for number, row in enumerate(rows, start=chunk.first)}


def rows_in(segments: Path, chunk: Chunk) -> list[Row]:
    """The same as they were stored."""
    place = chunk.place
    piece = read_place(segments / place.file, place.offset, place.length, place.crc32c)
    rows: list[Row] = decode(piece).to_pylist()
    return rows


def _verified(row: Row) -> DeadLetterEntry | HoldfastError:
    try:
        entry = entry_of(row)
    except UnknownFormat as error:
        return error
    if entry.is_whole:
        return entry
    return EntryDamaged(
        f"The payload of the dead letter {entry.entry_id} does not match its checksum.",
        kept="The entry stays as it is, and the others can be read.",
        remedy="Restore the dead letters from a copy, or purge the entry.",
        entry_id=entry.entry_id,
    )
