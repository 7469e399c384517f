"""A connection to a SQLite file, and what SQLite's errors mean for a delivery."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from holdfast.model.errors import DeliveryError, Fatal, Rejected, Transient
from holdfast.sinks.sql.session import Session

BUSY_SECONDS = 10.0
"""How long a batch waits for the write of another process."""

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
        mode = "rw" if self._is_known else "rwc"
        uri = f"{self._path.as_uri()}?mode={mode}"
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if is_new:
                db.execute("PRAGMA journal_mode = WAL")
                _sync_directory(self._path.parent)
            db.execute("PRAGMA synchronous = EXTRA")  # FULL in WAL mode; without WAL it syncs the directory as well
        except BaseException:
            db.close()
            raise
        self._file, self._is_known = _identity(self._path), True
        return db

    def is_in_place(self) -> bool:
        """A file that was moved or deleted would go on taking rows that nobody finds again."""
        return _identity(self._path) == self._file

    def leaves_commit_unknown(self, error: Exception) -> bool:
        """After a failed sync the commit may be in the file, and be found there after a crash."""
        return _code(error) == sqlite3.SQLITE_IOERR

    def meaning(self, error: Exception) -> DeliveryError:
        """Data that is refused, a condition that passes, or one that somebody must end."""
        kind, remedy = self._meaning(_code(error))
        return kind(
            f"{self.place} failed: {error}.",
            kept="Nothing of the batch was written.",
            remedy=remedy,
            path=str(self._path),
        )

    def _meaning(self, code: int) -> tuple[type[DeliveryError], str]:
        match code:
            case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_TOOBIG:
                return Rejected, "The rows that are refused alone go to the dead letters."
            case sqlite3.SQLITE_FULL:
                return Transient, f"Its disk is full: make room. {_AGAIN}"
            case sqlite3.SQLITE_IOERR if _is_disk_full(self._path):
                return Transient, f"Its disk is full: make room. {_AGAIN}"
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return Transient, f"Another process writes to the file. {_AGAIN}"
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_NOMEM | sqlite3.SQLITE_PROTOCOL:
                return Transient, f"See that its disk works. {_AGAIN}"
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                return Fatal, "Make the file and its directory writable for this user, then start the lane again."
            case sqlite3.SQLITE_CANTOPEN:
                return Fatal, "See that the file and its directory exist and this user may write there."
            case sqlite3.SQLITE_NOTADB:
                return Fatal, "It is no database: name another path, or move the file away."
            case sqlite3.SQLITE_CORRUPT:
                return Fatal, "It is damaged: restore it from a copy; the lane goes on from the cursor in the copy."
            case _:
                return Fatal, "See that the table is what the sink expects, then start the lane again."


def _code(error: Exception) -> int:
    """The primary result code: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


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
