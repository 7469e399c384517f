"""Lets tables forget what is long over, so that they need not grow for ever, if the document says after how long.

What fusion remembers and still may correct is minutes old; rows that are days old are history.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from holdfast.disk.sqlite import connect
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, CONTACTS, SUMMARIES, WORDS, place

DAY = 24 * 3600 * 1_000_000_000
_TIMES: Mapping[str, str] = {
    ALERTS.table: "window_end_ns",
    CONJUNCTIONS.table: "closest_ns",
    CONTACTS.table: "last_ns",
    SUMMARIES.table: "window_end_ns",
    WORDS: "window_end_ns",
}
"""By which time a row of each table grows old. The catalog has one row an object, and progress is a ring."""
_AT_ONCE = 2000
"""So many rows are deleted before a sink may write again."""


def forget(directory: Path, before_ns: int) -> dict[str, int]:
    """Delete the rows that are of a time before this one; how many, by table."""
    return {table: _forgotten(place(directory, table), table, before_ns) for table in _TIMES}


def _forgotten(path: Path, table: str, before_ns: int) -> int:
    """The newest row stays, however old it is: whoever reads on behind it knows it by its number."""
    if not path.exists():
        return 0
    old = f"{_TIMES[table]} < ?1 AND rowid < (SELECT max(rowid) FROM {table})"
    statement = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {old} LIMIT {_AT_ONCE})"
    gone = 0
    with closing(connect(path, "rw")) as db:
        if not _has(db, table):
            return 0
        while count := db.execute(statement, (before_ns,)).rowcount:
            gone += count
    return gone


def _has(db: sqlite3.Connection, table: str) -> bool:
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", (table,))
    return found.fetchone() is not None
