"""The tables of an outbox, and how a batch is written into a row and read from it again.

A batch that is released loses its parts, but its row stays for a while: it is how a batch that Spark runs again is
recognised.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from holdfast.log.opening import Layout
from holdfast.log.retention import Item
from holdfast.log.times import from_milliseconds, milliseconds
from holdfast.log.values import Digest, NewBatch, PartRef, Published, Retained
from holdfast.model.positions import from_json, to_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from datetime import datetime

KIND = "outbox"
DIRECTORY = "parts"

LAYOUT = Layout(
    kind=KIND,
    data=DIRECTORY,
    tables="""
        CREATE TABLE state (
            generation INTEGER NOT NULL, last_oseq INTEGER NOT NULL, released INTEGER NOT NULL,
            trimmed INTEGER NOT NULL);
        INSERT INTO state VALUES (1, 0, 0, 0);
        CREATE TABLE generations (
            generation INTEGER PRIMARY KEY, reason TEXT NOT NULL, void_after INTEGER, opened_at INTEGER NOT NULL);
        CREATE TABLE batches (
            oseq INTEGER PRIMARY KEY, generation INTEGER NOT NULL, batch_id INTEGER NOT NULL, query_id TEXT NOT NULL,
            fingerprint TEXT NOT NULL, starts TEXT NOT NULL, ends TEXT NOT NULL, positions TEXT NOT NULL,
            parts TEXT NOT NULL, rows INTEGER NOT NULL, hash_sum TEXT NOT NULL, published_at INTEGER NOT NULL,
            nbytes INTEGER NOT NULL, is_void INTEGER NOT NULL DEFAULT 0, UNIQUE (generation, batch_id));
        CREATE TABLE redelivered (entry_id TEXT PRIMARY KEY, oseq INTEGER NOT NULL) WITHOUT ROWID;
    """,
)

_COLUMNS = (
    "oseq, generation, batch_id, query_id, fingerprint, starts, ends, positions, parts, rows, hash_sum, published_at"
)
KEPT_ROWS = 1000
"""How many rows of batches without parts are kept to recognise batches that are run again."""


@dataclass(frozen=True, slots=True)
class State:
    """Where an outbox stands."""

    generation: int
    last_oseq: int
    """The highest number ever given out."""
    released: int
    """Nobody needs batches up to this one."""
    trimmed: int
    """The parts of batches up to this one are gone."""


def read_state(db: sqlite3.Connection) -> State:
    """Where the outbox stands."""
    return State(*db.execute("SELECT generation, last_oseq, released, trimmed FROM state").fetchone())


def insert(db: sqlite3.Connection, batch: NewBatch, state: State, now: datetime) -> Published:
    """Give the batch the next number and make it visible."""
    oseq = state.last_oseq + 1
    row = _row(batch, oseq, state.generation, milliseconds(now))
    published = _published(row)
    db.execute(f"INSERT INTO batches ({_COLUMNS}, nbytes) VALUES ({_marks(row)}, ?)", (*row, published.nbytes))
    db.execute("UPDATE state SET last_oseq = ?", (oseq,))
    return published


def select(db: sqlite3.Connection, where: str, *values: int) -> list[Published]:
    """The batches that are not void and for which `where` holds, ascending."""
    found = db.execute(f"SELECT {_COLUMNS} FROM batches WHERE {where} AND is_void = 0 ORDER BY oseq", values)
    return [_published(row) for row in found.fetchall()]


def newest(db: sqlite3.Connection, generation: int) -> Published | None:
    """The newest batch of Spark in a generation that is not void."""
    is_meant = "generation = ? AND batch_id >= 0 AND is_void = 0"
    where = f"oseq = (SELECT oseq FROM batches WHERE {is_meant} ORDER BY oseq DESC LIMIT 1)"
    return next(iter(select(db, where, generation)), None)


def last_valid(db: sqlite3.Connection) -> int:
    """The number of the newest batch that is not void, be it of Spark or redelivered; 0 when there is none."""
    (oseq,) = db.execute("SELECT max(oseq) FROM batches WHERE is_void = 0").fetchone()
    return int(oseq or 0)


def redelivered(db: sqlite3.Connection, entries: Iterable[str]) -> set[str]:
    """Those of the entries whose rows were published once more."""
    statement = "SELECT r.entry_id FROM json_each(?) j CROSS JOIN redelivered r ON r.entry_id = j.value"
    return {entry for (entry,) in db.execute(statement, (json.dumps(list(entries)),))}


def insert_redelivered(db: sqlite3.Connection, entries: Iterable[str], oseq: int) -> None:
    """Remember that the rows of these entries were published once more."""
    db.executemany("INSERT INTO redelivered VALUES (?, ?)", [(entry, oseq) for entry in entries])


def named_parts(db: sqlite3.Connection, after: int, upto: int) -> dict[str, int]:
    """The parts of the batches in a range, void ones included, with their lengths."""
    rows = db.execute("SELECT parts FROM batches WHERE oseq > ? AND oseq <= ?", (after, upto)).fetchall()
    return {part["file"]: part["length"] for (parts,) in rows for part in json.loads(parts)}


def open_generation(
    db: sqlite3.Connection, reason: str, void_after: int | None, now: datetime, generation: int
) -> None:
    """Start a new generation; batches behind `void_after` are as if they had never been, but their numbers are used."""
    row = (generation, reason, void_after, milliseconds(now))
    db.execute("INSERT INTO generations (generation, reason, void_after, opened_at) VALUES (?, ?, ?, ?)", row)
    db.execute("UPDATE state SET generation = ?", (generation,))
    if void_after is not None:
        db.execute("UPDATE batches SET is_void = 1 WHERE oseq > ?", (void_after,))
        db.execute("DELETE FROM redelivered WHERE oseq > ?", (void_after,))


def adopt(db: sqlite3.Connection, to: Published, generation: int) -> None:
    """Let a new generation go on behind this batch of an earlier one: its row is there, and nobody lacks what is void.

    A lane whose cursor stands at the batch must not be taken for one that needs batches which are gone.
    """
    db.execute(
        "UPDATE batches SET parts = '[]', nbytes = 0 WHERE oseq > ? AND oseq <= (SELECT trimmed FROM state)", (to.oseq,)
    )
    db.execute("UPDATE state SET released = min(released, ?), trimmed = min(trimmed, ?)", (to.oseq, to.oseq))
    row = _row(to, to.oseq, generation, milliseconds(to.published_at))
    db.execute(f"INSERT OR IGNORE INTO batches ({_COLUMNS}, nbytes) VALUES ({_marks(row)}, ?)", (*row, to.nbytes))
    its_own = "is_void = 0 AND query_id = ? AND batch_id BETWEEN 0 AND ?"
    db.execute(f"UPDATE batches SET generation = ? WHERE {its_own}", (generation, to.query_id, to.batch_id))


def revive(db: sqlite3.Connection, after: int, upto: int) -> None:
    """Let void batches be valid again."""
    db.execute("UPDATE batches SET is_void = 0 WHERE oseq > ? AND oseq <= ?", (after, upto))


def select_void(db: sqlite3.Connection, after: int) -> list[Published]:
    """The void batches behind this one that have their parts, ascending."""
    statement = f"SELECT {_COLUMNS} FROM batches WHERE is_void = 1 AND oseq > max(?, (SELECT trimmed FROM state))"
    return [_published(row) for row in db.execute(f"{statement} ORDER BY oseq", (after,)).fetchall()]


def items(db: sqlite3.Connection) -> Iterator[Item]:
    """The batches that have their parts, void ones included, as retention sees them, oldest first."""
    statement = "SELECT oseq, nbytes, published_at FROM batches WHERE oseq > (SELECT trimmed FROM state) ORDER BY oseq"
    with closing(db.execute(statement)) as found:
        yield from map(Item._make, found)


def retained(db: sqlite3.Connection) -> Retained:
    """What is still there, void batches included."""
    state = read_state(db)
    statement = "SELECT COALESCE(SUM(rows), 0), COALESCE(SUM(nbytes), 0) FROM batches WHERE oseq > ?"
    rows, nbytes = db.execute(statement, (state.trimmed,)).fetchone()
    return Retained(rows, nbytes, state.trimmed + 1, {"released": state.released})


def forget_parts(db: sqlite3.Connection, through: int) -> None:
    """Forget that batches up to this one have parts, and the rows of Spark's batches that are too old to be of use."""
    db.execute("UPDATE state SET trimmed = ?", (through,))
    oldest = "SELECT oseq FROM batches WHERE batch_id >= 0 ORDER BY oseq DESC LIMIT 1 OFFSET ?"
    db.execute(f"DELETE FROM batches WHERE oseq <= min(?, ({oldest}))", (through, KEPT_ROWS))


