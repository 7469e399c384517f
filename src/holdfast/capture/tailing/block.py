"""Where what is read at once lies until it has become events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class Block:
    """Room for what is read at once. What belongs to the records of several files lies in it without gaps."""

    def __init__(self, size: int, newline: bytes) -> None:
        self._data = np.empty(size + len(newline), dtype=np.uint8)
        self._size = size
        self._newline = np.frombuffer(newline, dtype=np.uint8)
        self.used = 0

    def free(self) -> memoryview:
        """The room that is left."""
        return self._data.data[self.used : self._size]

    def filled(self, count: int) -> npt.NDArray[np.uint8]:
        """What was just read into the free room."""
        return self._data[self.used : self.used + count]

    def keep(self, count: int, *, is_open: bool) -> None:
        """Keep so much of it, with a newline behind when the last record has none."""
        self.used += count
        if is_open:
            width = len(self._newline)
            self._data[self.used : self.used + width] = self._newline
            self.used += width

    def data(self) -> npt.NDArray[np.uint8]:
        """All that was kept. It is overwritten by the next reading."""
        return self._data[: self.used]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was kept yet: what does not fit now never will."""
        return self.used == 0


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive records of one file, which lie in the block behind those of the piece before."""

    number: int
    path: str
    start: int
    """The byte of the file at which the first one begins."""
    ends: npt.NDArray[np.int64]
    """Where each ends, counted from `start`."""
    is_open: bool
    """Whether the last one has no newline; the block has one all the same."""
    continues: bool
    """Whether the first one is the rest of a record that was given out unfinished."""
