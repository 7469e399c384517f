"""A SQLite file on a local disk: the connection to it, and what SQLite's errors say about it."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from holdfast.disk.files import has_no_room
from holdfast.disk.trouble import Trouble

if TYPE_CHECKING:
    from pathlib import Path

BUSY_SECONDS = 10.0
"""How long a write waits for the write of another process."""


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that leaves transactions, and which thread uses it, to the caller.

    :param mode: `ro`, `rw`, or `rwc` to make the file when it does not exist.
    """
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def primary_code(error: Exception) -> int:
    """The primary result code: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_locked(error: BaseException | None) -> bool:
    """Whether it is SQLite's error that another process holds the lock of a file."""
    return isinstance(error, sqlite3.Error) and primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def corrupt(what: str) -> sqlite3.DatabaseError:
    """The error of a row with values that cannot have been written. SQLite has no checksums and does not notice."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def sqlite_trouble(error: Exception, path: Path) -> Trouble:
    """What an error says about the file. SQLite reports some full disks, and missing rights, as something else."""
    match primary_code(error):
        case sqlite3.SQLITE_FULL:
            return Trouble.FULL
        case sqlite3.SQLITE_IOERR if has_no_room(path.parent):
            return Trouble.FULL
        case sqlite3.SQLITE_READONLY:
            return Trouble.READ_ONLY
        case sqlite3.SQLITE_CANTOPEN if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            return Trouble.READ_ONLY
        case sqlite3.SQLITE_CANTOPEN if not path.exists():
            return Trouble.GONE
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Trouble.BUSY
        case sqlite3.SQLITE_NOTADB:
            return Trouble.FOREIGN
        case sqlite3.SQLITE_CORRUPT:
            return Trouble.DAMAGED
        case _:
            return Trouble.OTHER
