"""Cuts what is to be appended into chunks. Pure: it reads no file, and copies no event.

A chunk never reaches over the last transaction end of an append. So what must be dropped when a transaction was never
finished is always a number of whole chunks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.model.envelope import CAPTURED, ENVELOPE
from holdfast.model.errors import InvalidAppend, InvalidPosition, ModelError
from holdfast.model.positions import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from holdfast.model.positions import Position

CHUNK_ROWS = 8192
CHUNK_BYTES = 4 * 2**20
_A_FEW = 64


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk that is not on disk yet."""

    events: pa.RecordBatch
    first_seq: int
    ends: npt.NDArray[np.int64]
    """The seqs in it that end a transaction."""
    position: Position
    """Where the source stands after its last row."""
    schema: pa.Schema = ENVELOPE
    """Tells whether the events are here for the first time."""

    @property
    def last_seq(self) -> int:
        """The number of its last event."""
        return self.first_seq + int(self.events.num_rows) - 1

    @property
    def numbered(self) -> pa.RecordBatch:
        """The events with their numbers, as they are stored."""
        numbers = np.arange(self.first_seq, self.last_seq + 1, dtype=np.int64)
        seqs = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        return pa.RecordBatch.from_arrays([seqs, *map(_compact, self.events.columns)], schema=self.schema)


def check_shape(events: pa.RecordBatch, keys: Sequence[str | None] | None) -> None:
    """Refuse other columns than those of an event, and keys that do not belong to the events: `InvalidAppend`."""
    if not events.schema.equals(CAPTURED):
        raise _invalid(f"its columns are {', '.join(events.schema.names)}", "Append events of the schema `CAPTURED`.")
    if keys is not None and len(keys) != events.num_rows:
        raise _invalid(f"{len(keys)} keys came with {events.num_rows} events", "Give every event a key, or none.")


def check_values(events: pa.RecordBatch) -> None:
    """Refuse events that lack what every event must have: `InvalidAppend`."""
    for field, column in zip(events.schema, events.columns, strict=True):
        if not field.nullable and column.null_count:
            raise _invalid(f"the column {field.name} has empty values", f"Give every event its {field.name}.")


def cut(events: pa.RecordBatch, first_seq: int, position: Position) -> list[Draft]:
    """The events as chunks of a moderate size, the first of them numbered `first_seq`.

    :param position: where the source stands after the last event.
    """
    ends = np.flatnonzero(events["tx_end"].to_numpy(zero_copy_only=False))
    whole = int(ends[-1]) + 1 if len(ends) else 0
    slices = [*_slices(events, 0, whole), *_slices(events, whole, events.num_rows)]
    drafts: list[Draft] = []
    stop = events.num_rows
    for start, piece in reversed(slices):
        behind = start + piece.num_rows
        within = ends[np.searchsorted(ends, start) : np.searchsorted(ends, behind)]
        if drafts:
            position = position_of_row(events.slice(start, stop - start), piece.num_rows - 1, position)
        drafts.append(Draft(piece, first_seq + start, within + first_seq, position))
        stop = behind
    return drafts[::-1]


def position_of_row(events: pa.RecordBatch, row: int, end: Position) -> Position:
    """Where the source stood after one of these events, when it stands at `end` after the last of them."""
    try:
        return end.at_row(_Texts(events["position"]), row)
    except ModelError as error:
        raise _invalid(
            f"from the event {row} on, an event does not say where a source of {end.kind} stands: {error.what}",
            "Write the place of every event into its `position`, in the way of the source's kind.",
        ) from error


class _Texts:
    """A column of text, of which only what is asked for becomes Python's."""

    def __init__(self, column: pa.StringArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: int) -> str:
        text: str = self._column[row].as_py()
        return text

    def alike_until(self, row: int, beginning: str) -> int:
        """Looks at a few rows, and when all of them are alike at all."""
        for count in (_A_FEW, len(self._column)):
            other = pc.index(pc.starts_with(self._column.slice(row, count), beginning), False).as_py()
            if other >= 0:
                return row + int(other)
        return len(self._column)


def position_text(position: Position) -> str:
    """A position as the index keeps it."""
    return json.dumps(to_json(position), separators=(",", ":"))


def position_of_text(text: str) -> Position:
    """The position that the index keeps; `InvalidPosition` when that is none."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidPosition(
            f"The index of a log holds a position that is no JSON: {error}.",
            remedy="Restore the log; a source is never begun anew because its position cannot be read.",
        ) from error
    return from_json(stored)


def _slices(events: pa.RecordBatch, start: int, stop: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    while start < stop:
        rows = min(CHUNK_ROWS, stop - start)
        piece = events.slice(start, rows)
        while rows > 1 and piece.nbytes > CHUNK_BYTES:
            rows //= 2
            piece = events.slice(start, rows)
        yield start, piece
        start += rows


def _compact(column: pa.Array) -> pa.Array:
    """A nested column without any value may drag along buffers as long as the batch that it was cut from."""
    is_empty = pa.types.is_nested(column.type) and column.null_count == len(column)
    return pa.concat_arrays([column]) if is_empty else column


def _invalid(why: str, remedy: str) -> InvalidAppend:
    return InvalidAppend(f"The append is refused, because {why}.", remedy=remedy)
