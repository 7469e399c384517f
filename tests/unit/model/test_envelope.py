"""An event has one shape in Arrow and in Spark, and the same event has the same bytes whenever it is captured."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from holdfast.model.envelope import CAPTURED, ENVELOPE, ENVELOPE_DDL, Op, event_id, event_ids, idempotency_key
from holdfast.model.positions import Lsn, Seq

POSITION = Lsn(0x16B374D848)

SPARK_TYPES = {
    pa.int64(): "BIGINT",
    pa.int32(): "INT",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.bool_(): "BOOLEAN",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
}
"""How Spark names the types of the envelope that are not nested. Spark's own parser needs a JVM."""


def an_event() -> dict[str, object]:
    return {
        "event_id": event_id("orders", POSITION, 2),
        "source": "orders",
        "tenant": "acme",
        "database": "shop",
        "schema": "public",
        "table": "orders",
        "op": Op.UPDATE.value,
        "key": '{"id":7}',
        "before": '{"id":7,"total":1}',
        "after": '{"id":7,"total":2}',
        "event_time": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        "capture_time": datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC),
        "tx_id": "731",
        "tx_end": True,
        "position": str(POSITION),
        "schema_version": 3,
        "headers": [{"key": "trace", "value": b"\x01\x02"}],
        "payload": b"\x00raw",
    }


def ipc_bytes(event: dict[str, object]) -> bytes:
    batch = pa.RecordBatch.from_pylist([{"seq": 1, **event}], schema=ENVELOPE)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, ENVELOPE) as writer:
        writer.write_batch(batch)
    return out.getvalue().to_pybytes()


def spark_name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"ARRAY<{spark_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{field.name}: {spark_field(field)}" for field in kind)
        return f"STRUCT<{fields}>"
    return SPARK_TYPES[kind]


def spark_field(field: pa.Field) -> str:
    return spark_name(field.type) + ("" if field.nullable else " NOT NULL")


@pytest.mark.req("X1")
def test_the_bytes_of_an_event_are_pinned() -> None:
    """A change here makes every event that is captured again another one than the first time."""
    digest = hashlib.sha256(ipc_bytes(an_event())).hexdigest()
    assert digest == "7d1a24ccc83ceffa664b0e1b67bfb9577b3bc75692dfefac858799ec4f74ce8f"


@pytest.mark.req("X1")
def test_an_event_captured_again_has_the_same_bytes() -> None:
    assert ipc_bytes(an_event()) == ipc_bytes(an_event())


@pytest.mark.req("X1")
def test_the_id_of_an_event_is_its_source_place_and_ordinal() -> None:
    assert event_id("orders", POSITION, 2) == f"orders/{POSITION}/2"


@pytest.mark.req("X1")
def test_ids_made_one_by_one_and_all_at_once_are_equal() -> None:
    positions = [Seq(1), Seq(1), Seq(9)]
    ordinals = [0, 1, 0]
    one_by_one = [event_id("s", position, ordinal) for position, ordinal in zip(positions, ordinals, strict=True)]
    at_once = event_ids("s", pa.array([str(position) for position in positions]), pa.array(ordinals, pa.int64()))
    assert at_once.to_pylist() == one_by_one


@pytest.mark.req("X1")
def test_the_idempotency_key_follows_from_the_event_alone() -> None:
    assert idempotency_key(an_event()) == f"acme|shop.orders|731|orders/{POSITION}/2"


def test_the_idempotency_key_of_an_event_without_a_table_keeps_its_places() -> None:
    event = an_event() | {"tenant": None, "database": None, "table": None, "tx_id": None}
    assert idempotency_key(event) == f"|.||orders/{POSITION}/2"


def test_the_arrow_and_the_spark_schema_agree() -> None:
    expected = ", ".join(f"{field.name} {spark_field(field)}" for field in ENVELOPE)
    assert expected == ENVELOPE_DDL


def test_an_event_in_the_inbox_is_the_captured_one_with_its_number_in_front() -> None:
    assert ENVELOPE.names == ["seq", *CAPTURED.names]
    assert not ENVELOPE.field("seq").nullable
