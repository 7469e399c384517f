"""Lets tables forget what is long over, so that they need not grow for ever, if the document says after how long.

What fusion remembers and still may correct is minutes old; rows that are days old are history.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from holdfast.disk.sqlite import connect
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, CONTACTS, IS_OVER, SUMMARIES, WORDS, place

DAY = 24 * 3600 * 1_000_000_000
_OLD: Mapping[str, str] = {
    ALERTS.table: "window_end_ns < ?1",
    CONJUNCTIONS.table: f"closest_ns < ?1 AND {IS_OVER}",
    CONTACTS.table: "last_ns < ?1",
    SUMMARIES.table: "window_end_ns < ?1",
    WORDS: "window_end_ns < ?1",
}
"""Which rows of each table are old. The catalog has one row an object, and progress is a ring."""
_AT_ONCE = 2000
_PAUSE = 0.1
"""Seconds in which a sink may write before the next rows are deleted."""


def forget(directory: Path, before_ns: int) -> dict[str, int]:
    """Delete the rows that are of a time before this one; how many, by table."""
    return {table: _forgotten(place(directory, table), table, before_ns) for table in _OLD}


def _forgotten(path: Path, table: str, before_ns: int) -> int:
    """The newest row stays, however old it is: whoever reads on behind it knows it by its number."""
    if not path.exists():
        return 0
    with closing(connect(path, "rw")) as db:
        if not _has(db, table):
            return 0
        query = f"SELECT rowid FROM {table} WHERE {_OLD[table]} AND rowid < (SELECT max(rowid) FROM {table})"
        old = db.execute(query, (before_ns,)).fetchall()
        for start in range(0, len(old), _AT_ONCE):
            db.execute("BEGIN IMMEDIATE")
            db.executemany(f"DELETE FROM {table} WHERE rowid = ?1", old[start : start + _AT_ONCE])
            db.execute("COMMIT")
            time.sleep(_PAUSE)
    return len(old)


def _has(db: sqlite3.Connection, table: str) -> bool:
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", (table,))
    return found.fetchone() is not None
