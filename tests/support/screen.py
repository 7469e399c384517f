"""A screen of characters: what a terminal shows after a stream of bytes.

It knows what programs in this project send: text with line ends and tabs, wide characters, moving the cursor, erasing,
inserting and deleting, colours (which are counted and not kept), scrolling, and the alternate screen of full-screen
programs. A sequence that it does not know is listed in `unknown`, so that a test does not pass by overlooking it.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable

_CONTROL = re.compile(
    r"\x1b\[(?P<private>[?>=]?)(?P<numbers>[0-9;:]*)(?P<final>[@-~])"
    r"|\x1b\](?P<title>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b(?P<short>[78=>cDEM()][AB0]?)"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[?>=]?[0-9;:]*|\][^\x07\x1b]*)?\x1b?$")
_TAB = 8


class Screen:
    """Lines of characters and a cursor."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.history: list[str] = []
        """Lines that went out of the top, oldest first; those of the alternate screen are not kept."""
        self.unknown: list[str] = []
        """Sequences that this screen does not understand."""
        self.has_color = False
        """Whether any text was given a colour or another style."""
        self.cursor_is_hidden = False
        self.is_alternate = False
        self._cells = self._blank()
        self._primary: tuple[list[list[str]], int, int] | None = None
        self._x = self._y = 0
        self._saved = (0, 0)
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        """What is visible, without blanks at the ends of lines and without empty lines at the bottom."""
        lines = ["".join(line).rstrip() for line in self._cells]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """Everything that can be read, scrolling back included."""
        return "\n".join([*self.history, *self.lines])

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        return self._y, min(self._x, self.columns - 1)

    def resize(self, columns: int, rows: int) -> None:
        """Another size. Lines are cut or extended; text is not wrapped anew."""
        self.columns, self.rows = columns, rows
        while len(self._cells) > rows and self._y >= rows:
            self._scroll_up()
            self._y -= 1
            self._cells.pop()
        self._cells = self._fitted(self._cells)
        if self._primary is not None:
            cells, y, x = self._primary
            self._primary = self._fitted(cells), min(y, rows - 1), min(x, columns - 1)
        self._x, self._y = min(self._x, columns), min(self._y, rows - 1)

    def feed(self, data: bytes) -> None:
        """Show these bytes. A sequence may come in pieces."""
        text = self._rest + self._decode(data)
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        text, self._rest = text[:cut], text[cut:]
        at = 0
        for found in _CONTROL.finditer(text):
            self._write(text[at : found.start()])
            self._obey(found)
            at = found.end()
        self._write(text[at:])

    # Text

    def _write(self, text: str) -> None:
        for character in text:
            match character:
                case "\r":
                    self._x = 0
                case "\n" | "\v" | "\f":
                    self._line_feed()
                case "\b":
                    self._x = max(0, min(self._x, self.columns - 1) - 1)
                case "\t":
                    self._x = min(self.columns - 1, (self._x // _TAB + 1) * _TAB)
                case "\a" | "\x00":
                    pass
                case _ if character < " ":
                    self.unknown.append(character)
                case _:
                    self._put(character)

    def _put(self, character: str) -> None:
        if unicodedata.combining(character):
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self._x + width > self.columns:
            self._x = 0
            self._line_feed()
        line = self._cells[self._y]
        line[self._x] = character
        if width == 2:
            line[self._x + 1] = ""
        self._x += width

    def _line_feed(self) -> None:
        if self._y < self.rows - 1:
            self._y += 1
        else:
            self._scroll_up()

    def _scroll_up(self) -> None:
        gone = self._cells.pop(0)
        if not self.is_alternate:
            self.history.append("".join(gone).rstrip())
        self._cells.append([" "] * self.columns)

    # Sequences

    def _obey(self, found: re.Match[str]) -> None:
        if found["title"] is not None:
            return
        if found["short"] is not None:
            self._obey_short(found["short"])
            return
        if found["private"]:
            self._obey_private(found)
            return
        numbers = [int(part) if part else 0 for part in found["numbers"].replace(":", ";").split(";")]
        one = max(1, numbers[0])
        line, x = self._cells[self._y], min(self._x, self.columns - 1)
        match found["final"]:
            case "A":
                self._y = max(0, self._y - one)
            case "B" | "e":
                self._y = min(self.rows - 1, self._y + one)
            case "C" | "a":
                self._x = min(self.columns - 1, self._x + one)
            case "D":
                self._x = max(0, x - one)
            case "E":
                self._x, self._y = 0, min(self.rows - 1, self._y + one)
            case "F":
                self._x, self._y = 0, max(0, self._y - one)
            case "G" | "`":
                self._x = min(self.columns, one) - 1
            case "d":
                self._y = min(self.rows, one) - 1
            case "H" | "f":
                column = max(1, numbers[1]) if len(numbers) > 1 else 1
                self._y, self._x = min(self.rows, one) - 1, min(self.columns, column) - 1
            case "J":
                self._erase_display(numbers[0])
            case "K":
                begin, end = [(x, self.columns), (0, x + 1), (0, self.columns)][numbers[0]]
                line[begin:end] = [" "] * (end - begin)
            case "P":
                self._cells[self._y] = self._line([*line[:x], *line[x + one :]])
            case "@":
                self._cells[self._y] = self._line([*line[:x], *" " * one, *line[x:]])
            case "X":
                line[x : x + one] = [" "] * len(line[x : x + one])
            case "L":
                for _ in range(one):
                    self._cells.insert(self._y, self._line([]))
                self._cells = self._cells[: self.rows]
            case "M":
                del self._cells[self._y : self._y + one]
                self._cells = self._fitted(self._cells)
            case "S":
                for _ in range(one):
                    self._scroll_up()
            case "m":
                self.has_color |= any(numbers)
            case "n" | "c" | "r" | "t" | "l" | "h":
                pass
            case "s":
                self._saved = self._y, self._x
            case "u":
                self._y, self._x = self._saved
            case _:
                self.unknown.append(found[0])

    def _obey_short(self, short: str) -> None:
        match short[0]:
            case "7":
                self._saved = self._y, self._x
            case "8":
                self._y, self._x = self._saved
            case "c":
                self._cells, self._x, self._y = self._blank(), 0, 0
            case "D" | "E":
                self._line_feed()
                self._x = 0 if short[0] == "E" else self._x
            case "=" | ">" | "(" | ")":
                pass
            case _:
                self.unknown.append(f"\x1b{short}")

    def _obey_private(self, found: re.Match[str]) -> None:
        is_set = found["final"] == "h"
        if found["final"] not in "hl":
            self.unknown.append(found[0])
            return
        for number in found["numbers"].split(";"):
            if number == "25":
                self.cursor_is_hidden = not is_set
            elif number in ("47", "1047", "1049"):
                self._show_alternate(is_set)

    def _show_alternate(self, wanted: bool) -> None:
        if wanted and self._primary is None:
            self._primary = self._cells, self._y, self._x
            self._cells = self._blank()
        elif not wanted and self._primary is not None:
            self._cells, self._y, self._x = self._primary
            self._primary = None
        self.is_alternate = self._primary is not None

    def _erase_display(self, how: int) -> None:
        here = self._cells[self._y]
        x = min(self._x, self.columns - 1)
        if how in (0, 2, 3):
            begin = 0 if how else x
            first = 0 if how else self._y + 1
            here[begin:] = [" "] * (self.columns - begin)
            for line in self._cells[first:]:
                line[:] = [" "] * self.columns
        if how == 1:
            here[: x + 1] = [" "] * (x + 1)
            for line in self._cells[: self._y]:
                line[:] = [" "] * self.columns
        if how == 3:
            self.history.clear()

    # Sizes

    def _blank(self) -> list[list[str]]:
        return [self._line([]) for _ in range(self.rows)]

    def _line(self, cells: Iterable[str]) -> list[str]:
        kept = list(cells)[: self.columns]
        return kept + [" "] * (self.columns - len(kept))

    def _fitted(self, cells: list[list[str]]) -> list[list[str]]:
        lines = [self._line(line) for line in cells[: self.rows]]
        return lines + [self._line([]) for _ in range(self.rows - len(lines))]
