"""Fusion as a step of a pipeline: a thin shell that runs the pure parts in Spark's workers.

Tasks turn the observations they have into evidence, one parcel each, and one place adds the parcels up: the state of a
single key, a few columns as bytes. So there is one Python call a task and one for the state, and none for an object or
a pair. Which task had which observation does not show, because evidence is added exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from holdfast.process import Step, batches, python
from meridian.fusion.alerts import ALERT_ROWS, alert_rows
from meridian.fusion.contributions import Contributions
from meridian.fusion.errors import NotCatalogued
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.saved import Fusion, packed, restored, saved, unpacked
from meridian.fusion.watermarks import Heard
from meridian.sensors import TRAITS, ObservationColumns, Row, SourceKind, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATENESS = {kind.prefix: TRAITS[kind].max_lateness_ns for kind in SourceKind}
"""How late observations of each sensor network may be: the sources whose watermarks are waited for."""
_LOG = logging.getLogger(__name__)

_PARCEL = "shard INT, parcel BINARY"
_SCHEMA = pa.schema([("shard", pa.int32()), ("parcel", pa.binary())])


@dataclass(frozen=True)
class Fused:
    """What fusion is made of."""

    contributions: Contributions
    before_anything: Fusion
    """A correlator that has seen nothing."""


class Assembly(Protocol):
    """Makes the parts of fusion where they are needed; it is sent to Spark's workers, the parts are not."""

    def __call__(self) -> Fused:
        """The same parts each time."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Fuse:
    """A function from the events of sensors to rows of alerts."""

    assembly: Assembly

    def __call__(self, events: DataFrame) -> DataFrame:
        """The alerts, told early and corrected."""
        parcels = events.select("table", "key", "payload").mapInArrow(_Parcels(self.assembly), _PARCEL)
        return parcels.groupBy("shard").transformWithStateInPandas(
            _Correlating(self.assembly), ALERT_ROWS, outputMode="Update", timeMode="None"
        )


@dataclass(frozen=True)
class Known:
    """Lets heartbeats and observations through that say something; what does not is given up row by row."""

    assembly: Assembly

    def __call__(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The same events; `NotCatalogued` when one of them is of an object or a sensor that nobody knows."""
        of = observations_in(columns_of(events))
        known = parts_of(self.assembly).contributions.known(of)
        if not known.all():
            first = int(np.flatnonzero(~known)[0])
            raise NotCatalogued(
                f"{of.source_ids[first]} saw {of.object_ids[first]}, and the catalog has no orbit of it at that time, "
                "or nobody has said where the sensor stands.",
                remedy="Import elements of the object, or declare the sensor's site; then reprocess the dead letters.",
            )
        return events


def fusing(assembly: Assembly) -> list[Step]:
    """The steps of a pipeline from the events of sensors to rows of alerts."""
    return [batches(Known(assembly)), python(Fuse(assembly))]


@lru_cache(maxsize=2)
def parts_of(assembly: Assembly) -> Fused:
    """The parts, made once in a worker."""
    return assembly()


def parcel_of(events: Iterable[pa.RecordBatch], contributions: Contributions) -> bytes:
    """What one task has seen."""
    evidence, heard = Evidence.nothing(COLUMNS), dict[str, Heard]()
    for batch in events:
        seen = columns_of(batch)
        evidence = evidence + contributions.evidence(observations_in(seen))
        heard = together(heard, heard_in(seen))
    return packed(evidence, heard)


def observations_in(seen: ObservationColumns) -> ObservationColumns:
    """Without the heartbeats."""
    return seen.where(seen.records["row"] == Row.OBSERVATION)


def heard_in(seen: ObservationColumns) -> dict[str, Heard]:
    """How far the sources in these columns have come."""
    records, heard = seen.records, dict[str, Heard]()
    for kind in SourceKind:
        of_kind = records["kind"] == kind
        observed, beats = (records[of_kind & (records["row"] == row)] for row in (Row.OBSERVATION, Row.HEARTBEAT))
        if len(observed) or len(beats):
            heard[kind.prefix] = Heard.of(observed["sensor_ts_ns"], observed["ingest_ts_ns"], beats["sensor_ts_ns"])
    return heard


def together(one: Mapping[str, Heard], other: Mapping[str, Heard]) -> dict[str, Heard]:
    """What was heard by two tasks."""
    both = dict(one)
    for source, news in other.items():
        known = both.get(source, Heard())
        both[source] = Heard(_later(known.newest, news.newest), _later(known.quiet, news.quiet))
    return both


def _later(one: int | None, other: int | None) -> int | None:
    return max((time for time in (one, other) if time is not None), default=None)


@dataclass(frozen=True)
class _Parcels:
    """Runs in every task."""

    assembly: Assembly

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parcel = parcel_of(batches, parts_of(self.assembly).contributions)
        yield pa.RecordBatch.from_arrays([pa.array([0], pa.int32()), pa.array([parcel], pa.binary())], schema=_SCHEMA)


class _Correlating(StatefulProcessor):
    """Runs where the state is."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("correlator", "content BINARY")

    def handleInputRows(  # noqa: N802 (Spark's name)
        self, key: object, rows: Iterator[pd.DataFrame], timers: object
    ) -> Iterator[pd.DataFrame]:
        empty = parts_of(self._assembly).before_anything
        kept = self._state.get() if self._state.exists() else None
        state = empty if kept is None else restored(bytes(kept[0]), empty)
        evidence, heard = Evidence.nothing(COLUMNS), dict[str, Heard]()
        for some in rows:
            for parcel in some["parcel"]:
                part, news = unpacked(bytes(parcel))
                evidence, heard = evidence + part, together(heard, news)
        state, words, counts = state.after(evidence, heard)
        if counts.dropped:
            _LOG.warning(
                "too late for every window: %d observations, watermark %s", counts.dropped, state.watermarks.all
            )
        self._state.update((saved(state),))
        if words:
            yield alert_rows(words, state)

    def close(self) -> None:
        """Nothing is held."""
