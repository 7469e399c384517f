"""The event log for people and other programs: every observation of the edge as one line of JSON in files.

A line has all fields of the envelope, ids as text and times as whole nanoseconds; `observation_of` reads it back
without loss. Of the measurement all forms stand side by side, and those that it has not are null. Which observation is
on which line, that each is on one, and that files appear whole, is the affair of the pipeline and of its sink.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from holdfast import BatchLimits, Files, Format, Pipeline, SinkSpec, batches
from holdfast.model.errors import InvalidPush
from meridian.sensors.columns import Form, Row
from meridian.sensors.events import columns_of
from meridian.sensors.identity import id_texts
from meridian.sensors.observation import ClockKind, SourceKind, from_json

if TYPE_CHECKING:
    import numpy.typing as npt

    from holdfast.capture import Source
    from meridian.sensors.columns import ObservationColumns
    from meridian.sensors.observation import Observation

NAME = "events"
ROTATE_AT = 64 << 20
"""Bytes; a file that is larger is followed by another."""
BATCHES = BatchLimits(max_events=100_000, max_wait=timedelta(seconds=1))

_SCALARS = {
    Form.RANGE_RATE: ("range_m", "range_rate_m_s", "az_rad", "el_rad"),
    Form.ANGULAR: ("ra_rad", "dec_rad"),
}
"""The names of the values of a form, in their order."""
_VECTORS = {"position_m": slice(0, 3), "velocity_m_s": slice(3, 6)}
_FORMS = {Form.RANGE_RATE: "RangeRate", Form.ANGULAR: "Angular", Form.STATE_VECTOR: "StateVector"}
_TARGET = ", ".join(
    [
        "kind: STRING",
        *(f"{name}: DOUBLE" for names in _SCALARS.values() for name in names),
        *(f"{name}: ARRAY<DOUBLE>" for name in _VECTORS),
    ]
)
SCHEMA = (
    "observation_id STRING, source_id STRING, source_kind STRING, target_object_id STRING, "
    f"sensor_ts_ns BIGINT, ingest_ts_ns BIGINT, target STRUCT<{_TARGET}>, uncertainty STRUCT<sigma: DOUBLE>, "
    "clock_quality STRUCT<kind: STRING, age_s: BIGINT>, schema_version INT"
)
"""Of a line, in Spark's words."""


def event_log(directory: Path, *sources: Source, limits: BatchLimits = BATCHES, rotate_at: int = ROTATE_AT) -> Pipeline:
    """The pipeline from logs of an edge to files, with everything it keeps below a directory.

    :param sources: `EdgeLog`s, with a consumer of their own.
    """
    files = Files(directory / NAME, format=Format.JSONL, rotate_at=rotate_at)
    return (
        Pipeline("event-log", directory=directory / "pipeline")
        .read(*sources)
        .process(batches(lines, schema=SCHEMA))
        .write(SinkSpec(name=NAME, sink=files))
        .batch(limits)
    )


def lines(events: pa.RecordBatch) -> pa.RecordBatch:
    """The observations among events of an edge, with the columns of a line; heartbeats are left out."""
    columns = columns_of(events)
    columns = columns.where(columns.records["row"] == Row.OBSERVATION)
    records = columns.records
    sigma, age = pa.array(records["sigma"]), pa.array(records["clock_age_s"].astype(np.int64))
    clock = _named(records["clock"], {int(kind): kind.label for kind in ClockKind})
    return pa.RecordBatch.from_pydict(
        {
            "observation_id": id_texts(records["observation_id"]),
            "source_id": columns.source_ids,
            "source_kind": _named(records["kind"], {int(kind): kind.label for kind in SourceKind}),
            "target_object_id": columns.object_ids,
            "sensor_ts_ns": pa.array(records["sensor_ts_ns"]),
            "ingest_ts_ns": pa.array(records["ingest_ts_ns"]),
            "target": _targets(columns),
            "uncertainty": pa.StructArray.from_arrays([sigma], ["sigma"]),
            "clock_quality": pa.StructArray.from_arrays([clock, age], ["kind", "age_s"]),
            "schema_version": pa.array(records["version"].astype(np.int32)),
        }
    )


def observation_of(line: str) -> Observation:
    """The observation on a line; `InvalidPush` when there is none."""
    with suppress(ValueError, RecursionError):  # `from_json` says what is wrong
        line = json.dumps(json.loads(line, object_pairs_hook=_without_nulls))
    return from_json(line)


def _without_nulls(fields: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in fields}) < len(fields):
        raise InvalidPush("This is no observation: a key comes twice.", remedy="Write each key once.")
    return {name: value for name, value in fields if value is not None}


def _targets(columns: ObservationColumns) -> pa.StructArray:
    forms, values = columns.records["form"], columns.records["values"]
    parts: dict[str, pa.Array] = {"kind": _named(forms, {int(form): name for form, name in _FORMS.items()})}
    for form, names in _SCALARS.items():
        for place, name in enumerate(names):
            parts[name] = pa.array(values[:, place], mask=forms != form)
    for name, places in _VECTORS.items():
        parts[name] = _vectors(values[:, places], forms == Form.STATE_VECTOR)
    return pa.StructArray.from_arrays(list(parts.values()), list(parts))


def _vectors(values: npt.NDArray[np.float64], is_there: npt.NDArray[np.bool_]) -> pa.ListArray:
    """Three numbers in each row where there are any, and null elsewhere."""
    offsets = np.concatenate([[0], np.cumsum(np.where(is_there, 3, 0))]).astype(np.int32)
    flat = pa.array(np.ascontiguousarray(values[is_there]).reshape(-1))
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(~is_there))


def _named(numbers: npt.NDArray[np.uint8], names: dict[int, str]) -> pa.StringArray:
    known = pa.array([names.get(number) for number in range(max(names) + 1)], pa.string())
    return known.take(pa.array(numbers))
