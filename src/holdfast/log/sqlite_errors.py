"""Tells what an error of SQLite means for the log whose index it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.disk.sqlite import sqlite_trouble
from holdfast.disk.trouble import Trouble
from holdfast.log.oserrors import damaged, foreign, full, missing, read_only
from holdfast.model.errors import LogError, LogUnavailable

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


def index_error(error: sqlite3.Error, path: Path) -> LogError:
    """The error to raise when the index at `path` could not be used."""
    match sqlite_trouble(error, path):
        case Trouble.FULL:
            return full(path, str(error))
        case Trouble.READ_ONLY:
            return read_only(path, str(error))
        case Trouble.GONE:
            return missing(path)
        case Trouble.FOREIGN:
            return foreign(path, "it is no database")
        case Trouble.DAMAGED:
            return damaged(path, 0, str(error))
        case _:
            return LogUnavailable(
                f"The index {path} cannot be used: {error}.",
                kept="What was appended before is safe.",
                remedy="See that its disk works and no other process holds it for long, then try again.",
                path=str(path),
            )
