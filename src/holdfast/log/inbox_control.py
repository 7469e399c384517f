"""What an inbox's index says beside its data: who reads it up to where, whether reading is paused, what is skipped.

Spark's source runs in a process of its own, so what it must obey stands in the index and not in memory.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from holdfast.log.inbox_index import read_state
from holdfast.log.retention import Item
from holdfast.log.values import Retained

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator


def read_cursors(db: sqlite3.Connection) -> dict[str, int]:
    """The declared readers, and up to where each is done."""
    return dict(db.execute("SELECT name, seq FROM cursors ORDER BY name").fetchall())


def write_cursor(db: sqlite3.Connection, name: str, seq: int) -> None:
    """Declare a reader, or move it."""
    db.execute("INSERT INTO cursors VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq", (name, seq))


def delete_cursor(db: sqlite3.Connection, name: str) -> None:
    """Forget a reader; what only it needed may go."""
    db.execute("DELETE FROM cursors WHERE name = ?", (name,))


def pause(db: sqlite3.Connection, reason: str) -> None:
    """Let nothing more be admitted, for this reason besides others."""
    db.execute("INSERT INTO pauses VALUES (?) ON CONFLICT (reason) DO NOTHING", (reason,))


def resume(db: sqlite3.Connection, reason: str) -> None:
    """This reason to pause is gone."""
    db.execute("DELETE FROM pauses WHERE reason = ?", (reason,))


def pauses(db: sqlite3.Connection) -> list[str]:
    """Why nothing is admitted; empty when reading goes on."""
    return [reason for (reason,) in db.execute("SELECT reason FROM pauses ORDER BY reason")]


def skip(db: sqlite3.Connection, seqs: Iterable[int], reason: str) -> None:
    """Leave these events out from now on; one that is left out already keeps its reason."""
    rows = [(seq, reason) for seq in seqs]
    db.executemany("INSERT INTO skipped VALUES (?, ?) ON CONFLICT (seq) DO NOTHING", rows)


def skipped(db: sqlite3.Connection, after: int, upto: int) -> list[int]:
    """The events of a range that are left out."""
    found = db.execute("SELECT seq FROM skipped WHERE seq > ? AND seq <= ? ORDER BY seq", (after, upto))
    return [seq for (seq,) in found]


def retained(db: sqlite3.Connection) -> Retained:
    """What is there, and who holds it."""
    state = read_state(db)
    return Retained(state.last_seq - state.trimmed, state.nbytes, state.trimmed + 1, read_cursors(db))


def items(db: sqlite3.Connection) -> Iterator[Item]:
    """The chunks as retention sees them, oldest first, read as they are asked for."""
    with closing(db.execute("SELECT last_seq, length, appended_at FROM chunks ORDER BY first_seq")) as rows:
        yield from map(Item._make, rows)


def forget(db: sqlite3.Connection, through: int, nbytes: int) -> list[str]:
    """Forget the chunks up to this event, so many bytes; the segments that are of no more use."""
    db.execute("DELETE FROM chunks WHERE first_seq <= ?", (through,))
    db.execute("DELETE FROM skipped WHERE seq <= ?", (through,))
    db.execute("UPDATE state SET trimmed = ?, nbytes = nbytes - ?", (through, nbytes))
    files = db.execute("SELECT file FROM segments WHERE last_seq <= ?", (through,)).fetchall()
    db.execute("DELETE FROM segments WHERE last_seq <= ?", (through,))
    return [file for (file,) in files]
