"""Small disks under the parts of a pipeline's directory, and something that takes up all their room."""

from __future__ import annotations

import errno
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
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def remove(self) -> None:
        """Give the room back."""
        self._path.unlink()
