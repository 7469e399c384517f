"""Reads back what a sink wrote: the values a reader finds, as the Arrow type they had before.

This is the inverse that the documentation of the sinks promises, written without their code.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyarrow import types


def decoded(values: list[Any], type_: pa.DataType) -> pa.Array:
    """A column of the type, from values as JSON, SQLite or PostgreSQL give them."""
    if types.is_dictionary(type_):
        return decoded(values, type_.value_type).dictionary_encode()
    if _is_nested(type_):
        return pa.array([_nested(value, type_) for value in values], type_)
    if any(isinstance(value, datetime) for value in values):
        return pa.array(values, type_)
    if types.is_timestamp(type_) and type_.tz not in (None, "UTC"):
        return decoded(values, pa.timestamp(type_.unit, "UTC")).cast(type_)
    if types.is_time(type_):
        days = [None if value is None else f"1970-01-01T{value}" for value in values]
        return decoded(days, pa.timestamp(type_.unit)).cast(type_)
    if types.is_binary(type_) or types.is_fixed_size_binary(type_):
        return pa.array([base64.b64decode(value) if isinstance(value, str) else value for value in values], type_)
    if types.is_boolean(type_):
        return pa.array([None if value is None else bool(value) for value in values], type_)
    if types.is_floating(type_):
        return pa.array([None if value is None else float(value) for value in values], pa.float64()).cast(type_)
    if types.is_integer(type_) or types.is_null(type_):
        return pa.array([None if value is None else int(value) for value in values], type_)
    return pa.array([None if value is None else str(value) for value in values], pa.string()).cast(type_)


def shown(table: pa.Table) -> str:
    """All values as text that is equal when they are, NaN and years without four digits included."""
    is_plain = [types.is_temporal(field.type) for field in table.schema]
    columns = [c.cast(pa.string()) if plain else c for plain, c in zip(is_plain, table.columns, strict=True)]
    return repr([column.to_pylist() for column in columns])


def _is_nested(type_: pa.DataType) -> bool:
    return bool(types.is_list(type_) or types.is_large_list(type_) or types.is_struct(type_) or types.is_map(type_))


def _nested(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if types.is_map(type_):
        return [(key, _nested(item, type_.item_type)) for key, item in value.items()]
    if types.is_struct(type_):
        return {field.name: _nested(value[field.name], field.type) for field in type_}
    if _is_nested(type_):
        return [_nested(item, type_.value_type) for item in value]
    return decoded([value], type_)[0].as_py()
