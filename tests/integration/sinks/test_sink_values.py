"""Every kind of value comes back as it was, or its rows are refused with a sentence that names the column."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import Rejected
from tests.support.sink_decoding import shown
from tests.support.sink_lanes import Lanes, batch_of

if TYPE_CHECKING:
    from tests.support.sink_places import Place

NOW = datetime(2026, 11, 15, 12, 30, 59, 123456, tzinfo=UTC)
POINT = pa.struct([("x", pa.int32()), ("name", pa.string()), ("raw", pa.binary()), ("at", pa.timestamp("us", "UTC"))])
ODD_TEXT = [
    "",
    "a,b;c\td",
    "quote \" and '",
    "back\\slash",
    "\\N",
    "\\.",
    "line\nbreak\r\n\\.\n",
    "NULL",
    "Größe 😀 漢",
    None,
]

KEPT: dict[str, pa.Array] = {
    "null": pa.nulls(2),
    "boolean": pa.array([True, False, None]),
    **{str(type_): pa.array([0, 100, None], type_) for type_ in (pa.int8(), pa.int16(), pa.uint8(), pa.uint32())},
    "int64": pa.array([-(2**63), 2**63 - 1, None]),
    "uint64": pa.array([0, 2**63 - 1, None], pa.uint64()),
    "float16": pa.array([0.5, None], pa.float16()),
    "float32": pa.array([0.1, -1e20, 16777216.0, None], pa.float32()),
    "float64": pa.array([0.1, -1e300, 5e-324, float("inf"), float("-inf"), None]),
    "decimal": pa.array([Decimal("1.10"), Decimal("-0.01"), Decimal("99999999.99"), None], pa.decimal128(10, 2)),
    "decimal38": pa.array([Decimal("12345678901234567890.123456789012345678"), None], pa.decimal128(38, 18)),
    "decimal-small": pa.array([Decimal("0.0000000001"), Decimal("-0.0000000001")], pa.decimal128(20, 10)),
    "text": pa.array(ODD_TEXT),
    "large text": pa.array(ODD_TEXT, pa.large_string()),
    "dictionary": pa.array(["eu", "us", None, "eu"]).dictionary_encode(),
    "binary": pa.array([b"", b"\x00\xff\\x", bytes(range(256)), None]),
    "fixed binary": pa.array([b"abcd", None], pa.binary(4)),
    "date": pa.array([date(2026, 1, 31), date(1, 1, 1), date(9999, 12, 31), None]),
    "time": pa.array([time(0), time(23, 59, 59, 999999), None]),
    "timestamp": pa.array([datetime(2026, 1, 1, 1, 2, 3, 4), None], pa.timestamp("us")),  # noqa: DTZ001
    "timestamp s": pa.array([0, 1_700_000_000, None], pa.timestamp("s")),
    "instant": pa.array([NOW, datetime(1, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
    "instant ms": pa.array([1_700_000_000_123, None], pa.timestamp("ms", "UTC")),
    "instant ns": pa.array([1_700_000_000_123_456_000, None], pa.timestamp("ns", "UTC")),
    "instant elsewhere": pa.array([NOW, None], pa.timestamp("us", "Europe/Berlin")),
    "list": pa.array([[1, None, 3], [], None]),
    "list of text": pa.array([ODD_TEXT, [], None]),
    "list of floats": pa.array([[float("nan"), float("inf"), -0.5], None]),
    "list of decimals": pa.array([[Decimal("1.10"), None]], pa.list_(pa.decimal128(5, 2))),
    "list of lists": pa.array([[[1], [], None], None], pa.list_(pa.list_(pa.int16()))),
    "struct": pa.array(
        [{"x": 1, "name": 'a"b\n', "raw": b"\x00\xff", "at": NOW}, dict.fromkeys(POINT.names), None], POINT
    ),
    "list of structs": pa.array([[{"x": 1, "name": "é", "raw": None, "at": NOW}, None], []], pa.list_(POINT)),
    "map": pa.array([[("a", 1), ('q"', None)], [], None], pa.map_(pa.string(), pa.int64())),
}

REFUSED: dict[str, tuple[pa.Array, tuple[str, ...]]] = {
    "NaN": (pa.array([float("nan")]), ("sqlite",)),
    "NaN single": (pa.array([float("nan")], pa.float32()), ("sqlite",)),
    "large unsigned": (pa.array([2**64 - 1], pa.uint64()), ("sqlite",)),
    "nanoseconds": (pa.array([1], pa.timestamp("ns", "UTC")), ("postgres",)),
    "nanoseconds of a day": (pa.array([1], pa.time64("ns")), ("postgres",)),
    "text with NUL": (pa.array(["a\x00b"]), ("postgres",)),
    "list of text with NUL": (pa.array([["a\x00b"]]), ("postgres",)),
    "year 10000": (pa.array([253402300800], pa.timestamp("s", "UTC")), ("postgres", "sqlite", "files-jsonl", "http")),
    "year -1": (pa.array([-62198755200], pa.timestamp("s")), ("postgres", "sqlite", "files-jsonl", "http")),
    "date 10000": (pa.array([2932897], pa.int32()).cast(pa.date32()), ("postgres", "sqlite", "files-jsonl", "http")),
}
"""Values that some sinks, named by how their names start, have no way to keep."""


def rows_with(value: pa.Array) -> pa.Table:
    """Rows that any mode takes, with the value in a column."""
    numbers = pa.array(range(1, len(value) + 1), pa.int64())
    return pa.table({"seq": numbers, "id": numbers.cast(pa.string()), "value": value})


def delivered(lanes: Lanes, rows: pa.Table) -> str:
    lanes.open().deliver(batch_of(1, rows))
    return shown(lanes.read(rows.schema))


@pytest.mark.parametrize("name", KEPT)
def test_a_value_comes_back_as_it_was(lanes: Lanes, name: str) -> None:
    rows = rows_with(KEPT[name])
    assert delivered(lanes, rows) == shown(rows)


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_a_sink_cannot_keep_is_refused_and_never_changed(
    lanes: Lanes, request: pytest.FixtureRequest, name: str
) -> None:
    value, refusing = REFUSED[name]
    rows = rows_with(value)
    if not request.node.callspec.params["place"].startswith(refusing):
        assert delivered(lanes, rows) == shown(rows)
        return
    sink = lanes.open()
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Rejected):
            attempt(batch_of(1, rows))
    assert lanes.place.is_untouched()


def test_the_whole_envelope_comes_back_as_it_was(place: Place) -> None:
    event = {
        "seq": 7, "event_id": "orders/0/16B3748/0", "source": "orders", "database": "shop", "schema": "public",
        "table": "orders", "op": "u", "key": '{"id": 1}', "before": None, "after": '{"id": 1, "note": "ä\\n"}',
        "event_time": NOW, "capture_time": NOW, "tx_id": "771", "tx_end": True, "position": "0/16B3748",
        "schema_version": 3, "headers": [{"key": "trace", "value": b"\x01\xff"}, {"key": "none", "value": None}],
        "payload": b"\x00raw\xff", "tenant": None,
    }  # fmt: skip
    bare = event | {"seq": 8, "event_id": "orders/0/16B3748/1", "headers": None, "payload": None, "event_time": None}
    rows = pa.Table.from_pylist([event, bare], schema=ENVELOPE).append_column("id", pa.array(["a", "b"]))
    lanes = Lanes(place)
    with lanes.handles:
        assert delivered(lanes, rows) == shown(rows)
