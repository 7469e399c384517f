"""Turns records that lie in a block into events, column by column and never record by record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.model.encoding import Encoding
from holdfast.model.envelope import CAPTURED, Op, event_id_around

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy.typing as npt

    from holdfast.capture.tailing.block import Piece

Places = tuple[pa.StringArray, pa.StringArray]
"""The id and the position of each event."""

_HEADERS = CAPTURED.field("headers").type
FILE, CUT, CONTINUES, UNFINISHED = "file", "cut", "continues", "unfinished"
"""The headers of an event: the name of its file; how many bytes were left out at its end; whether it is the rest of a
record that was given out unfinished; whether it had no newline when it was given out."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What all events of a source share."""

    source: str
    encoding: Encoding
    max_bytes: int
    """What is kept of one record."""


@dataclass(frozen=True, slots=True)
class Made:
    """Events, and what of them was left out."""

    events: pa.RecordBatch
    cut_records: int
    cut_bytes: int


def make_events(
    shape: Shape, data: npt.NDArray[np.uint8], pieces: Sequence[Piece], places: Places, now: datetime
) -> Made:
    """The events of the pieces whose records lie one behind the other in `data`, which may be used again afterwards."""
    payload, left_out = _payload(shape, data, pieces)
    ids, positions = places
    count = len(payload)
    columns = {
        "event_id": ids,
        "source": _repeated(shape.source, pa.string(), count),
        "op": _repeated(Op.MESSAGE.value, pa.string(), count),
        "capture_time": pa.repeat(pa.scalar(now, CAPTURED.field("capture_time").type), count),
        "tx_end": _repeated(True, pa.bool_(), count),
        "position": positions,
        "headers": _headers(pieces, left_out),
        "payload": payload,
    }
    empty = {field.name: _repeated(None, field.type, count) for field in CAPTURED if field.name not in columns}
    batch = pa.RecordBatch.from_arrays([{**columns, **empty}[field.name] for field in CAPTURED], schema=CAPTURED)
    return Made(batch, int(np.count_nonzero(left_out)), int(left_out.sum()))


def _payload(
    shape: Shape, data: npt.NDArray[np.uint8], pieces: Sequence[Piece]
) -> tuple[pa.BinaryArray, npt.NDArray[np.int64]]:
    """The records without their newlines and without what is too much, and how much that was for each."""
    newline = len(shape.encoding.newline)
    sizes = np.concatenate([_sizes(piece, newline) for piece in pieces])
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    lines = pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    payload = pc.binary_slice(lines, 0, -newline)
    left_out = np.maximum(sizes - newline - shape.max_bytes, 0)
    too_long = np.flatnonzero(left_out)
    if not len(too_long):
        return payload, left_out
    kept = [_whole_characters(payload[row].as_py()[: shape.max_bytes], shape.encoding) for row in too_long.tolist()]
    left_out[too_long] = sizes[too_long] - newline - np.array([len(line) for line in kept])
    return pc.replace_with_mask(payload, pa.array(left_out > 0), pa.array(kept, pa.binary())), left_out


def _sizes(piece: Piece, newline: int) -> npt.NDArray[np.int64]:
    """What each record takes in the block, where every one has a newline."""
    sizes = np.diff(piece.ends, prepend=0)
    if piece.is_open:
        sizes[-1] += newline
    return sizes


def _whole_characters(line: bytes, encoding: Encoding) -> bytes:
    """The line without the part of a character that a cut may have left at its end."""
    if encoding is not Encoding.UTF_8:
        return line[: len(line) // len(encoding.newline) * len(encoding.newline)]
    start = next((at for at in range(1, min(4, len(line)) + 1) if line[-at] & 0xC0 != 0x80), 0)
    is_whole = not start or line[-start:].decode("utf-8", "ignore") != "" or line[-start] < 0xC0
    return line if is_whole else line[:-start]


def places_in_files(source: str, pieces: Sequence[Piece]) -> Places:
    """The id and the position of each record of a file: the position is where it begins, `number:byte`.

    The position is cut out of the id, which is cheaper than to write it twice.
    """
    before, after = (text.encode() for text in event_id_around(source))
    starts = _text(np.concatenate([np.concatenate(([0], piece.ends[:-1])) + piece.start for piece in pieces]))
    if len(pieces) == 1:
        ids = pc.binary_join_element_wise(b"%s%d:" % (before, pieces[0].number), starts, after, b"")
    else:
        numbers = _text(np.repeat([piece.number for piece in pieces], [len(piece.ends) for piece in pieces]))
        ids = pc.binary_join_element_wise(before, numbers, b":", starts, after, b"")
    return ids.view(pa.string()), pc.binary_slice(ids, len(before), -len(after)).view(pa.string())


def _text(numbers: npt.NDArray[np.int64]) -> pa.BinaryArray:
    return pa.array(numbers).cast(pa.string()).view(pa.binary())


def _headers(pieces: Sequence[Piece], left_out: npt.NDArray[np.int64]) -> pa.ListArray:
    """For each event the name of its file, and for a few what else is to be said."""
    counts = [len(piece.ends) for piece in pieces]
    count = sum(counts)
    keys = np.zeros(count, dtype=np.int32)
    values = np.repeat(np.arange(len(pieces), dtype=np.int32), counts)
    said = [piece.path.encode(errors="surrogateescape") for piece in pieces]
    rows, more_keys = _remarks(pieces, counts, left_out)
    if not len(rows):
        offsets = np.arange(count + 1, dtype=np.int32)
    else:
        more_values = np.where(more_keys == 1, left_out[rows], 1)
        offsets = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(rows, minlength=count) + 1, out=offsets[1:])
        keys = np.insert(keys, rows + 1, more_keys)
        values = np.insert(values, rows + 1, np.arange(len(rows)) + len(said))
        said += [str(value).encode() for value in more_values.tolist()]
    if len(said) == 1:
        entries = [_repeated(FILE, pa.string(), count), pa.repeat(pa.scalar(said[0]), count)]
    else:
        names = pa.array([FILE, CUT, CONTINUES, UNFINISHED])
        entries = [names.take(pa.array(keys)), pa.array(said, pa.binary()).take(pa.array(values))]
    pairs = pa.StructArray.from_arrays(entries, fields=list(_HEADERS.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), pairs, type=_HEADERS)


def _remarks(
    pieces: Sequence[Piece], counts: Sequence[int], left_out: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The rows about which there is more to say, ascending, and which header says it."""
    stops = np.cumsum(counts)
    cut = np.flatnonzero(left_out)
    continued = (stops - counts)[[piece.continues for piece in pieces]]
    unfinished = (stops - 1)[[piece.is_open for piece in pieces]]
    rows = np.concatenate([cut, continued, unfinished])
    kinds = np.repeat(np.array([1, 2, 3], dtype=np.int32), [len(cut), len(continued), len(unfinished)])
    order = np.argsort(rows, kind="stable")
    return rows[order], kinds[order]


_CACHED_ROWS = 2**17


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    """The same value so many times."""
    return _constant(value, kind).slice(0, count) if count <= _CACHED_ROWS else pa.repeat(pa.scalar(value, kind), count)


@lru_cache(maxsize=64)
def _constant(value: object, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), _CACHED_ROWS)
