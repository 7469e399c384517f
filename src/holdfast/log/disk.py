"""The durable steps on directories and files that all logs share: a name is safe once its directory was synced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.disk.files import sync_directory
from holdfast.log.oserrors import disk_error, not_makeable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def make_directory(path: Path) -> None:
    """Make a directory and what is missing above it, so that all of their names survive a loss of power."""
    try:
        if path.is_dir():
            return
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise not_makeable(error, path) from error


def sizes(directory: Path) -> dict[str, int]:
    """The files of a directory by name, with their sizes; none when there is no such directory."""
    try:
        return dict(_sizes(directory))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise disk_error(error, directory) from error


def remove(directory: Path, names: list[str]) -> None:
    """Remove files; one that is already gone is fine, for a crash may have come between a removal and its record."""
    if not names:
        return
    try:
        for name in names:
            (directory / name).unlink(missing_ok=True)
        sync_directory(directory)
    except OSError as error:
        raise disk_error(error, directory) from error


def _sizes(directory: Path) -> Iterator[tuple[str, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry.name, entry.stat().st_size
