"""Columns as JSON text, a whole column at once: nested values for a database, and the lines of a JSONL file.

The same values always give the same text. Bytes are base64, decimals are strings so that nothing is rounded, instants
are RFC 3339 in UTC, and the numbers that JSON has no word for are the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

from json import JSONEncoder
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.columns.kinds import Kind, kind_of, plain
from holdfast.sinks.columns.text import TEXT, base64_text, concat, date_text, text, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_escaped = JSONEncoder(ensure_ascii=False).encode


def json_text(array: pa.Array, column: str) -> pa.Array:
    """A text for each row, `null` for a row that is null; `ArrowInvalid` for a value that has no text."""
    kind = kind_of(array.type, column)
    array = plain(array)
    match kind:
        case Kind.NULL:
            return pa.repeat(text("null"), len(array))
        case Kind.STRUCT:
            written = _object(array.type, array.flatten(), len(array))
        case Kind.LIST:
            written = concat("[", _joined(array, json_text(array.flatten(), column)), "]")
        case Kind.MAP:
            written = _map(array, column)
        case _:
            written = _WRITERS[kind](array)
    return pc.if_else(array.is_valid(), written, text("null")) if array.null_count else written


def nested_text(array: pa.Array, column: str) -> pa.Array:
    """JSON text for a column of a database, where null is not a text."""
    return pc.if_else(array.is_valid(), json_text(array, column), pa.scalar(None, TEXT))


def json_lines(rows: pa.RecordBatch) -> pa.Array:
    """Each row as an object on a line of its own."""
    return concat(_object(rows.schema, rows.columns, rows.num_rows), "\n")


def _object(fields: Iterable[pa.Field], values: Iterable[pa.Array], length: int) -> pa.Array:
    parts: list[pa.Array | str] = []
    for field, array in zip(fields, values, strict=True):
        parts += [f"{',' if parts else '{'}{_escaped(field.name)}:", json_text(array, field.name)]
    return concat(*parts, "}") if parts else pa.repeat(text("{}"), length)


def _map(array: pa.Array, column: str) -> pa.Array:
    entry = pa.struct([pa.field("key", TEXT), array.type.item_field])
    entries = array.cast(pa.large_list(entry))
    keys, values = entries.flatten().flatten()
    return concat("{", _joined(entries, concat(_string(keys), ":", json_text(values, column))), "}")


def _joined(lists: pa.Array, items: pa.Array) -> pa.Array:
    """The texts of the items of each list, with commas between them."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths.cast(pa.int64()))])
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, items), text(","))


def _string(array: pa.Array) -> pa.Array:
    """Quoted; only the rows that hold something to escape are looked at one by one."""
    quoted, special = concat('"', array, '"'), pc.match_substring_regex(array, _NEEDS_ESCAPE)
    if not pc.any(special).as_py():
        return quoted
    escaped = [_escaped(value) for value in array.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, pc.fill_null(special, False), pa.array(escaped, TEXT))


def _number(array: pa.Array) -> pa.Array:
    return pc.cast(array, TEXT)


def _float(array: pa.Array) -> pa.Array:
    written = _number(array)
    if pc.all(pc.is_finite(array)).as_py():
        return written
    infinite = pc.if_else(pc.greater(array, 0), text('"Infinity"'), text('"-Infinity"'))
    return pc.if_else(pc.is_finite(array), written, pc.if_else(pc.is_nan(array), text('"NaN"'), infinite))


def _quoted(written: pa.Array) -> pa.Array:
    """Quoted text that holds nothing to escape."""
    return concat('"', written, '"')


_WRITERS: dict[Kind, Callable[[pa.Array], pa.Array]] = {
    Kind.BOOLEAN: _number,
    Kind.INTEGER: _number,
    Kind.UNSIGNED: _number,
    Kind.SINGLE: _float,
    Kind.DOUBLE: _float,
    Kind.DECIMAL: lambda array: _quoted(_number(array)),
    Kind.TEXT: _string,
    Kind.BINARY: lambda array: _quoted(base64_text(array)),
    Kind.DATE: lambda array: _quoted(date_text(array)),
    Kind.TIME: lambda array: _quoted(_number(array)),
    Kind.DATETIME: lambda array: _quoted(timestamp_text(array)),
    Kind.INSTANT: lambda array: _quoted(timestamp_text(array)),
}
