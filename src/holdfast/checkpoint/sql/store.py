"""A checkpoint store in SQL tables; everything but the connection, which `sqlite` and `postgres` bring.

Every write is one transaction that first locks the owner's row, so the epoch that was checked is the epoch under which
the rows are written. A read is one statement, so it sees one moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Delete, Put, RollBack
from holdfast.checkpoint.envelope import seal
from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.keys import check_commit, check_key, check_prune
from holdfast.checkpoint.rules import (
    check_epoch,
    check_requirements,
    next_epoch,
    prunable,
    unknown_key,
    unknown_version,
)
from holdfast.checkpoint.sql.connection import SqlConnection
from holdfast.checkpoint.sql.rows import Head, kept_in, number_in, row_of, version_in
from holdfast.checkpoint.sql.schema import INSERT_VERSION, VERSION_COLUMNS, WRITE_HEAD
from holdfast.model.clock import utc_now
from holdfast.model.errors import CheckpointDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.checkpoint.contract import Commit, Stored, Update, Version
    from holdfast.checkpoint.envelope import Sealed
    from holdfast.checkpoint.sql.schema import Database, Row
    from holdfast.model.clock import Clock

_SELECT_ONE = (
    f"SELECT {', '.join('v.' + column for column in VERSION_COLUMNS)} FROM holdfast_keys k "
    "LEFT JOIN holdfast_versions v "
    "ON v.namespace = k.namespace AND v.key = k.key AND v.version = COALESCE(?, k.newest) "
    "WHERE k.namespace = ? AND k.key = ? AND k.newest > 0"
)
_SELECT_VERSIONS = (
    f"SELECT {', '.join(VERSION_COLUMNS[:-2])} FROM holdfast_versions WHERE namespace = ? AND key = ? ORDER BY version"
)
_DELETE_VERSION = "DELETE FROM holdfast_versions WHERE namespace = ? AND key = ? AND version = ?"
_DELETE_VERSIONS = "DELETE FROM holdfast_versions WHERE namespace = ? AND key = ?"


@dataclass(frozen=True, slots=True)
class _Mark:
    """What all versions of one commit have in common."""

    now: datetime
    epoch: int


class SqlStore(SqlConnection):
    """The part of a SQL store that is the same for all databases."""

    def __init__(self, namespace: str, *, clock: Clock = utc_now) -> None:
        super().__init__(check_key(namespace))
        self._clock = clock

    def epoch(self) -> int:
        """The newest epoch the store has seen; 0 for a new store."""
        with self._reading() as db:
            return self._owner(db)

    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner under a new epoch."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO holdfast_owners (namespace, epoch) VALUES (?, 0) ON CONFLICT (namespace) DO NOTHING",
                (self._namespace,),
            )
            epoch = next_epoch(self._owner(db, self._dialect.lock_row), at_least)
            db.execute("UPDATE holdfast_owners SET epoch = ? WHERE namespace = ?", (epoch, self._namespace))
        return epoch

    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""
        with self._reading() as db:
            statement = "SELECT key FROM holdfast_keys WHERE namespace = ? AND newest > 0"
            rows = db.execute(statement, (self._namespace,)).fetchall()
        return sorted(key for (key,) in rows if isinstance(key, str) and key.startswith(prefix))

    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent."""
        with self._reading() as db:
            row = self._select(db, check_key(key), None)
        return None if row is None else kept_in(row, key).read()

    def versions(self, key: str) -> list[Version]:
        """The versions kept of `key`, oldest first."""
        with self._reading() as db:
            rows = db.execute(_SELECT_VERSIONS, (self._namespace, check_key(key))).fetchall()
        return [version_in(row, key) for row in rows]

    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key`."""
        with self._reading() as db:
            kept = self._find(db, check_key(key), version)
        return kept.read()

    def has_counted(self, key: str) -> bool:
        """Whether `key` ever had a version: the count goes on after it is deleted."""
        with self._reading() as db:
            statement = "SELECT counted FROM holdfast_keys WHERE namespace = ? AND key = ?"
            return db.execute(statement, (self._namespace, check_key(key))).fetchone() is not None

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit in one transaction."""
        check_commit(commit)
        sealed = {update.key: seal(update.payload) for update in commit.updates if isinstance(update, Put)}
        with self._transaction() as db:
            check_epoch(commit.epoch, self._owner(db, self._dialect.lock_row))
            heads = self._heads(db, commit)
            check_requirements(commit.requirements, {key: head.newest for key, head in heads.items()})
            mark = _Mark(self._clock(), commit.epoch)
            made = {
                update.key: self._make(db, update, heads.get(update.key, Head()), sealed, mark)
                for update in commit.updates
            }
            self._write(db, made, heads)
        return {key: kept.version.number if kept else 0 for key, kept in made.items()}

    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget all but the newest `keep` versions of `key`."""
        check_prune(key, keep)
        with self._transaction() as db:
            check_epoch(epoch, self._owner(db, self._dialect.lock_row))
            rows = db.execute(_SELECT_VERSIONS, (self._namespace, key)).fetchall()
            numbers = [number_in(row[2]) for row in rows]
            gone = prunable(numbers, keep, lambda number: self._is_readable(db, key, number))
            db.executemany(_DELETE_VERSION, [(self._namespace, key, number) for number in gone])
        return len(gone)

    def _owner(self, db: Database, lock: str = "") -> int:
        row = db.execute(f"SELECT epoch FROM holdfast_owners WHERE namespace = ?{lock}", (self._namespace,)).fetchone()
        return number_in(row[0]) if row else 0

    def _heads(self, db: Database, commit: Commit) -> Mapping[str, Head]:
        keys = sorted({item.key for item in (*commit.updates, *commit.requirements)})
        marks = ", ".join("?" for _ in keys) or "NULL"
        statement = f"SELECT key, counted, newest FROM holdfast_keys WHERE namespace = ? AND key IN ({marks})"
        rows = db.execute(statement, (self._namespace, *keys)).fetchall()
        return {str(key): Head(number_in(counted), number_in(newest)) for key, counted, newest in rows}

    def _make(self, db: Database, update: Update, head: Head, sealed: Mapping[str, Sealed], mark: _Mark) -> Kept | None:
        """The version an update will write; None for a delete."""
        number = head.counted + 1
        match update:
            case Put(key):
                return Kept.put(key, number, sealed[key], now=mark.now, epoch=mark.epoch)
            case RollBack(key, version, origin):
                return self._find(db, key, version).again(number, origin, now=mark.now, epoch=mark.epoch)
            case Delete():
                return None

    def _write(self, db: Database, made: Mapping[str, Kept | None], heads: Mapping[str, Head]) -> None:
        space = self._namespace
        gone = [key for key, kept in made.items() if kept is None and key in heads]
        written = [kept for kept in made.values() if kept is not None]
        db.executemany(_DELETE_VERSIONS, [(space, key) for key in gone])
        db.executemany(INSERT_VERSION, [row_of(space, kept) for kept in written])
        moved = [(space, kept.version.key, kept.version.number, kept.version.number) for kept in written]
        db.executemany(WRITE_HEAD, moved + [(space, key, heads[key].counted, 0) for key in gone])

    def _select(self, db: Database, key: str, version: int | None) -> Row | None:
        return db.execute(_SELECT_ONE, (version, self._namespace, key)).fetchone()

    def _find(self, db: Database, key: str, version: int) -> Kept:
        row = self._select(db, key, version)
        if row is None:
            raise unknown_key(key)
        if row[2] is None:
            raise unknown_version(key, version)
        return kept_in(row, key)

    def _is_readable(self, db: Database, key: str, version: int) -> bool:
        try:
            return self._find(db, key, version).is_readable()
        except CheckpointDamaged:
            return False
