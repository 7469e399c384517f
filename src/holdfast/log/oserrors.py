"""Says what is wrong with a place on disk: the errors that all logs raise about their files, in one wording."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from holdfast.disk.trouble import Trouble, os_trouble
from holdfast.model.errors import ForeignLog, LogDamaged, LogError, LogFull, LogMissing, LogReadOnly, LogUnavailable

if TYPE_CHECKING:
    from pathlib import Path


def disk_error(error: OSError, path: Path) -> LogError:
    """The error to raise when the file or directory at `path` could not be used."""
    reason = error.strerror or str(error)
    match os_trouble(error.errno):
        case Trouble.FULL:
            return full(path, reason)
        case Trouble.READ_ONLY:
            return read_only(path, reason)
        case Trouble.GONE:
            return missing(path)
        case _:
            return LogUnavailable(
                f"{path} cannot be used: {reason}.",
                kept="What was appended before is safe.",
                remedy="See that its disk works, then try again.",
                path=str(path),
            )


def full(path: Path, reason: str) -> LogFull:
    """The error for a disk without room."""
    return LogFull(
        f"There is no room for {path}: {reason}.",
        kept="What was appended before is safe; nothing of this append can be seen.",
        remedy="Make room on its disk; the next append goes on by itself.",
        path=str(path),
    )


def missing(path: Path, why: str = "it is gone") -> LogMissing:
    """The error for a file of a log that should be there."""
    return LogMissing(
        f"The log needs {path}, and {why}.",
        kept="Nothing was written.",
        remedy="See that the disk is mounted and the place is the right one, or restore the file from a copy.",
        path=str(path),
    )


def damaged(path: Path, offset: int, why: str) -> LogDamaged:
    """The error for bytes that are not what was written."""
    return LogDamaged(
        f"{path} is damaged at offset {offset}: {why}.",
        kept="The rest of the log can be read.",
        remedy="Restore the file from a copy, or capture the events again from their source.",
        path=str(path),
        offset=offset,
    )


def foreign(path: Path, why: str) -> ForeignLog:
    """The error for a place that belongs to something else."""
    return ForeignLog(
        f"{path} is not the log that was asked for: {why}.",
        remedy="Name another directory, or move what is there away.",
        path=str(path),
    )


def read_only(path: Path, reason: str) -> LogReadOnly:
    """The error for a place that this user or nobody may write."""
    return LogReadOnly(
        f"{path} may not be written: {reason}.",
        kept="What was written before is safe.",
        remedy="Give this user the right to write there, or make its disk writable. A pipeline that runs then goes on.",
        path=str(path),
    )


def not_makeable(error: OSError, path: Path) -> LogError:
    """The error to raise when a directory could not be made."""
    if error.errno == errno.EIO or os_trouble(error.errno) is Trouble.FULL:
        return disk_error(error, path)
    return LogReadOnly(
        f"The directory {path} cannot be made: {error.strerror or error}.",
        kept="Nothing was started and nothing was written.",
        remedy="Name another directory, or give this user the right to make this one.",
        path=str(path),
    )
