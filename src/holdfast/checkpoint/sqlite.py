"""Keeps checkpoints in one SQLite file on a local disk: the default store.

A commit returns after the file was synced. The file belongs to the processes of one host; it must not lie on a network
file system, and a handle must not be carried across a fork.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Durability, utc_now
from holdfast.checkpoint.sql.schema import Dialect, check_format
from holdfast.checkpoint.sql.store import SqlStore
from holdfast.model.errors import (
    CheckpointDamaged,
    CheckpointError,
    ForeignFile,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from holdfast.checkpoint.contract import Clock

BUSY_SECONDS = 10.0
"""How long a write waits for the write of another process."""

_DIALECT = Dialect(
    begin="BEGIN IMMEDIATE",
    lock_schema=(),
    lock_row="",
    blob="BLOB",
    list_columns=(
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c "
        r"WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'"
    ),
    is_shared=False,
)


class SqliteStore(SqlStore):
    """A store in the file at `path`, which is made when it does not exist.

    :param namespace: pipelines that share a file have one each.
    """

    durability = Durability.POWER_LOSS
    _dialect = _DIALECT

    def __init__(self, path: str | os.PathLike[str], *, namespace: str = "default", clock: Clock = utc_now) -> None:
        super().__init__(namespace, clock=clock)
        self._path = Path(path).absolute()
        self._file: tuple[int, int] | None = None
        self._open()

    @property
    def _place(self) -> str:
        return f"The SQLite store {self._path}"

    def _driver_error(self) -> type[Exception]:
        return sqlite3.Error

    def _create(self) -> sqlite3.Connection:
        is_new = not self._path.exists()
        connection = self._opened("rwc")
        if is_new:
            _sync_directory(self._path.parent)
        return connection

    def _connect(self) -> sqlite3.Connection:
        return self._opened("rw")

    def _is_in_place(self) -> bool:
        """A file that was moved or deleted would go on taking writes that nobody finds again."""
        return _identity(self._path) == self._file

    def _opened(self, mode: str) -> sqlite3.Connection:
        """A connection to our own file; one that is not ours is refused before anything in it is changed."""
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            check_format(connection, self._dialect, self._place)
            _set_up(connection)
        except BaseException:
            connection.close()
            raise
        self._file = _identity(self._path)
        return connection

    def _translate(self, error: Exception) -> CheckpointError:
        kind, remedy = _meaning(error, self._path)
        return kind(f"{self._place} failed: {error}.", remedy=remedy, path=str(self._path))

    def _leaves_commit_unknown(self, error: Exception) -> bool:
        """After a failed sync the commit may be in the file, and be found there after a crash."""
        return _code(error) == sqlite3.SQLITE_IOERR


def _set_up(connection: sqlite3.Connection) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _meaning(error: Exception, path: Path) -> tuple[type[CheckpointError], str]:
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull, "Make room on its disk; the next commit goes on by itself."
        case sqlite3.SQLITE_IOERR if _is_disk_full(path):
            return StoreFull, "Make room on its disk; the next commit goes on by itself."
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly, "Make the file and its directory writable for this user."
        case sqlite3.SQLITE_CANTOPEN if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            return StoreReadOnly, "Make the file and its directory writable for this user."
        case sqlite3.SQLITE_NOTADB:
            return ForeignFile, "Name another path, or move the file away."
        case sqlite3.SQLITE_CORRUPT:
            return CheckpointDamaged, "Run `doctor` on the store, or restore the file from its replica."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreUnavailable, "Another process holds the file; the next call tries again by itself."
        case _:
            return StoreUnavailable, "See that the directory exists and its disk works; the next call tries again."


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _code(error: Exception) -> int:
    """The primary result code: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_disk_full(path: Path) -> bool:
    with suppress(OSError):
        return os.statvfs(path.parent).f_bavail == 0
    return False


def _sync_directory(directory: Path) -> None:
    """Make the new file's name survive a loss of power; its content is synced by SQLite."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
