"""The pieces that a screen is put together from: lines, tables and bars that keep to the room they are given. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

DIM = "dim"
_BETWEEN = 2
"""Blanks between two columns of a table."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
Row = Sequence[Text | str]
"""The cells of a row of a table."""
Piece = str | Text | tuple[str, str]
"""A text, or a text and its style."""
_DOT: Piece = (" · ", DIM)


@dataclass(frozen=True, slots=True)
class Part:
    """A titled part of the screen, one line of title above the others.

    :param draw: draws it in as many lines as it is given, or fewer.
    :param least: so many lines it needs to make sense; `wanted` are enough for everything in it.
    """

    title: Text
    draw: Callable[[int], RenderableType]
    least: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and how its cells stand.

    :param share: of the width that is left over once every column has what it needs.
    :param optional: 0 when it is always shown; of the others, those of the highest number are left out first.
    """

    head: str
    is_number: bool = False
    share: int = 0
    optional: int = 0


def cell(text: str, style: str = "") -> Text:
    """A text of one line: what would steer a terminal is shown as a dot."""
    return Text(printable(text), style, no_wrap=True, overflow="ellipsis")


def printable(text: str) -> str:
    """The text with a dot for each character that would steer a terminal."""
    return "".join(each if each.isprintable() else "·" for each in text)


def line(*pieces: Piece) -> Text:
    """One line, cut where the room ends."""
    made = [each if isinstance(each, Text) else cell(*((each,) if isinstance(each, str) else each)) for each in pieces]
    return Text.assemble(*made, no_wrap=True, overflow="ellipsis")


def listed(pieces: Iterable[Piece]) -> Text:
    """One line of several things, with dots between them."""
    dotted = [each for piece in pieces for each in (_DOT, piece)]
    return line(*dotted[1:])


def flowing(pieces: Iterable[Piece], width: int) -> list[Text]:
    """Several things in as many lines as they need, each whole where a line has room for it."""
    lines = list[list[Piece]]()
    for piece in pieces:
        if not lines or listed([*lines[-1], piece]).cell_len > width:
            lines.append([])
        lines[-1].append(piece)
    return [listed(each) for each in lines]


def fitting(columns: Sequence[Column], rows: Sequence[Row], width: int, wanted: int) -> tuple[list[int], int]:
    """Which columns are shown in so many characters, and how many are left for the one that shares the rest.

    :param wanted: so many characters that one would like to have; optional columns give way for them.
    """
    widths = [max(map(_width, [column.head, *(row[at] for row in rows)])) for at, column in enumerate(columns)]
    kept = list(range(len(columns)))
    while True:
        others = sum(widths[at] for at in kept if not columns[at].share)
        room = width - others - _BETWEEN * (len(kept) - 1)
        optional = [at for at in kept if columns[at].optional]
        if room >= wanted or not optional:
            return kept, max(room, 0)
        kept.remove(max(optional, key=lambda at: columns[at].optional))


def cut_in_the_middle(text: str, width: int) -> str:
    """The beginning and the end of a text that is too long: the ends of names tell objects apart."""
    if cell_len(text) <= width:
        return text
    kept = max(width - 1, 0)
    return f"{_beginning(text, kept - kept // 2)}…{_beginning(text[::-1], kept // 2)[::-1]}"


def _beginning(text: str, width: int) -> str:
    """As many characters as fit; one may take two columns."""
    widths = accumulate(map(cell_len, text))
    return text[: sum(each <= width for each in widths)]


def _width(text: Text | str) -> int:
    return text.cell_len if isinstance(text, Text) else cell_len(text)


def table(columns: Sequence[Column], rows: Iterable[Row]) -> Table:
    """A table with a line for each row, and one above for the head."""
    is_wide = any(column.share for column in columns)
    drawn = Table(box=None, expand=is_wide, padding=(0, _BETWEEN, 0, 0), pad_edge=False, header_style=DIM)
    for column in columns:
        drawn.add_column(
            column.head,
            justify="right" if column.is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=column.share or None,
        )
    for row in rows:
        drawn.add_row(*(cell(each) if isinstance(each, str) else each for each in row))
    return drawn


def titled(title: Text, width: int) -> Text:
    """A title on a rule."""
    rule = line(("── ", DIM), title, " ")
    rule.truncate(width, overflow="ellipsis")
    rule.append("─" * max(0, width - rule.cell_len), DIM)
    return rule


def bar(share: float, width: int, style: str) -> Text:
    """How full something is, to an eighth of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    filled = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return line((filled, style), ("░" * (width - len(filled)), DIM))


def split(first: float, second: float, width: int) -> Text:
    """How two things share in their sum."""
    total = first + second
    filled = round(first / total * width) if total > 0 else 0
    return line(("█" * filled, "cyan"), ("▒" * (width - filled if total > 0 else 0), "magenta"))


def cut(rows: int, room: int) -> int:
    """How many of so many rows are shown, when a line must say how many are not."""
    return rows if rows <= room else max(room - 1, 0)


def rest(count: int, what: str) -> Text:
    """The line about what is not shown."""
    return line((f"and {count:,} more {what}", DIM))
