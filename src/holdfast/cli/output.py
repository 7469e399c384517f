"""The one place that writes: the same result as text for people and as JSON for programs.

Results go to standard output, progress and errors to standard error. Colours are for terminals only, and nobody gets
them who sets NO_COLOR. A terminal that cannot move its cursor (TERM=dumb) is written to as a file is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import threading
import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

import click

from holdfast.control.values import plain, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

    from holdfast.model.errors import HoldfastError


_USUAL_COLUMNS = 80
_PROGRESS_EVERY = 60.0
"""Seconds between two lines of progress where there is no terminal."""


class Form(Enum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"


class Output:
    """Writes the results of one command. Several threads may write.

    :param monotonic: tells when a line of progress was last written.
    """

    def __init__(self, form: Form, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.form = form
        self.is_terminal = form is Form.TEXT and sys.stderr.isatty()
        """Whether somebody watches."""
        self._is_rewritten = self.is_terminal and not is_dumb()
        """Whether a line of progress may be written over."""
        self._color = False if os.environ.get("NO_COLOR") or is_dumb() else None
        self._now = monotonic
        self._writing = threading.RLock()
        self._written: tuple[float, str, str] | None = None
        """When the last line of progress was written without a terminal, its occasion, and the line."""

    @property
    def width(self) -> int | None:
        """Columns of the terminal that progress is written to; None when there is none."""
        return _columns(sys.stderr) if self.is_terminal else None

    def result(self, value: object, text: str) -> None:
        """What the command found: the value as one line of JSON, or the text."""
        with self._writing:
            click.echo(json.dumps(plain(value)) if self.form is Form.JSON else text, color=self._color)
            sys.stdout.flush()

    def event(self, value: object, text: str) -> None:
        """What happens while a command works: a line of JSON in the results, or a note."""
        if self.form is Form.TEXT:
            self.note(text)
            return
        with suppress(OSError):  # whoever read the results is gone; what is reported on goes on
            self.result(value, "")

    def note(self, text: str) -> None:
        """A word on the side, for people only."""
        if self.form is Form.TEXT:
            with self._writing:
                self.end_progress()
                self._say(fitted(text, self.width))

    def progress(self, text: str, occasion: str = "") -> None:
        """Where a long command stands.

        On a terminal it is one line that is written over. Elsewhere, as in a log file, it is a line when the occasion
        changes, and otherwise one a minute as long as there is something new.
        """
        with self._writing:
            if self._is_rewritten and (width := self.width) is not None:
                self._say(f"\r\x1b[2K{text[: max(1, width - 1)]}", nl=False)
            elif self.form is Form.TEXT and self._is_news(text, occasion):
                self._written = self._now(), occasion, text
                self._say(text)

    def fail(self, error: HoldfastError) -> None:
        """Why the command ended without a result."""
        with self._writing:
            if self.form is Form.JSON:
                click.echo(json.dumps({"error": told(error)}))
                return
            self.end_progress()
            self._say(fitted(f"{styled(f'[{error.code}]', 'red')} {error.what}", self.width))
            self._say(fitted(f"{error.kept} {error.remedy}", self.width))

    def end_progress(self) -> None:
        """Leave the terminal as if there had been no progress."""
        if self._is_rewritten:
            self._say("\r\x1b[2K", nl=False)

    def _say(self, text: str, *, nl: bool = True) -> None:
        with suppress(OSError):  # a terminal or a pipe that is gone ends no pipeline
            click.echo(text, err=True, color=self._color, nl=nl)

    def _is_news(self, text: str, occasion: str) -> bool:
        if self._written is None:
            return True
        at, last_occasion, last_text = self._written
        return occasion != last_occasion or (text != last_text and self._now() - at >= _PROGRESS_EVERY)


def styled(text: str, color: str) -> str:
    """The text in a colour, which is left out where there is no terminal."""
    return click.style(text, fg=color)


def is_dumb() -> bool:
    """Whether the terminal of this process says that it knows no colours and cannot move its cursor."""
    return os.environ.get("TERM") == "dumb"


def _columns(stream: TextIO) -> int:
    """Of the terminal; some say 0, and mean that they do not know."""
    return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS


def results_width() -> int | None:
    """Columns of the terminal that results are written to; None where lines may be as long as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(head: Sequence[str], rows: Iterable[Sequence[object]], width: int | None = None) -> str:
    """Columns under a head: text to the left, numbers to the right.

    Where they do not fit side by side, the rest follows below, with the first column again.
    """
    body = [[_cell(cell) for cell in row] for row in rows]
    right = [bool(body) and all(_is_number(row[column]) for row in body) for column in range(len(head))]
    widths = [max(len(click.unstyle(row[column])) for row in [list(head), *body]) for column in range(len(head))]
    tables = []
    for columns in _fitting(widths, width):
        lines = []
        for row in [list(head), *body]:
            cells = [_padded(row[column], widths[column], right[column]) for column in columns]
            lines.append("  ".join(cells).rstrip())
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def wrapped(text: str, width: int | None, indent: str = "  ") -> str:
    """Prose with an indent, on as many lines as it takes; a word that is too long, as a path may be, stays whole."""
    if width is None:
        return f"{indent}{text}"
    lines = textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines) or indent


def fitted(text: str, width: int | None) -> str:
    """Lines of which those that are too long go on below, broken between words and as far to the right."""
    lines = text.splitlines()
    if width is None or all(len(click.unstyle(line)) <= width for line in lines):
        return text
    return "\n".join(wrapped(line.strip(), width, line[: len(line) - len(line.lstrip())]) for line in lines)


def _fitting(widths: Sequence[int], most: int | None) -> Iterator[list[int]]:
    """The columns of one table after another, each within so many characters if two columns are."""
    columns = [0]
    for column in range(1, len(widths)):
        if most is not None and len(columns) > 1 and _side_by_side(widths, [*columns, column]) > most:
            yield columns
            columns = [0]
        columns.append(column)
    yield columns


def _side_by_side(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[column] + 2 for column in columns) - 2


def _cell(cell: object) -> str:
    return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.replace(",", "").replace(".", "").isdigit()


def _padded(cell: str, width: int, to_the_right: bool) -> str:
    blank = " " * (width - len(click.unstyle(cell)))
    return blank + cell if to_the_right else cell + blank
