"""Shows rows on standard output, for trying things out: as lines of JSON, or as a small table for each batch.

What is shown of a batch is bounded, and the rest is counted. A batch that is delivered again is shown again.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from holdfast.deliver.contract import LaneIdentity, Sink, SinkBatch, Tier
from holdfast.model.errors import Fatal, InvalidPipeline
from holdfast.model.steps import Step
from holdfast.sinks.columns.lines import row_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

_LINE = 2000
"""How many characters of a row are shown."""
_CELL = 32
"""How many characters of a value a table shows."""


class ConsoleForm(Enum):
    """How rows are shown."""

    LINES = "lines"
    """A line of JSON each."""
    TABLE = "table"
    """A table for each batch."""


class Console(Sink):
    """Standard output.

    :param max_rows: how many rows of a batch are shown.
    :param out: where to write instead.
    """

    kind: ClassVar[str] = "console"
    tier = Tier.AT_LEAST_ONCE

    def __init__(self, *, form: ConsoleForm = ConsoleForm.LINES, max_rows: int = 20, out: TextIO | None = None) -> None:
        if max_rows < 1:
            raise InvalidPipeline(f"A console that shows {max_rows} rows shows nothing.", remedy="Show 1 or more.")
        self._form = form
        self._max_rows = max_rows
        self._out = out
        self._lane: LaneIdentity | None = None

    def open(self, identity: LaneIdentity) -> None:
        """There is nothing to open."""
        self._lane = identity

    def check_connection(self, identity: LaneIdentity) -> None:
        """See that standard output is open."""
        out = self._out or sys.stdout
        if out is None or out.closed:
            raise Fatal("The console is closed.", remedy="Start with standard output open, or name another sink.")

    def cursor(self) -> None:
        """A console keeps no cursor."""

    def deliver(self, batch: SinkBatch) -> None:
        """Show the batch."""
        lane = self._opened()
        if not batch.rows.num_rows:
            return
        lane.hook(Step.SINK_WRITE)
        shown = "".join(f"{line}\n" for line in self._lines(batch))
        lane.hook(Step.SINK_COMMIT)
        self._show(shown)
        lane.hook(Step.SINK_COMMITTED)

    def probe(self, batch: SinkBatch) -> None:
        """Write the rows as they would be shown, and show nothing."""
        self._opened()
        list(self._lines(batch))

    def close(self) -> None:
        """There is nothing to close."""
        self._lane = None

    def _lines(self, batch: SinkBatch) -> Iterator[str]:
        rows = list(row_texts(batch.rows.slice(0, self._max_rows)))
        if self._form is ConsoleForm.TABLE:
            yield f"batch {batch.oseq}: {batch.rows.num_rows} rows"
            yield from _table(batch.rows.column_names, [json.loads(row) for row in rows])
        else:
            yield from (_cut(_printable(row), _LINE) for row in rows)
        if batch.rows.num_rows > len(rows):
            yield f"… and {batch.rows.num_rows - len(rows)} more rows of batch {batch.oseq}"

    def _show(self, text: str) -> None:
        out = self._out or sys.stdout
        encoding = getattr(out, "encoding", None) or "utf-8"
        try:
            out.write(text.encode(encoding, "backslashreplace").decode(encoding))
            out.flush()
        except (OSError, ValueError) as error:
            raise Fatal(
                f"The console cannot be written: {error}.",
                kept="The batch waits.",
                remedy="Start again with a console.",
            ) from error

    def _opened(self) -> LaneIdentity:
        if self._lane is None:
            raise Fatal("The console is not open.", remedy="Open the sink with the lane's identity first.")
        return self._lane


def _table(columns: Sequence[str], rows: Sequence[dict[str, object]]) -> Iterator[str]:
    cells = [list(columns), *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _cell(value: object) -> str:
    return _cut(_printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), _CELL)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _printable(text: str) -> str:
    """Without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
