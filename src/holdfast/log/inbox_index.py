"""The tables of an inbox: what it holds up to where, in statements that go by primary keys only.

One row of `state` says where the log stands and is compared with what the writer believes in every commit. One row of
`chunks` makes a chunk visible, once `end_seq` has reached it.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.disk.sqlite import corrupt
from holdfast.log.cutting import position_text
from holdfast.log.opening import Layout
from holdfast.log.ranges import Span
from holdfast.log.segment import DIRECTORY
from holdfast.log.times import from_milliseconds
from holdfast.log.values import Chunk

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    import numpy.typing as npt

    from holdfast.log.cutting import Draft
    from holdfast.log.segment import Place

KIND = "inbox"

LAYOUT = Layout(
    kind=KIND,
    data=DIRECTORY,
    tables="""
        CREATE TABLE state (
            last_seq INTEGER NOT NULL, end_seq INTEGER NOT NULL, end_position TEXT,
            trimmed INTEGER NOT NULL, nbytes INTEGER NOT NULL);
        INSERT INTO state VALUES (0, 0, NULL, 0, 0);
        CREATE TABLE chunks (
            first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL,
            file TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, crc32c INTEGER NOT NULL,
            tx_ends BLOB, position TEXT NOT NULL, appended_at INTEGER NOT NULL);
        CREATE TABLE segments (file TEXT PRIMARY KEY, length INTEGER NOT NULL, last_seq INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE keys (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
        CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE pauses (reason TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE skipped (seq INTEGER PRIMARY KEY, reason TEXT NOT NULL);
    """,
)

_CHUNK = "first_seq, last_seq, file, offset, length, crc32c, tx_ends, position"
_ENDS_TYPE = np.dtype("<u4")
"""Transaction ends are kept as distances from the chunk's first seq; no blob when every row is one."""


@dataclass(frozen=True, slots=True)
class State:
    """Where an inbox stands."""

    last_seq: int
    """The last event stored, whether its transaction is finished or not."""
    end: int
    """The last event that ends a transaction; what is behind it cannot be seen yet."""
    position: str | None
    """Where the source stands after `end`."""
    trimmed: int
    """Events up to this one are forgotten."""
    nbytes: int
    """The size of the chunks that are there."""


def read_state(db: sqlite3.Connection) -> State:
    """Where the inbox stands."""
    row = db.execute("SELECT last_seq, end_seq, end_position, trimmed, nbytes FROM state").fetchone()
    match row:
        case (int(last), int(end), str() | None, int(trimmed), int(nbytes)) if (
            0 <= trimmed <= end <= last and nbytes >= 0
        ):
            return State(*row)
    raise corrupt("the row that says where the inbox stands is damaged")


def move_state(db: sqlite3.Connection, before: State, after: State) -> bool:
    """Write where the inbox stands now; False, and nothing, when it is not where the writer believed it was."""
    statement = (
        "UPDATE state SET last_seq = ?, end_seq = ?, end_position = ?, trimmed = ?, nbytes = ? "
        "WHERE last_seq = ? AND end_seq = ?"
    )
    values = (after.last_seq, after.end, after.position, after.trimmed, after.nbytes, before.last_seq, before.end)
    return db.execute(statement, values).rowcount == 1


def insert_chunks(db: sqlite3.Connection, drafts: Sequence[Draft], places: Sequence[Place], now: int) -> None:
    """Name chunks that are on disk, and how far their segments are in use."""
    rows = [_row(draft, place, now) for draft, place in zip(drafts, places, strict=True)]
    db.executemany(f"INSERT INTO chunks ({_CHUNK}, appended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    ends = {place.file: (place.end, draft.last_seq) for draft, place in zip(drafts, places, strict=True)}
    db.executemany(
        "INSERT INTO segments VALUES (?, ?, ?) "
        "ON CONFLICT (file) DO UPDATE SET length = excluded.length, last_seq = excluded.last_seq",
        [(file, *end) for file, end in ends.items()],
    )


def drop_unfinished(db: sqlite3.Connection) -> None:
    """Forget what is behind the last transaction end: its numbers are used again."""
    state = read_state(db)
    dropped = db.execute("SELECT file, length FROM chunks WHERE first_seq > ?", (state.end,)).fetchall()
    db.execute("DELETE FROM chunks WHERE first_seq > ?", (state.end,))
    db.execute("DELETE FROM keys WHERE seq > ?", (state.end,))
    db.executemany("DELETE FROM segments WHERE file = ?", {(file,) for file, _ in dropped})
    db.execute(
        "INSERT INTO segments SELECT file, offset + length, last_seq FROM chunks ORDER BY first_seq DESC LIMIT 1 "
        "ON CONFLICT (file) DO NOTHING"
    )
    db.execute("UPDATE state SET last_seq = end_seq, nbytes = nbytes - ?", (sum(length for _, length in dropped),))


def segment_lengths(db: sqlite3.Connection) -> dict[str, int]:
    """The segments that hold visible bytes, and up to where."""
    return dict(db.execute("SELECT file, length FROM segments").fetchall())


def chunks_between(db: sqlite3.Connection, after: int, upto: int) -> Iterator[Chunk]:
    """The chunks with events behind `after` and up to `upto`, ascending."""
    for first, last, file, offset, length, crc32c, ends, position in _select(db, _CHUNK, after, upto):
        tx_ends = None if ends is None else tuple((_ends(ends) + first).tolist())
        if not (isinstance(file, str) and isinstance(position, str) and _are_counts(offset, length, crc32c)):
            raise _damaged_chunk()
        yield Chunk(first, last, f"{DIRECTORY}/{file}", offset, length, crc32c, tx_ends, position)


def appended_at(db: sqlite3.Connection, seq: int) -> datetime | None:
    """When the chunk that holds the event was appended; None when there is none."""
    statement = "SELECT last_seq, appended_at FROM chunks WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1"
    found = db.execute(statement, (seq,)).fetchone()
    return from_milliseconds(found[1]) if found and found[0] >= seq else None


def nbytes_after(db: sqlite3.Connection, seq: int) -> int:
    """The size of the chunks with events behind this one."""
    statement = (
        "SELECT COALESCE(SUM(length), 0) FROM chunks WHERE last_seq > ? AND first_seq >= "
        "COALESCE((SELECT MAX(first_seq) FROM chunks WHERE first_seq <= ?), 0)"
    )
    return int(db.execute(statement, (seq, seq + 1)).fetchone()[0])


def spans_between(db: sqlite3.Connection, after: int, upto: int) -> Iterator[Span]:
    """The same chunks as admission sees them, read from the index one by one as they are asked for."""
    for first, last, length, ends in _select(db, "first_seq, last_seq, length, tx_ends", after, upto):
        if not _are_counts(length):
            raise _damaged_chunk()
        yield Span(first, last, length, None if ends is None else _ends(ends) + first)


def _select(db: sqlite3.Connection, columns: str, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the chunks in a range, by primary key; the read ends when the caller stops asking."""
    statement = (
        f"SELECT {columns} FROM chunks WHERE last_seq > ? AND first_seq BETWEEN "
        "COALESCE((SELECT MAX(first_seq) FROM chunks WHERE first_seq <= ?), 0) AND ? ORDER BY first_seq"
    )
    with closing(db.execute(statement, (after, after + 1, upto))) as rows:
        for row in rows:
            if not _are_counts(*row[:2]) or row[0] > row[1]:
                raise _damaged_chunk()
            yield row


def _are_counts(*values: object) -> bool:
    return all(isinstance(value, int) and value >= 0 for value in values)


def _damaged_chunk() -> sqlite3.DatabaseError:
    return corrupt("a row that says where events lie is damaged")


def _ends(blob: object) -> npt.NDArray[np.int64]:
    if not isinstance(blob, bytes) or len(blob) % _ENDS_TYPE.itemsize:
        raise _damaged_chunk()
    return np.frombuffer(blob, _ENDS_TYPE).astype(np.int64)


def _row(draft: Draft, place: Place, now: int) -> tuple[object, ...]:
    is_every_row = len(draft.ends) == draft.events.num_rows
    ends = None if is_every_row else (draft.ends - draft.first_seq).astype(_ENDS_TYPE).tobytes()
    spot = (place.file, place.offset, place.length, place.crc32c)
    return (draft.first_seq, draft.last_seq, *spot, ends, position_text(draft.position), now)
