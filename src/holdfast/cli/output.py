"""The one place that writes: the same result as text for people and as JSON for programs.

Results go to standard output, progress and errors to standard error. Colours are for terminals only, and nobody gets
them who sets NO_COLOR.
"""

from __future__ import annotations

import json
import os
import sys
from enum import Enum
from typing import TYPE_CHECKING

import click

from holdfast.control.values import plain, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.model.errors import HoldfastError


class Form(Enum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"


class Output:
    """Writes the results of one command."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.is_terminal = form is Form.TEXT and sys.stderr.isatty()
        """Whether somebody watches, and lines may be written over."""
        self._color = False if os.environ.get("NO_COLOR") else None

    def result(self, value: object, text: str) -> None:
        """What the command found: the value as one line of JSON, or the text."""
        click.echo(json.dumps(plain(value)) if self.form is Form.JSON else text, color=self._color)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """A word on the side, for people only."""
        if self.form is Form.TEXT:
            self.end_progress()
            click.echo(text, err=True, color=self._color)

    def progress(self, text: str) -> None:
        """Where a long command stands: one line that is written over on a terminal, and plain lines without one."""
        if self.is_terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            click.echo(f"\r\x1b[2K{text[: max(1, width - 1)]}", err=True, nl=False)
        elif self.form is Form.TEXT:
            click.echo(text, err=True)

    def fail(self, error: HoldfastError) -> None:
        """Why the command ended without a result."""
        if self.form is Form.JSON:
            click.echo(json.dumps({"error": told(error)}))
            return
        self.end_progress()
        click.echo(f"{styled(f'[{error.code}]', 'red')} {error.what}", err=True, color=self._color)
        click.echo(f"{error.kept} {error.remedy}", err=True, color=self._color)

    def end_progress(self) -> None:
        """Leave the terminal as if there had been no progress."""
        if self.is_terminal:
            click.echo("\r\x1b[2K", err=True, nl=False)


def styled(text: str, color: str) -> str:
    """The text in a colour, which is left out where there is no terminal."""
    return click.style(text, fg=color)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns under a head: text to the left, numbers to the right."""
    body = [[_cell(cell) for cell in row] for row in rows]
    right = [bool(body) and all(_is_number(row[column]) for row in body) for column in range(len(head))]
    widths = [max(len(click.unstyle(row[column])) for row in [list(head), *body]) for column in range(len(head))]
    lines = []
    for row in [list(head), *body]:
        shapes = zip(row, widths, right, strict=True)
        cells = [_padded(cell, width, to_the_right) for cell, width, to_the_right in shapes]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _cell(cell: object) -> str:
    return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.replace(",", "").replace(".", "").isdigit()


def _padded(cell: str, width: int, to_the_right: bool) -> str:
    blank = " " * (width - len(click.unstyle(cell)))
    return blank + cell if to_the_right else cell + blank
