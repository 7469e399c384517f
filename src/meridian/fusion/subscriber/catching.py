"""Brings a book up to date from the table of all words, which fusion keeps.

A subscriber whose book was put back to an older copy, or that was away for longer than fusion's outbox has room, lacks
words that nobody will send again. They are all in the table; what the book has of them it recognises.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from holdfast.disk.sqlite import connect
from holdfast.model.errors import DocumentUnreadable
from meridian.fusion.emissions import Kind
from meridian.fusion.outputs import ALERTS
from meridian.fusion.subscriber.book import Book
from meridian.fusion.subscriber.verdicts import ACTED, Told

_AT_ONCE = 1000
_FLAGS = frozenset(column.name for column in ALERTS.schema if pa.types.is_boolean(column.type))


def catch_up(book: Book, words: Path) -> int:
    """Enter all words of a table that the book lacks, in the order in which they were said, and how many those are."""
    return sum(verdict in ACTED for some in _words_in(words) for verdict in book.take(some))


def _words_in(path: Path) -> Iterator[list[Told]]:
    try:
        with closing(connect(path, "ro")) as db:
            rows = db.execute(f"SELECT {', '.join(ALERTS.columns)} FROM {path.stem} ORDER BY rowid")
            while some := rows.fetchmany(_AT_ONCE):
                yield [_word(dict(zip(ALERTS.columns, row, strict=True))) for row in some]
    except sqlite3.Error as error:
        raise DocumentUnreadable(
            f"{path} is no table of words on alerts: {error}.", remedy="Name the file `words.db` of an operation."
        ) from error


def _word(row: dict[str, object]) -> Told:
    said = {name: bool(value) if name in _FLAGS else value for name, value in row.items()}
    return Told(str(row["alert_id"]), int(str(row["sequence"])), Kind(row["kind"]), json.dumps(said))
