"""Cuts a block of a file into records: lines, or several lines that belong together. Pure, and never line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.model.encoding import Encoding

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Places = npt.NDArray[np.int64]

_UNITS = {Encoding.UTF_16_LE: np.dtype("<u2"), Encoding.UTF_16_BE: np.dtype(">u2")}

_LONGEST_LOOK = 2**16
"""What decides whether a line is the first of a record stands this far ahead in it."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How a file is cut into records.

    :param first_line: a regular expression (RE2) for the first line of a record; None when every line is one.
    """

    encoding: Encoding = Encoding.UTF_8
    first_line: str | None = None

    def ends(self, block: Bytes, *, is_all: bool) -> Places:
        """Where the records in a block end, each with its last newline.

        :param is_all: whether nothing more is expected, so that the last one ends with the block, newline or not.
        """
        lines = self._line_ends(block)
        ends = lines if self.first_line is None else self._grouped(block, lines)
        rest = len(block) - (ends[-1] if len(ends) else 0)
        return np.append(ends, len(block)) if is_all and rest else ends

    def is_first(self, block: Bytes) -> bool:
        """Whether a record of several lines begins with the block; a line that is one record always does."""
        if self.first_line is None:
            return True
        block = block[:_LONGEST_LOOK]
        ends = self._line_ends(block)
        return bool(self._matches(block, ends[:1] if len(ends) else np.array([len(block)]))[0])

    def _line_ends(self, block: Bytes) -> Places:
        unit = _UNITS.get(self.encoding)
        if unit is None:
            return np.flatnonzero(block == ord("\n")) + 1
        units = block[: len(block) // 2 * 2].view(unit)
        return (np.flatnonzero(units == ord("\n")) + 1) * 2

    def _grouped(self, block: Bytes, lines: Places) -> Places:
        """A record ends where a line begins that is the first of another one."""
        if len(lines) < 2:
            return lines[:0]
        return lines[:-1][self._matches(block, lines)[1:]]

    def _matches(self, block: Bytes, lines: Places) -> npt.NDArray[np.bool_]:
        offsets = np.concatenate(([0], lines)).astype(np.int32)
        text = pa.Array.from_buffers(pa.binary(), len(lines), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
        if self.encoding in _UNITS:
            text = pa.array([line.decode(self.encoding, "replace") for line in text.to_pylist()])
        found: npt.NDArray[np.bool_] = pc.match_substring_regex(text, self._pattern()).to_numpy(zero_copy_only=False)
        return found

    def _pattern(self) -> str:
        """Anchored to the beginning of the line."""
        return f"^(?:{self.first_line})"


def is_pattern(text: str) -> bool:
    """Whether a regular expression means something to the library that matches lines."""
    try:
        re.compile(text)
        pc.match_substring_regex(pa.array([b""]), text)
    except (re.error, pa.ArrowInvalid):
        return False
    return True
