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

from holdfast.model.envelope import CAPTURED, ENVELOPE
from holdfast.model.errors import InvalidAppend, ModelError
from holdfast.model.positions import parse, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from holdfast.model.positions import Position

CHUNK_ROWS = 8192
CHUNK_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk that is not on disk yet."""

    events: pa.RecordBatch
    first_seq: int
    ends: npt.NDArray[np.int64]
    """The seqs in it that end a transaction."""
    position: Position
    """Where the source stands after its last row."""

    @property
    def last_seq(self) -> int:
        """The number of its last event."""
        return self.first_seq + int(self.events.num_rows) - 1

    @property
    def numbered(self) -> pa.RecordBatch:
        """The events with their numbers, as they are stored."""
        numbers = np.arange(self.first_seq, self.last_seq + 1, dtype=np.int64)
        seqs = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        return pa.RecordBatch.from_arrays([seqs, *map(_compact, self.events.columns)], schema=ENVELOPE)


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
    drafts = []
    for start, piece in slices:
        stop = start + piece.num_rows
        within = ends[np.searchsorted(ends, start) : np.searchsorted(ends, stop)]
        after = position if stop == events.num_rows else position_of_row(events, stop - 1, position.kind)
        drafts.append(Draft(piece, first_seq + start, within + first_seq, after))
    return drafts


def position_of_row(events: pa.RecordBatch, row: int, kind: str) -> Position:
    """Where the source stands after an event, which says so in its own column, as text."""
    text = events["position"][row].as_py()
    try:
        return parse(kind, text)
    except ModelError as error:
        raise _invalid(
            f"the event {row} says that its position is {text!r}, which is no {kind}",
            "Write the text form of the source's position into every event.",
        ) from error


def position_text(position: Position) -> str:
    """A position as the index keeps it."""
    return json.dumps(to_json(position), separators=(",", ":"))


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
