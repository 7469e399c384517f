"""The bytes of one file, plain or compressed with gzip, wherever its name goes while it is open; or those of a pipe.

What is read is the content: in a compressed file byte n is byte n of the file that was compressed.
"""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import zlib
from abc import ABC, abstractmethod
from typing import ClassVar

DEVICE = 2**44
"""Inodes are below it, with very few exceptions, and devices are counted in it."""
LONGEST_HEAD = 2**16
_MAGIC = b"\x1f\x8b"
_STRIDE = 2**20
_LOOK_BACK = 8
"""So much before the byte that is read can be asked for again, even where there is no going back."""


def inode_of(found: os.stat_result) -> int:
    """The inode of a file in one number with the device that it is on, as two devices have the same inodes."""
    return (found.st_dev * DEVICE ^ found.st_ino) % 2**64


class Content(ABC):
    """An open file."""

    is_final: ClassVar[bool]
    """Whether its end is the end, once it is reached, and what was read stays as it was."""
    damage: str | None = None
    """Why no more than what was read can be had of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.inode = inode_of(os.fstat(descriptor))

    @abstractmethod
    def read(self, offset: int, into: memoryview) -> int:
        """Fill `into` with the content from a byte on; how many bytes there were."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How long the content is now; None while that is not known."""

    def head(self, length: int) -> bytes:
        """The first bytes, as many as there are up to `length`, which is at most `LONGEST_HEAD`."""
        return self.at(0, length)

    def at(self, offset: int, length: int) -> bytes:
        """Up to so many bytes from a byte on."""
        data = bytearray(length)
        return bytes(data[: self.read(offset, memoryview(data))])

    def ends_at(self, offset: int) -> bool:
        """Whether it is known, without reading, that the content ends there for ever."""
        return False

    @property
    def is_deleted(self) -> bool:
        """Whether the file has no name any more."""
        return os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Give the file up. Closing twice is fine: the number may be another file's by then."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Plain(Content):
    """A file as it is. It can grow, and be replaced."""

    is_final = False

    def read(self, offset: int, into: memoryview) -> int:
        """Read there, whatever was read before."""
        return os.preadv(self._descriptor, [into], offset)

    @property
    def size(self) -> int:
        """What the file system says."""
        return os.fstat(self._descriptor).st_size


class Forward(Content):
    """Content that comes in one direction only. What was read last is kept, and may be asked for again."""

    is_final = True

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._start = 0
        self._kept = b""
        """Bytes from `_start` on."""
        self._end: int | None = None

    def read(self, offset: int, into: memoryview) -> int:
        """Go on up to there, and from there on."""
        assert offset >= self._start, "there is no going back"
        wanted = offset + len(into)
        while self._start + len(self._kept) < wanted and (piece := self._next()):
            forgotten = min(max(offset - _LOOK_BACK - self._start, 0), len(self._kept))
            self._kept = self._kept[forgotten:] + piece
            self._start += forgotten
        found = self._kept[offset - self._start : wanted - self._start]
        into[: len(found)] = found
        return len(found)

    @property
    def size(self) -> int | None:
        """Known when the end was reached."""
        return self._end

    @abstractmethod
    def _next(self) -> bytes:
        """What follows on that which is kept; nothing when there is nothing now."""

    def _is_end(self) -> bytes:
        self._end = self._start + len(self._kept)
        return b""


class Gzipped(Forward):
    """A file that was compressed when it was finished. To go back means to begin again."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._begin()
        self._head = self.at(0, LONGEST_HEAD)

    def _begin(self) -> None:
        raw = io.FileIO(self._descriptor, closefd=False)
        raw.seek(0)
        self._stream = gzip.GzipFile(fileobj=raw)
        self._start, self._kept = 0, b""

    def head(self, length: int) -> bytes:
        """The first bytes, which are kept."""
        return self._head[:length]

    def read(self, offset: int, into: memoryview) -> int:
        """Unpack up to there, and from there on."""
        if offset < self._start:
            self._begin()
        return super().read(offset, into)

    def ends_at(self, offset: int) -> bool:
        """What its last four bytes say, the size of what was compressed: a rotated file is compressed in one go."""
        length = os.fstat(self._descriptor).st_size
        return os.pread(self._descriptor, 4, max(length - 4, 0)) == (offset % 2**32).to_bytes(4, "little")

    def _next(self) -> bytes:
        try:
            return self._stream.read(_STRIDE) or self._is_end()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage = f"it is no whole gzip file: {error}"
            return b""


class Piped(Forward):
    """What comes through a pipe, as far as it has come."""

    def _next(self) -> bytes:
        is_there, _, _ = select.select([self._descriptor], [], [], 0)
        return (os.read(self._descriptor, _STRIDE) or self._is_end()) if is_there else b""

    def wait(self, seconds: float) -> None:
        """Wait until something comes, the end included."""
        if self._end is None:
            select.select([self._descriptor], [], [], seconds)

    def close(self) -> None:
        """Leave the pipe to its owner: it cannot be opened again."""


def open_content(path: str) -> Content | None:
    """The content of a regular file, None for anything else. `OSError` when it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        is_gzip = os.pread(descriptor, len(_MAGIC), 0) == _MAGIC
        return Gzipped(descriptor) if is_gzip else Plain(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
