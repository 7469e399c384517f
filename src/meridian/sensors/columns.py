"""Many observations as columns: what the fast path works on, from the decoder to the log and from the log to Spark.

A record of fixed size holds all that is a number; the names of sensor and object stand beside it. Whether a value makes
sense is not decided here (see `validation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa

from meridian.sensors.identity import id_texts
from meridian.sensors.observation import (
    ENVELOPE_VERSION,
    Angular,
    ClockKind,
    ClockQuality,
    Observation,
    RangeRate,
    SourceKind,
    StateVector,
    Uncertainty,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from meridian.sensors.observation import Target


class Row(IntEnum):
    """What a row of a sensor's log is."""

    OBSERVATION = 0
    HEARTBEAT = 1
    """No observation: nothing older than its time is to be expected from this source, though it is silent."""


class Form(IntEnum):
    """Which of the three forms the six values of a record are."""

    NONE = 0
    RANGE_RATE = 1
    ANGULAR = 2
    STATE_VECTOR = 3


RECORD = np.dtype(
    [
        ("version", "u1"),
        ("row", "u1"),
        ("kind", "u1"),
        ("form", "u1"),
        ("clock", "u1"),
        ("reserved", "u1", (7,)),
        ("clock_age_s", "<u4"),
        ("observation_id", "u1", (16,)),
        ("sensor_ts_ns", "<i8"),
        ("ingest_ts_ns", "<i8"),
        ("values", "<f8", (6,)),
        ("sigma", "<f8"),
    ]
)
"""One row of a sensor's log, 104 bytes. `values` are range, range rate, azimuth and elevation, or right ascension and
declination, or position and velocity; what is left over is 0."""

OBSERVATION_SCHEMA = pa.schema(
    [
        pa.field("observation_id", pa.string(), nullable=False),
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("source_kind", pa.string(), nullable=False),
        pa.field("target_object_id", pa.string()),
        pa.field("sensor_ts_ns", pa.int64(), nullable=False),
        pa.field("ingest_ts_ns", pa.int64(), nullable=False),
        pa.field("row", pa.uint8(), nullable=False),
        pa.field("form", pa.uint8(), nullable=False),
        *(pa.field(f"value_{place}", pa.float64(), nullable=False) for place in range(6)),
        pa.field("sigma", pa.float64(), nullable=False),
        pa.field("clock_kind", pa.uint8(), nullable=False),
        pa.field("clock_age_s", pa.uint32(), nullable=False),
        pa.field("schema_version", pa.uint8(), nullable=False),
    ]
)
"""Observations as typed columns, for steps that want no records."""


