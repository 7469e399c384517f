"""The one shape of an event, whatever source it came from: as an Arrow schema and as a Spark schema.

Identity is made of where an event stands in its source and of nothing else: no clock, no randomness. So an event that
is captured twice has the same id and the same bytes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from holdfast.model.positions import Position


class Op(StrEnum):
    """What happened to the row that the event is about."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    """A row found by a snapshot."""
    TRUNCATE = "t"
    MESSAGE = "m"
    """Not about a row: a push, a datagram, a log line."""


_TIME = pa.timestamp("us", tz="UTC")
_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))

CAPTURED = pa.schema(
    [
        pa.field("event_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("tenant", pa.string()),
        pa.field("database", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("table", pa.string()),
        pa.field("op", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("before", pa.string()),
        pa.field("after", pa.string()),
        pa.field("event_time", _TIME),
        pa.field("capture_time", _TIME, nullable=False),
        pa.field("tx_id", pa.string()),
        pa.field("tx_end", pa.bool_(), nullable=False),
        pa.field("position", pa.string(), nullable=False),
        pa.field("schema_version", pa.int32()),
        pa.field("headers", _HEADERS),
        pa.field("payload", pa.binary()),
    ]
)
"""An event as capture hands it in: everything but the number that the inbox gives it."""

ENVELOPE = pa.schema([pa.field("seq", pa.int64(), nullable=False), *CAPTURED])
"""An event as the inbox keeps it and as Spark reads it."""

ENVELOPE_DDL = (
    "seq BIGINT NOT NULL, event_id STRING NOT NULL, source STRING NOT NULL, tenant STRING, database STRING, "
    "schema STRING, table STRING, op STRING NOT NULL, key STRING, before STRING, after STRING, event_time TIMESTAMP, "
    "capture_time TIMESTAMP NOT NULL, tx_id STRING, tx_end BOOLEAN NOT NULL, position STRING NOT NULL, "
    "schema_version INT, headers ARRAY<STRUCT<key: STRING NOT NULL, value: BINARY>>, payload BINARY"
)
"""The same schema in Spark's words. `headers` is no map, because Spark's row hash refuses maps."""


def event_id(source: str, position: Position, ordinal: int) -> str:
    """The id of an event: its source, where it stands there, and its number among the events of that place."""
    return f"{source}/{position}/{ordinal}"


def event_id_around(source: str) -> tuple[str, str]:
    """What stands before and behind the position in the id of the first event of a place."""
    return f"{source}/", "/0"


def event_ids(source: str, positions: pa.StringArray, ordinals: pa.Int64Array | None = None) -> pa.StringArray:
    """The ids of many events at once. Without ordinals, each is the first of its place."""
    numbers = pa.scalar("0") if ordinals is None else ordinals.cast(pa.string())
    return pc.binary_join_element_wise(pa.scalar(source), positions, numbers, "/")


def idempotency_key(event: dict[str, object]) -> str:
    """The key under which a consumer can recognise an event it has seen: equal on every replay."""
    table = f"{event['database'] or ''}.{event['table'] or ''}"
    return f"{event['tenant'] or ''}|{table}|{event['tx_id'] or ''}|{event['event_id']}"
