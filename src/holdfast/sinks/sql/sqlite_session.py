"""A connection to a SQLite file, and what SQLite's errors mean for a delivery."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.disk.files import identity, sync_directory
from holdfast.disk.sqlite import connect, primary_code, sqlite_trouble
from holdfast.disk.trouble import Trouble
from holdfast.model.errors import DeliveryError, Fatal, Rejected, Transient
from holdfast.sinks.sql.session import Session

if TYPE_CHECKING:
    import os

_AGAIN = "The batch is tried again by itself."


class SqliteSession(Session[sqlite3.Connection]):
    """A file that is made by the first connection only: one that vanished later is not replaced by an empty one."""

    begin = "BEGIN IMMEDIATE"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self._file: tuple[int, int] | None = None
        self._is_known = False
        super().__init__(f"The SQLite file {self._path}")

    def close(self) -> None:
        """Give up the connection; opening again may make the file when it is missing."""
        super().close()
        self._is_known = False

    def driver_error(self) -> type[Exception]:
        """The root of the driver's errors."""
        return sqlite3.Error

    def connect(self) -> sqlite3.Connection:
        """Open the file. One that is new is put into WAL mode; the mode of one that exists is its owner's choice."""
        is_new = not self._path.exists()
        db = connect(self._path, "rw" if self._is_known else "rwc")
        try:
            if is_new:
                db.execute("PRAGMA journal_mode = WAL")
                sync_directory(self._path.parent)
            db.execute("PRAGMA synchronous = EXTRA")  # FULL in WAL mode; without WAL it syncs the directory as well
        except BaseException:
            db.close()
            raise
        self._file, self._is_known = identity(self._path), True
        return db

    def is_in_place(self) -> bool:
        """A file that was moved or deleted would go on taking rows that nobody finds again."""
        return identity(self._path) == self._file

    def exists(self) -> bool:
        """Whether there is a file: a look must not make one."""
        return self._path.exists()

    def leaves_commit_unknown(self, error: Exception) -> bool:
        """After a failed sync the commit may be in the file, and be found there after a crash."""
        return primary_code(error) == sqlite3.SQLITE_IOERR

    def meaning(self, error: Exception) -> DeliveryError:
        """Data that is refused, a condition that passes, or one that somebody must end."""
        kind, remedy = self._meaning(error)
        return kind(
            f"{self.place} failed: {error}.",
            kept="Nothing of the batch was written.",
            remedy=remedy,
            path=str(self._path),
        )

    def _meaning(self, error: Exception) -> tuple[type[DeliveryError], str]:
        match sqlite_trouble(error, self._path), primary_code(error):
            case Trouble.FULL, _:
                return Transient, f"Its disk is full: make room. {_AGAIN}"
            case Trouble.BUSY, _:
                return Transient, f"Another process writes to the file. {_AGAIN}"
            case Trouble.FOREIGN, _:
                return Fatal, f"It is no database: name another path, or move the file away. {_AGAIN}"
            case Trouble.DAMAGED, _:
                return Fatal, "It is damaged: restore it from a copy; the lane goes on from the cursor in the copy."
            case _, sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_TOOBIG:
                return Rejected, "The rows that are refused alone go to the dead letters."
            case _, sqlite3.SQLITE_IOERR | sqlite3.SQLITE_NOMEM | sqlite3.SQLITE_PROTOCOL:
                return Transient, f"See that its disk works. {_AGAIN}"
            case _, sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                return Fatal, f"Make the file and its directory writable for this user. {_AGAIN}"
            case _, sqlite3.SQLITE_CANTOPEN:
                return Fatal, f"See that the file and its directory exist and this user may write there. {_AGAIN}"
            case _:
                return Fatal, f"See that the table is what the sink expects. {_AGAIN}"
