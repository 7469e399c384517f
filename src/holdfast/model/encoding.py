"""How the bytes of a line are its text. Capture needs it to find where lines end, the steps in Spark to read them."""

from __future__ import annotations

import codecs
from enum import StrEnum


class Encoding(StrEnum):
    """The encodings of log files."""

    UTF_8 = "utf-8"
    LATIN_1 = "latin-1"
    UTF_16_LE = "utf-16-le"
    UTF_16_BE = "utf-16-be"

    @property
    def newline(self) -> bytes:
        """What a line ends with."""
        return "\n".encode(self)

    @property
    def mark(self) -> bytes:
        """The byte order mark that a file may begin with; it is no part of the first line."""
        return _MARKS.get(self, b"")


_MARKS = {
    Encoding.UTF_8: codecs.BOM_UTF8,
    Encoding.UTF_16_LE: codecs.BOM_UTF16_LE,
    Encoding.UTF_16_BE: codecs.BOM_UTF16_BE,
}