@dataclass(frozen=True, slots=True, eq=False)
class ObservationColumns:
    """Observations of one source; the three columns are equally long."""

    records: npt.NDArray[np.void]
    """Of `RECORD`."""
    source_ids: pa.StringArray
    object_ids: pa.StringArray

    def __len__(self) -> int:
        return len(self.records)

    def where(self, chosen: npt.NDArray[np.bool_]) -> ObservationColumns:
        """Those that are chosen."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        return ObservationColumns(self.records[chosen], self.source_ids.filter(mask), self.object_ids.filter(mask))

    def digests(self) -> npt.NDArray[np.uint64]:
        """A number for each observation: the first half of its id."""
        ids = np.ascontiguousarray(self.records["observation_id"])
        return ids.view("<u8").reshape(len(self), 2)[:, 0]

    def keys(self) -> list[str]:
        """The ids as texts: the idempotency keys of the log."""
        texts: list[str] = id_texts(self.records["observation_id"]).to_pylist()
        return texts


def new_records(count: int, kind: SourceKind, form: Form, clock: ClockKind) -> npt.NDArray[np.void]:
    """Records of observations of one kind, all else 0."""
    records = np.zeros(count, RECORD)
    records["version"], records["kind"], records["form"], records["clock"] = ENVELOPE_VERSION, kind, form, clock
    return records


def joined(parts: Sequence[ObservationColumns]) -> ObservationColumns:
    """The observations of all parts, in their order; there is one part or more."""
    if len(parts) == 1:
        return parts[0]
    return ObservationColumns(
        np.concatenate([part.records for part in parts]),
        pa.concat_arrays([part.source_ids for part in parts]),
        pa.concat_arrays([part.object_ids for part in parts]),
    )


def to_arrow(columns: ObservationColumns) -> pa.RecordBatch:
    """Typed columns of the schema `OBSERVATION_SCHEMA`."""
    records = columns.records
    values = np.ascontiguousarray(records["values"].T)
    labels = pa.array(["", *(kind.label for kind in SourceKind)])
    return pa.RecordBatch.from_arrays(
        [
            id_texts(records["observation_id"]),
            columns.source_ids,
            labels.take(pa.array(records["kind"])),
            columns.object_ids,
            *(pa.array(records[name]) for name in ("sensor_ts_ns", "ingest_ts_ns", "row", "form")),
            *(pa.array(column) for column in values),
            *(pa.array(records[name]) for name in ("sigma", "clock", "clock_age_s", "version")),
        ],
        schema=OBSERVATION_SCHEMA,
    )


def max_skews_ns(records: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """By how many nanoseconds at most the times of these records may be off; `ClockQuality.max_skew_ns` for many."""
    age = records["clock_age_s"].astype(np.int64)
    by_kind = np.select(
        [records["clock"] == kind for kind in (ClockKind.GPS_LOCKED, ClockKind.NTP_SYNCED, ClockKind.ONBOARD_DRIFT)],
        [np.full(len(age), 1_000), 10_000_000 + 1_000_000 * (age // 60), 100_000 * age],
        default=5_000_000_000,
    )
    return by_kind.astype(np.int64)


def to_observations(columns: ObservationColumns) -> list[Observation]:
    """The observations as values, heartbeats left out. For tests and rare paths: one object each."""
    rows = zip(columns.records, columns.source_ids.to_pylist(), columns.object_ids.to_pylist(), strict=True)
    return [_observation(*row) for row in rows if row[0]["row"] == Row.OBSERVATION]


def from_observations(observations: Sequence[Observation]) -> ObservationColumns:
    """The columns of values, for tests and rare paths."""
    records = np.zeros(len(observations), RECORD)
    for record, observation in zip(records, observations, strict=True):
        _fill(record, observation)
    return ObservationColumns(
        records,
        pa.array([each.source_id for each in observations], pa.string()),
        pa.array([each.target_object_id for each in observations], pa.string()),
    )


def _observation(record: np.void, source_id: str, object_id: str | None) -> Observation:
    return Observation(
        observation_id=str(UUID(bytes=record["observation_id"].tobytes())),
        source_id=source_id,
        source_kind=SourceKind(record["kind"]).label,
        sensor_ts_ns=int(record["sensor_ts_ns"]),
        ingest_ts_ns=int(record["ingest_ts_ns"]),
        target=_target(Form(record["form"]), record["values"].tolist()),
        uncertainty=Uncertainty(float(record["sigma"])),
        clock_quality=ClockQuality(ClockKind(record["clock"]).label, int(record["clock_age_s"])),
        target_object_id=object_id,
    )


def _target(form: Form, values: list[float]) -> Target:
    match form:
        case Form.RANGE_RATE:
            return RangeRate(values[0], values[1], values[2], values[3])
        case Form.ANGULAR:
            return Angular(values[0], values[1])
        case _:
            x, y, z, dx, dy, dz = values
            return StateVector((x, y, z), (dx, dy, dz))


def _values(target: Target) -> tuple[Form, tuple[float, ...]]:
    match target:
        case RangeRate(range_m, range_rate, azimuth, elevation):
            return Form.RANGE_RATE, (range_m, range_rate, azimuth, elevation)
        case Angular(right_ascension, declination):
            return Form.ANGULAR, (right_ascension, declination)
        case StateVector(position, velocity):
            return Form.STATE_VECTOR, (*position, *velocity)


def _fill(record: np.void, observation: Observation) -> None:
    form, values = _values(observation.target)
    record["version"], record["form"] = ENVELOPE_VERSION, form
    record["kind"] = next(kind for kind in SourceKind if kind.label == observation.source_kind)
    record["clock"] = next(kind for kind in ClockKind if kind.label == observation.clock_quality.kind)
    record["clock_age_s"] = observation.clock_quality.age_s
    record["observation_id"] = np.frombuffer(UUID(observation.observation_id).bytes, np.uint8)
    record["sensor_ts_ns"], record["ingest_ts_ns"] = observation.sensor_ts_ns, observation.ingest_ts_ns
    record["values"][: len(values)] = values
    record["sigma"] = observation.uncertainty.sigma
