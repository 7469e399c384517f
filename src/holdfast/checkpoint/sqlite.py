"""Keeps checkpoints in one SQLite file on a local disk: the default store.

A commit returns after the file was synced. The file belongs to the processes of one host; it must not lie on a network
file system, and a handle must not be carried across a fork.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Durability
from holdfast.checkpoint.sql.schema import Dialect, check_format
from holdfast.checkpoint.sql.store import SqlStore
from holdfast.disk.files import identity, sync_directory
from holdfast.disk.sqlite import connect, corrupt, primary_code, sqlite_trouble
from holdfast.disk.trouble import Trouble
from holdfast.model.clock import utc_now
from holdfast.model.errors import (
    CheckpointDamaged,
    CheckpointError,
    ForeignFile,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

if TYPE_CHECKING:
    import os

    from holdfast.model.clock import Clock

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
            sync_directory(self._path.parent)
        return connection

    def _connect(self) -> sqlite3.Connection:
        return self._opened("rw")

    def _is_in_place(self) -> bool:
        """A file that was moved or deleted would go on taking writes that nobody finds again."""
        return identity(self._path) == self._file

    def _opened(self, mode: str) -> sqlite3.Connection:
        """A connection to our own file; one that is not ours is refused before anything in it is changed."""
        connection = connect(self._path, mode)
        try:
            check_format(connection, self._dialect, self._place)
            _set_up(connection)
        except UnicodeDecodeError as error:  # of a name in the schema, or of SQLite's message about it
            connection.close()
            raise corrupt("it holds text that is not UTF-8") from error
        except BaseException:
            connection.close()
            raise
        self._file = identity(self._path)
        return connection

    def _translate(self, error: Exception) -> CheckpointError:
        kind, remedy = _meaning(error, self._path)
        what = f"There is no room for {self._path}" if kind is StoreFull else f"{self._place} failed"
        return kind(f"{what}: {error}.", remedy=remedy, path=str(self._path))

    def _leaves_commit_unknown(self, error: Exception) -> bool:
        """After a failed sync the commit may be in the file, and be found there after a crash."""
        return primary_code(error) == sqlite3.SQLITE_IOERR


def _set_up(connection: sqlite3.Connection) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _meaning(error: Exception, path: Path) -> tuple[type[CheckpointError], str]:
    match sqlite_trouble(error, path):
        case Trouble.FULL:
            return StoreFull, "Make room on its disk; the next commit goes on by itself."
        case Trouble.READ_ONLY:
            return StoreReadOnly, "Make the file and its directory writable for this user."
        case Trouble.FOREIGN:
            return ForeignFile, "Name another path, or move the file away."
        case Trouble.DAMAGED:
            return CheckpointDamaged, "Run `doctor` on the store, or restore the file from its replica."
        case Trouble.BUSY:
            return StoreUnavailable, "Another process holds the file; the next call tries again by itself."
        case _:
            return StoreUnavailable, "See that the directory exists and its disk works; the next call tries again."
