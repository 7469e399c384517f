"""Columns as JSON text, against an encoder that goes value by value."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.errors import Fatal
from holdfast.sinks.columns.jsontext import json_lines, json_text, nested_text

INSTANTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats()),
    (pa.string(), TEXTS),
    (pa.binary(), st.binary()),
    (pa.decimal128(12, 3), st.decimals(-(10**8), 10**8, places=3)),
    (pa.timestamp("us", "UTC"), INSTANTS),
    (pa.date32(), st.dates()),
]


def expected(value: Any, type_: pa.DataType) -> Any:
    """The value as JSON has it."""
    match value:
        case list() if pa.types.is_map(type_):
            return {key: expected(item, type_.item_type) for key, item in value}
        case list():
            return [expected(item, type_.value_type) for item in value]
        case dict():
            return {field.name: expected(value[field.name], field.type) for field in type_}
        case float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value.quantize(Decimal("0.001")))
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        case date():
            return value.isoformat()
        case _:
            return value


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    """A column of any type, up to two levels deep, nulls at every level."""
    type_, values = draw(st.sampled_from(LEAVES))
    for _ in range(draw(st.integers(0, 2))):
        values = st.none() | values
        type_, values = draw(
            st.sampled_from(
                [
                    (pa.list_(type_), st.lists(values, max_size=3)),
                    (pa.struct([("a", type_), ('b"', type_)]), st.fixed_dictionaries({"a": values, 'b"': values})),
                    (
                        pa.map_(pa.string(), type_),
                        st.dictionaries(TEXTS, values, max_size=3).map(lambda d: list(d.items())),
                    ),
                ]
            )
        )
    return pa.array(draw(st.lists(st.none() | values, max_size=6)), type_)


@given(columns(), st.integers(0, 3))
def test_every_row_says_what_its_value_is(column: pa.Array, skipped: int) -> None:
    column = column.slice(skipped)
    texts = json_text(column, "c").to_pylist()
    assert [json.loads(text) for text in texts] == [expected(value, column.type) for value in column.to_pylist()]


@given(columns())
def test_lines_are_one_object_each_and_have_no_line_break_inside(column: pa.Array) -> None:
    lines = json_lines(pa.record_batch({"c": column})).to_pylist()
    assert all(line.endswith("}\n") and "\n" not in line[:-1] and "\r" not in line for line in lines)
    assert [list(json.loads(line)) for line in lines] == [["c"]] * len(column)


def test_null_is_a_text_inside_json_and_none_in_a_database() -> None:
    lists = pa.array([[None], None])
    assert json_text(lists, "c").to_pylist() == ["[null]", "null"]
    assert nested_text(lists, "c").to_pylist() == ["[null]", None]


def test_a_float_is_written_so_that_it_is_read_back_as_the_same() -> None:
    numbers = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 1e16, -0.0]
    assert [float(text) for text in json_text(pa.array(numbers), "c").to_pylist()] == numbers


@pytest.mark.parametrize(
    "array", [pa.array([1], pa.duration("us")), pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))]
)
def test_a_type_that_has_no_text_is_named_with_its_column(array: pa.Array) -> None:
    with pytest.raises(Fatal, match=r"Column 'odd' is of the Arrow type"):
        json_lines(pa.record_batch({"odd": pa.array([array.to_pylist()], pa.list_(array.type))}))
