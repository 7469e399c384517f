"""The tables of the dead letters: which decisions were made, and where the entries lie."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from holdfast.log.opening import Layout
from holdfast.log.segment import DIRECTORY, Place

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from holdfast.log.dead_entry import DeadLetterEntry

LAYOUT = Layout(
    kind="dead letters",
    data=DIRECTORY,
    tables="""
        CREATE TABLE chunks (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
            file TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, crc32c INTEGER NOT NULL);
        CREATE TABLE entries (
            number INTEGER PRIMARY KEY, entry_id TEXT NOT NULL UNIQUE,
            stage TEXT NOT NULL, oseq INTEGER NOT NULL, ordinal INTEGER NOT NULL);
        CREATE INDEX entries_by_batch ON entries (stage, oseq);
    """,
)


class Run(NamedTuple):
    """Entries that lie in one piece."""

    first: int
    last: int
    place: Place


def known(db: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Those of the ids that are recorded."""
    statement = "SELECT e.entry_id FROM json_each(?) j CROSS JOIN entries e ON e.entry_id = j.value"
    return {entry_id for (entry_id,) in db.execute(statement, (json.dumps(list(ids)),))}


def count(db: sqlite3.Connection) -> int:
    """How many entries were ever put; the number of the last one."""
    (number,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM entries").fetchone()
    return int(number)


def insert(db: sqlite3.Connection, entries: Sequence[DeadLetterEntry], place: Place) -> None:
    """Record entries that are on disk."""
    first = count(db) + 1
    row = (first, first + len(entries) - 1, place.file, place.offset, place.length, place.crc32c)
    db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row)
    db.executemany(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?)",
        [
            (number, entry.entry_id, entry.stage, entry.oseq, entry.ordinal)
            for number, entry in enumerate(entries, start=first)
        ],
    )


def rejected(db: sqlite3.Connection, stage: str, oseq: int) -> frozenset[int]:
    """The places of the rows of a batch that were given up at a stage."""
    found = db.execute("SELECT ordinal FROM entries WHERE stage = ? AND oseq = ?", (stage, oseq))
    return frozenset(ordinal for (ordinal,) in found)


def runs(db: sqlite3.Connection, after: int) -> list[Run]:
    """Where the entries behind number `after` lie."""
    found = db.execute("SELECT * FROM chunks WHERE last > ? ORDER BY first", (after,)).fetchall()
    return [Run(first, last, Place(*place)) for first, last, *place in found]


def segment_lengths(db: sqlite3.Connection) -> dict[str, int]:
    """The segments in use, and up to where."""
    return dict(db.execute("SELECT file, MAX(offset + length) FROM chunks GROUP BY file").fetchall())
