"""Columns as text, a whole column at once: what a database or a line of JSON is given for values that are not numbers.

Instants are RFC 3339 in UTC, with as many digits as their unit has. A date and time of no zone is the same without `Z`.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = pa.large_string()
_LENGTH_OF_SECONDS = len("2026-01-31T23:59:59")
_DIGITS = {"s": 0, "ms": 4, "us": 7, "ns": 10}
"""The length of a unit's fraction of a second, with its point."""


def text(value: str) -> pa.Scalar:
    """A constant, of the type that the columns of text have."""
    return pa.scalar(value, TEXT)


def concat(*parts: pa.Array | str) -> pa.Array:
    """The parts joined row by row; null where one of them is."""
    return pc.binary_join_element_wise(*(text(p) if isinstance(p, str) else p for p in parts), text(""))


def timestamp_text(array: pa.Array) -> pa.Array:
    """Instants, or dates and times of no zone, as text; `ArrowInvalid` for a year that has no four digits."""
    unit = array.type.unit
    spaced = pc.cast(array.cast(pa.timestamp(unit)), TEXT)
    _check_length(spaced, _LENGTH_OF_SECONDS + _DIGITS[unit])
    written = pc.replace_substring(spaced, " ", "T")
    return concat(written, "Z") if array.type.tz else written


def date_text(array: pa.Array) -> pa.Array:
    """Dates as text; `ArrowInvalid` for a year that has no four digits."""
    written = pc.cast(array.cast(pa.date32()), TEXT)
    _check_length(written, len("2026-01-31"))
    return written


def hex_text(array: pa.Array) -> pa.Array:
    """Bytes as PostgreSQL writes them."""
    return _each(array, lambda value: f"\\x{value.hex()}")


def base64_text(array: pa.Array) -> pa.Array:
    """Bytes as base64."""
    return _each(array, lambda value: binascii.b2a_base64(value, newline=False).decode("ascii"))


def _each(array: pa.Array, convert: Callable[[bytes], str]) -> pa.Array:
    return pa.array([None if value is None else convert(value) for value in array.to_pylist()], TEXT)


def _check_length(written: pa.Array, expected: int) -> None:
    odd = pc.not_equal(pc.binary_length(written), expected)
    if pc.any(odd).as_py():
        raise pa.ArrowInvalid(f"{written.filter(odd)[0]} is not in the years 0000 to 9999")
