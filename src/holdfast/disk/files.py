"""Files and directories on a local disk: how they are made to last, which one it is, and whether there is room."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_file(path: Path) -> None:
    """Make the bytes of a file survive a loss of power."""
    _sync(path, os.O_RDONLY)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a loss of power."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def replace_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file whole or not at all, in the place of one that is there; it survives a loss of power."""
    draft = path.with_name(f".{path.name}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    sync_directory(path.parent)


def identity(path: Path) -> tuple[int, int] | None:
    """Which file it is that has this name now; None when none can be seen. One that took its place is another."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def has_no_room(directory: Path) -> bool:
    """Whether its disk is full; not when nobody can tell."""
    with suppress(OSError):
        return os.statvfs(directory).f_bavail == 0
    return False


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
