"""Tells what an error of SQLite means for the log whose index it is."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.log.oserrors import damaged, foreign, full, missing, read_only
from holdfast.model.errors import LogError, LogUnavailable

if TYPE_CHECKING:
    from pathlib import Path


def index_error(error: sqlite3.Error, path: Path) -> LogError:
    """The error to raise when the index at `path` could not be used."""
    match primary_code(error):
        case sqlite3.SQLITE_FULL:
            return full(path, str(error))
        case sqlite3.SQLITE_IOERR if _is_disk_full(path.parent):
            return full(path, str(error))
        case sqlite3.SQLITE_READONLY:
            return read_only(path, str(error))
        case sqlite3.SQLITE_CANTOPEN if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            return read_only(path, str(error))
        case sqlite3.SQLITE_CANTOPEN if not path.exists():
            return missing(path)
        case sqlite3.SQLITE_NOTADB:
            return foreign(path, "it is no database")
        case sqlite3.SQLITE_CORRUPT:
            return damaged(path, 0, str(error))
        case _:
            return LogUnavailable(
                f"The index {path} cannot be used: {error}.",
                kept="What was appended before is safe.",
                remedy="See that its disk works and no other process holds it for long, then try again.",
                path=str(path),
            )


def primary_code(error: Exception) -> int:
    """The primary result code: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_disk_full(directory: Path) -> bool:
    with suppress(OSError):
        return os.statvfs(directory).f_bavail == 0
    return False
