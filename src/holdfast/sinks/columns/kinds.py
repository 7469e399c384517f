"""Sorts Arrow's many types into the few kinds that a sink tells apart. Converts storage, never values.

Arrow has several layouts for one thing (strings of 32 or 64 bit, views, dictionaries). `plain` brings a column into the
one layout that the rest of the package works on.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from holdfast.model.errors import Fatal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Kind(Enum):
    """What the values of a column are."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    UNSIGNED = "unsigned 64-bit integer"
    SINGLE = "single precision"
    DOUBLE = "double precision"
    DECIMAL = "decimal"
    TEXT = "text"
    BINARY = "binary"
    DATE = "date"
    TIME = "time of day"
    DATETIME = "date and time of no zone"
    INSTANT = "instant"
    LIST = "list"
    MAP = "map with text keys"
    STRUCT = "struct"


NESTED = frozenset({Kind.LIST, Kind.MAP, Kind.STRUCT})
"""The kinds that hold other columns."""


def kind_of(type_: pa.DataType, column: str) -> Kind:
    """The kind of a type; `Fatal` for one that no sink of ours can write, naming the column."""
    stored = stored_type(type_)
    for is_it, kind in _KINDS:
        if is_it(stored):
            return kind
    raise Fatal(
        f"Column {column!r} is of the Arrow type {type_}, which cannot be written.",
        remedy="Cast the column to another type in the last step of the pipeline.",
        column=column,
    )


def stored_type(type_: pa.DataType) -> pa.DataType:
    """The type of the values themselves, below extensions, dictionaries and runs."""
    if isinstance(type_, pa.BaseExtensionType):
        return stored_type(type_.storage_type)
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return stored_type(type_.value_type)
    return type_


def plain(array: pa.Array) -> pa.Array:
    """The same values in the one layout that stands for their kind."""
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if types.is_dictionary(array.type):
        return plain(array.dictionary_decode())
    if types.is_run_end_encoded(array.type):
        return plain(pc.run_end_decode(array))
    target = _plain_type(array.type)
    return array if target == array.type else array.cast(target)


def groups(rows: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    """The rows in groups of `size`, however the table happens to be cut: equal rows always give equal groups."""
    for start in range(0, rows.num_rows, size):
        yield from rows.slice(start, size).combine_chunks().to_batches()


def _is_text(type_: pa.DataType) -> bool:
    return any(is_it(type_) for is_it in (types.is_string, types.is_large_string, types.is_string_view))


def _is_binary(type_: pa.DataType) -> bool:
    variants = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(is_it(type_) for is_it in variants)


def _is_list(type_: pa.DataType) -> bool:
    views = (types.is_list_view, types.is_large_list_view)
    return any(is_it(type_) for is_it in (types.is_list, types.is_large_list, types.is_fixed_size_list, *views))


def _is_text_map(type_: pa.DataType) -> bool:
    return types.is_map(type_) and _is_text(type_.key_type)


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (types.is_null, Kind.NULL),
    (types.is_boolean, Kind.BOOLEAN),
    (types.is_uint64, Kind.UNSIGNED),
    (types.is_integer, Kind.INTEGER),
    (types.is_float64, Kind.DOUBLE),
    (types.is_floating, Kind.SINGLE),
    (types.is_decimal, Kind.DECIMAL),
    (_is_text, Kind.TEXT),
    (_is_binary, Kind.BINARY),
    (types.is_date, Kind.DATE),
    (types.is_time, Kind.TIME),
    (lambda type_: types.is_timestamp(type_) and type_.tz is None, Kind.DATETIME),
    (types.is_timestamp, Kind.INSTANT),
    (_is_list, Kind.LIST),
    (_is_text_map, Kind.MAP),
    (types.is_struct, Kind.STRUCT),
)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """The layout that stands for a type's kind."""
    if _is_text(type_):
        return pa.large_string()
    if _is_binary(type_):
        return pa.large_binary()
    if _is_list(type_):
        return pa.large_list(type_.value_field)
    if types.is_float16(type_):
        return pa.float32()
    if types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, tz="UTC")
    return type_
