"""The tables of the dead letters, and what is written into them.

What was decided about a row outlives its entry: a batch that is brought again must not send a row that was given up,
also when the entry was removed meanwhile. So an entry that goes leaves a row in `gone`. Everything is counted, by the
minute, in the commit in which it happens.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from holdfast.log.dead_entry import SINK
from holdfast.log.dead_values import EntryState, Fate
from holdfast.log.opening import Layout
from holdfast.log.segment import DIRECTORY, Place
from holdfast.log.times import milliseconds

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from holdfast.log.dead_entry import DeadLetterEntry
    from holdfast.log.dead_values import Reviewed

LAYOUT = Layout(
    kind="dead letters",
    data=DIRECTORY,
    tables="""
        CREATE TABLE state (last_number INTEGER NOT NULL, reviewed INTEGER NOT NULL, reviewed_at INTEGER);
        INSERT INTO state VALUES (0, 0, NULL);
        CREATE TABLE segments (file TEXT PRIMARY KEY, length INTEGER NOT NULL, chunks INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE chunks (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
            file TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, crc32c INTEGER NOT NULL);
        CREATE TABLE entries (
            number INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, entry_id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL,
            stage TEXT NOT NULL, oseq INTEGER NOT NULL, ordinal INTEGER NOT NULL, event_id TEXT, kind TEXT NOT NULL,
            code TEXT NOT NULL, state TEXT NOT NULL);
        CREATE INDEX entries_by_batch ON entries (stage, oseq);
        CREATE INDEX entries_by_state ON entries (state, number);
        CREATE INDEX entries_by_time ON entries (time);
        CREATE TABLE gone (
            number INTEGER PRIMARY KEY, entry_id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, stage TEXT NOT NULL,
            oseq INTEGER NOT NULL, ordinal INTEGER NOT NULL, event_id TEXT, kind TEXT NOT NULL, fate TEXT NOT NULL);
        CREATE INDEX gone_by_batch ON gone (stage, oseq);
        CREATE TABLE tallies (
            minute INTEGER NOT NULL, stage TEXT NOT NULL, kind TEXT NOT NULL, fate TEXT NOT NULL,
            count INTEGER NOT NULL, PRIMARY KEY (minute, stage, kind, fate)) WITHOUT ROWID;
    """,
)

MINUTE = 60_000
"""In milliseconds."""
_ADD = "ON CONFLICT DO UPDATE SET count = count + excluded.count"


class Chunk(NamedTuple):
    """Entries that lie in one piece, those included that are gone."""

    first: int
    last: int
    place: Place


def insert(db: sqlite3.Connection, entries: Sequence[DeadLetterEntry], place: Place, now: datetime) -> None:
    """Record entries that are on disk."""
    first = _next_number(db, len(entries))
    db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", (first, first + len(entries) - 1, *_spot(place)))
    _use(db, place)
    rows = [
        (
            number,
            first,
            entry.entry_id,
            milliseconds(entry.time),
            *_where(entry),
            entry.error_code,
            EntryState.NEW.value,
        )
        for number, entry in enumerate(entries, start=first)
    ]
    db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    _tally(db, entries, Fate.RECORDED, now)


def refuse(db: sqlite3.Connection, entries: Sequence[DeadLetterEntry], now: datetime) -> None:
    """Remember the decisions about rows whose entries are not recorded."""
    first = _next_number(db, len(entries))
    rows = [
        (number, entry.entry_id, milliseconds(now), *_where(entry), Fate.REFUSED.value)
        for number, entry in enumerate(entries, start=first)
    ]
    db.executemany("INSERT INTO gone VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    _tally(db, entries, Fate.REFUSED, now)


def mark(db: sqlite3.Connection, numbers: Iterable[int], state: EntryState) -> None:
    """Write down what was done about entries."""
    db.execute(
        "UPDATE entries SET state = ? WHERE number IN (SELECT value FROM json_each(?))",
        (state.value, json.dumps(list(numbers))),
    )


def remove(db: sqlite3.Connection, numbers: Sequence[int], fate: Fate, now: datetime) -> list[str]:
    """Let entries go; the segments that are of no more use."""
    among = "number IN (SELECT value FROM json_each(?))"
    chosen = (json.dumps(numbers),)
    touched = db.execute(f"SELECT DISTINCT chunk FROM entries WHERE {among}", chosen).fetchall()
    db.execute(
        f"INSERT INTO gone SELECT number, entry_id, ?, stage, oseq, ordinal, event_id, kind, ? "
        f"FROM entries WHERE {among}",
        (milliseconds(now), fate.value, *chosen),
    )
    db.execute(
        "INSERT INTO tallies "
        f"SELECT ?, stage, kind, ?, count(*) FROM entries WHERE {among} GROUP BY stage, kind {_ADD}",
        (_minute(now), fate.value, *chosen),
    )
    db.execute(f"DELETE FROM entries WHERE {among}", chosen)
    return [file for (first,) in touched for file in _drop_chunk_if_empty(db, first)]


def move(db: sqlite3.Connection, chunk: Chunk, place: Place) -> list[str]:
    """The entries of a chunk lie elsewhere now; the segments that are of no more use."""
    db.execute(
        "UPDATE chunks SET file = ?, offset = ?, length = ?, crc32c = ? WHERE first = ?", (*_spot(place), chunk.first)
    )
    _use(db, place)
    return _leave(db, chunk.place.file)


def forget_gone(db: sqlite3.Connection, *, before: datetime, beyond: int, released: int) -> int:
    """Forget what is gone for long, or is one of too many, unless a lane may still bring its batch; how many."""
    return db.execute(
        "DELETE FROM gone WHERE (at < ? OR number <= (SELECT number FROM gone ORDER BY number DESC LIMIT 1 OFFSET ?)) "
        "AND (oseq <= ? OR stage NOT GLOB ?)",
        (milliseconds(before), beyond, released, f"{SINK}*"),
    ).rowcount


def fold(db: sqlite3.Connection, before: datetime) -> None:
    """Count what is older by no minute any more."""
    db.execute(
        "INSERT INTO tallies SELECT 0, stage, kind, fate, sum(count) FROM tallies "
        f"WHERE minute BETWEEN 1 AND ?1 GROUP BY stage, kind, fate {_ADD}",
        (_minute(before),),
    )
    db.execute("DELETE FROM tallies WHERE minute BETWEEN 1 AND ?", (_minute(before),))


def review(db: sqlite3.Connection, reviewed: Reviewed) -> None:
    """Write down how far somebody has looked."""
    assert reviewed.at is not None, "a review has a time"
    db.execute("UPDATE state SET reviewed = ?, reviewed_at = ?", (reviewed.number, milliseconds(reviewed.at)))


def segment_lengths(db: sqlite3.Connection) -> dict[str, int]:
    """The segments in use, and up to where."""
    return dict(db.execute("SELECT file, length FROM segments").fetchall())


def _next_number(db: sqlite3.Connection, count: int) -> int:
    """The first of so many numbers that were never used and never will be again."""
    db.execute("UPDATE state SET last_number = last_number + ?", (count,))
    (last,) = db.execute("SELECT last_number FROM state").fetchone()
    return int(last) - count + 1


def _where(entry: DeadLetterEntry) -> tuple[str, int, int, str | None, str]:
    return entry.stage, entry.oseq, entry.ordinal, entry.event_id, entry.error_kind


def _tally(db: sqlite3.Connection, entries: Sequence[DeadLetterEntry], fate: Fate, now: datetime) -> None:
    counted = Counter((entry.stage, entry.error_kind) for entry in entries)
    rows = [(_minute(now), stage, kind, fate.value, count) for (stage, kind), count in counted.items()]
    db.executemany(f"INSERT INTO tallies VALUES (?, ?, ?, ?, ?) {_ADD}", rows)


def _minute(time: datetime) -> int:
    return milliseconds(time) // MINUTE


def _spot(place: Place) -> tuple[str, int, int, int]:
    return place.file, place.offset, place.length, place.crc32c


def _use(db: sqlite3.Connection, place: Place) -> None:
    db.execute(
        "INSERT INTO segments VALUES (?, ?, 1) "
        "ON CONFLICT (file) DO UPDATE SET length = excluded.length, chunks = chunks + 1",
        (place.file, place.end),
    )


def _drop_chunk_if_empty(db: sqlite3.Connection, first: int) -> list[str]:
    statement = (
        "DELETE FROM chunks WHERE first = ?1 "
        "AND NOT EXISTS (SELECT 1 FROM entries WHERE number BETWEEN chunks.first AND chunks.last) RETURNING file"
    )
    return [gone for (file,) in db.execute(statement, (first,)).fetchall() for gone in _leave(db, file)]


def _leave(db: sqlite3.Connection, file: str) -> list[str]:
    """A chunk less is in the segment; it is of no more use when that was the last one."""
    db.execute("UPDATE segments SET chunks = chunks - 1 WHERE file = ?", (file,))
    found = db.execute("DELETE FROM segments WHERE file = ? AND chunks = 0 RETURNING file", (file,)).fetchall()
    return [file for (file,) in found]
