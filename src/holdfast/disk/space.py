"""How much room a disk has, and how much of it is left for finishing what was begun. Pure but for asking the disk.

A pipeline that uses its disk up to the last byte cannot free any: forgetting needs a commit, and a commit needs room.
So capture stops earlier than everything behind it. The reserve is for the case that somebody else fills the disk.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MIB = 2**20
_MOST_HEADROOM, _HEADROOM_SHARE = 16 * _MIB, 16
_MOST_RESERVE, _RESERVE_SHARE = 2 * _MIB, 64
_NAME = "disk.reserve"


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The room on a disk, in bytes."""

    free: int
    total: int

    @property
    def headroom(self) -> int:
        """What capture leaves free, so that what was captured can be processed, delivered and forgotten."""
        return min(_MOST_HEADROOM, self.total // _HEADROOM_SHARE)

    @property
    def reserve(self) -> int:
        """What is kept in a file of ours, to be given back when somebody else fills the disk."""
        return min(_MOST_RESERVE, self.total // _RESERVE_SHARE)

    def has_room_for(self, nbytes: int) -> bool:
        """Whether capture may write so much."""
        return self.free - nbytes >= self.headroom


def disk_space(directory: Path) -> DiskSpace | None:
    """The room on the disk of a directory for this user; None when nobody can tell."""
    with suppress(OSError):
        found = os.statvfs(directory)
        return DiskSpace(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
    return None


class DiskReserve:
    """A file on each disk under some directories that holds a little room. It is removed when its disk is full.

    The indexes then have room for the commits that forget what nobody needs. It is made anew once there is room.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        by_disk: dict[int, Path] = {}
        for directory in directories:
            with suppress(OSError):
                by_disk.setdefault(directory.stat().st_dev, directory / _NAME)
        self._files = list(by_disk.values())

    def tend(self) -> None:
        """Give back the room on each disk that is full, and hold it again where there is enough."""
        for path in self._files:
            space = disk_space(path.parent)
            if space is None:
                continue
            if space.free < space.reserve:
                path.unlink(missing_ok=True)
            elif space.has_room_for(space.headroom + space.reserve) and not path.exists():
                _fill(path, space.reserve)

    def release(self) -> bool:
        """Give back the room on every disk; False when there is none to give."""
        held = [path for path in self._files if path.exists()]
        for path in held:
            path.unlink(missing_ok=True)
        return bool(held)


def _fill(path: Path, size: int) -> None:
    """Random bytes: a file system that compresses would hold no room for zeros."""
    with suppress(OSError):  # without a reserve all works, but for a disk that others fill
        path.write_bytes(os.urandom(size))
