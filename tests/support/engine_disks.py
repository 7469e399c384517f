"""Small disks under the parts of a pipeline's directory, and something that takes up all their room."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARTS = ("inbox", "outbox", "dead", "spark")


@contextmanager
def checkpoints_on_small_disk(root: Path, elsewhere: Path, size: str = "1M") -> Iterator[Path]:
    """A disk for what lies in the directory itself, which are the checkpoints; all else lies on another one."""
    with small_disk(root, size):
        for name in PARTS:
            (elsewhere / name).mkdir(parents=True)
            (root / name).symlink_to(elsewhere / name)
        yield root


class Ballast:
    """A file that fills a disk to its last byte, until it is removed. Made anew, it grows by what became free."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "ballast"
        with self._path.open("ab", buffering=0) as file:
            while not self._takes_all(file.fileno()):
                pass  # somebody was quicker with a part of it

    def _takes_all(self, file: int) -> bool:
        """Take what is free at this moment, in one piece: what becomes free while it is taken stays free."""
        try:
            free = os.statvfs(self._path).f_bavail * os.statvfs(self._path).f_frsize
            if free:
                os.posix_fallocate(file, os.fstat(file).st_size, free)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False
        return True

    def remove(self) -> None:
        """Give the room back."""
        self._path.unlink()
