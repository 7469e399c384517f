"""Texts of files with element sets and messages: their lines, places in them, and how large they may be. Pure.

Lines end with LF, CR LF or CR, as editors count them. `str.splitlines` has eight more line ends, which would cut a
value in two and make every line number below it wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST_LINE = 10_000
"""Characters. CCSDS allows 254, comments of real messages have more."""
LARGEST_FILE = 128 * 2**20
"""Bytes of a file of element sets. All objects that were ever catalogued, as XML, are about 100 MB."""
LARGEST_MESSAGE = 2**20
"""Characters of one conjunction data message. Real ones have 10,000."""

_BOM = "\ufeff"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LINE = re.compile(r"([^\r\n]*+)(?:\r\n?|\n|$)")


class NotText(Exception):
    """Bytes are no text of any kind that is read; says why."""


def decoded(data: bytes) -> str:
    """The text of a file. A byte that is not UTF-8 becomes a lone surrogate, so that only its line is refused."""
    if data.startswith(_UTF16):
        raise NotText("it is UTF-16 and must be UTF-8")
    if data.startswith(b"\x1f\x8b"):
        raise NotText("it is compressed with gzip, and must be unpacked first")
    return data.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1."""
    at, number = len(_BOM) if text.startswith(_BOM) else 0, 0
    while at < len(text):
        found = _LINE.match(text, at)
        assert found is not None, "the pattern matches everywhere"
        number += 1
        at = found.end()
        if found[1] and not found[1].isspace():
            yield number, found[1]


def flaw_of(line: str) -> tuple[int, str] | None:
    """What makes a line unreadable whatever it should say, and in which column: its length or a character."""
    if len(line) > LONGEST_LINE:
        return LONGEST_LINE + 1, f"The line has {len(line):,} characters, and more than {LONGEST_LINE:,} are not read."
    if line.isprintable():
        return None
    for column, char in enumerate(line, start=1):
        if "\ud800" <= char <= "\udfff":
            return column, "There is a byte that is not UTF-8."
        if not char.isprintable() and char not in "\t\u00a0":
            return column, f"The character U+{ord(char):04X} is not allowed."
    return None


class Places:
    """Where the characters of a text stand, as line and column from 1. Asked for from the beginning to the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line, self._line_start = 0, 1, 0

    def of(self, at: int) -> tuple[int, int]:
        """The line and the column of a character, which must not stand before the one that was asked for last."""
        self._line += self._text.count("\n", self._at, at)
        self._line_start = max(self._line_start, self._text.rfind("\n", self._at, at) + 1)
        self._at = at
        return self._line, at - self._line_start + 1
