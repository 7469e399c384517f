"""Observations as events of a durable log, and back: the record is the payload, sensor and object stand in columns.

`table` is the sensor and `key` the object, so whoever routes or groups events by them need not read a payload. The raw
bytes of the wire are not here; they go into a log of their own (see `raw_events`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.model.envelope import CAPTURED, Op
from holdfast.model.errors import UnknownFormat
from meridian.sensors.columns import RECORD, Form, ObservationColumns, Row, new_records
from meridian.sensors.identity import fixed_width, id_texts
from meridian.sensors.observation import ENVELOPE_VERSION, ClockKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from meridian.sensors.observation import SourceKind

_TIME = CAPTURED.field("event_time").type
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def events_of(columns: ObservationColumns, source: str) -> pa.RecordBatch:
    """Events that are each a transaction of its own. Their `position` is the sensor's time.

    :param source: the name of the log.
    """
    records, count = columns.records, len(columns)
    return _captured(
        count,
        {
            "event_id": id_texts(records["observation_id"]),
            "source": pa.repeat(source, count),
            "table": columns.source_ids,
            "key": columns.object_ids,
            "event_time": pa.array(records["sensor_ts_ns"] // 1000).cast(_TIME),
            "capture_time": pa.array(records["ingest_ts_ns"] // 1000).cast(_TIME),
            "position": pa.array(records["sensor_ts_ns"]).cast(pa.string()),
            "payload": fixed_width(pa.binary(), records.view(np.uint8).reshape(count, RECORD.itemsize)),
        },
    )


def columns_of(events: pa.RecordBatch) -> ObservationColumns:
    """What `events_of` or `heartbeat` made events of; `UnknownFormat` when the payloads are something else."""
    payload = events["payload"]
    lengths = pc.fill_null(pc.binary_length(payload), 0)
    if not pc.all(pc.equal(lengths, RECORD.itemsize), min_count=0).as_py():
        raise _unknown("of another size")
    records = np.frombuffer(_joined_values(payload), RECORD)
    if len(records) and int(records["version"].max()) > ENVELOPE_VERSION:
        raise _unknown(f"version {int(records['version'].max())}")
    return ObservationColumns(records, events["table"], events["key"])


def heartbeat(kind: SourceKind, source: str, *, through_ns: int, now_ns: int) -> ObservationColumns:
    """The row that says: from this source nothing older than `through_ns` is to be expected, though it is silent."""
    record = new_records(1, kind, Form.NONE, ClockKind.UNKNOWN)
    record["row"], record["sensor_ts_ns"], record["ingest_ts_ns"] = Row.HEARTBEAT, through_ns, now_ns
    return ObservationColumns(record, pa.array([source]), pa.nulls(1, pa.string()))


def raw_events(data: bytes, source: str, *, now_ns: int) -> pa.RecordBatch:
    """The bytes of the wire as they came in together, as one event of a log of their own."""
    return _captured(
        1,
        {
            "event_id": pa.array([""]),
            "source": pa.array([source]),
            "capture_time": pa.array([now_ns // 1000]).cast(_TIME),
            "position": pa.array([""]),
            "payload": pa.array([data], pa.binary()),
        },
    )


def time_of(nanoseconds: int) -> datetime:
    """A time of day, for what keeps microseconds."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _captured(count: int, given: Mapping[str, pa.Array]) -> pa.RecordBatch:
    alike = {"op": Op.MESSAGE.value, "tx_end": True, "schema_version": ENVELOPE_VERSION}
    return pa.RecordBatch.from_arrays(
        [
            given[field.name] if field.name in given else pa.repeat(pa.scalar(alike.get(field.name), field.type), count)
            for field in CAPTURED
        ],
        schema=CAPTURED,
    )


def _joined_values(payload: pa.BinaryArray) -> npt.NDArray[np.uint8]:
    """The bytes of all values, one behind the other, where they lie."""
    _, offsets, data = payload.buffers()
    if not len(payload):
        return np.empty(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int32)[payload.offset : payload.offset + len(payload) + 1]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]


def _unknown(what: str) -> UnknownFormat:
    return UnknownFormat(
        f"The payloads of these events are {what}, not records of version {ENVELOPE_VERSION}.",
        remedy="Read the log of a sensor network, with a version of this program that is not older than its writer.",
    )