def _row(batch: NewBatch, oseq: int, generation: int, published_at: int) -> tuple[str | int, ...]:
    positions = {source: to_json(position) for source, position in batch.positions.items()}
    return (
        oseq,
        generation,
        batch.batch_id,
        batch.query_id,
        batch.fingerprint,
        json.dumps(dict(batch.starts)),
        json.dumps(dict(batch.ends)),
        json.dumps(positions),
        json.dumps([asdict(part) for part in batch.parts]),
        batch.digest.rows,
        str(batch.digest.hash_sum),
        published_at,
    )


def _marks(row: tuple[str | int, ...]) -> str:
    return ", ".join("?" for _ in row)


def _published(row: tuple[Any, ...]) -> Published:
    oseq, generation, batch_id, query_id, fingerprint, starts, ends, positions, parts, rows, hash_sum, time = row
    return Published(
        oseq=oseq,
        generation=generation,
        batch_id=batch_id,
        query_id=query_id,
        fingerprint=fingerprint,
        starts=json.loads(starts),
        ends=json.loads(ends),
        positions={source: from_json(position) for source, position in json.loads(positions).items()},
        parts=tuple(PartRef(**part) for part in json.loads(parts)),
        digest=Digest(rows, int(hash_sum)),
        published_at=from_milliseconds(time),
    )
