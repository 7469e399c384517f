"""Fusion as a step of a pipeline: a thin shell that runs the pure parts in Spark's workers.

Tasks turn the observations they have into evidence, one parcel for each of Arrow's batches, and one place adds the
parcels up: the state of a single key, a few columns as bytes. So there is one Python call a batch, one for the state
and none for an object or a pair. Which task had which observation does not show, because evidence is added exactly.

What the place that adds up has to say leaves it as Arrow's bytes, one piece for each output, and is made rows of behind
it: rows never become Python objects.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from holdfast.process import Step, batches, python, sql
from meridian.fusion.contributions import Contributions
from meridian.fusion.errors import NotCatalogued
from meridian.fusion.figures import figures_of
from meridian.fusion.outputs import OUTPUTS, ROWS, Output, widened
from meridian.fusion.rows import Rows
from meridian.fusion.saved import packed, restored, saved, unpacked
from meridian.fusion.state import Fusion, Seen
from meridian.fusion.watermarks import Heard
from meridian.sensors import TRAITS, ObservationColumns, Row, SourceKind, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATENESS = {kind.prefix: TRAITS[kind].max_lateness_ns for kind in SourceKind}
"""How late observations of each sensor network may be: the sources whose watermarks are waited for."""
_LOG = logging.getLogger(__name__)

_PARCEL = "shard INT, parcel BINARY"
_NEWS = "route STRING, content BINARY"
_SCHEMA = pa.schema([("shard", pa.int32()), ("parcel", pa.binary())])


@dataclass(frozen=True)
class Fused:
    """What fusion is made of."""

    contributions: Contributions
    before_anything: Fusion
    """That has seen nothing."""

    @property
    def rows(self) -> Rows:
        """Writes what it finds."""
        of = self.contributions
        return Rows(of.references, of.objects, of.sites)


class Assembly(Protocol):
    """Makes the parts of fusion where they are needed; it is sent to Spark's workers, the parts are not."""

    def __call__(self) -> Fused:
        """The same parts each time."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Known:
    """Makes one parcel of what a batch of events says; an event that says nothing is given up, row by row."""

    assembly: Assembly

    def __call__(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The parcel; `NotCatalogued` when one of the events is of an object or a sensor that nobody knows."""
        contributions, observed = parts_of(self.assembly).contributions, observations_in(columns_of(events))
        known = contributions.known(observed)
        if not known.all():
            first = int(np.flatnonzero(~known)[0])
            who, what = observed.source_ids[first], observed.object_ids[first].as_py() or "something without a name"
            raise NotCatalogued(
                f"{who} saw {what}, and the catalog has no orbit that fits at that time, or nobody has said where the "
                "sensor stands.",
                remedy="Import elements of the object, or declare the sensor's site; then reprocess the dead letters.",
            )
        parcel = packed(seen_in([events], contributions))
        return pa.RecordBatch.from_arrays([pa.array([0], pa.int32()), pa.array([parcel], pa.binary())], schema=_SCHEMA)


@dataclass(frozen=True)
class Fuse:
    """A function from parcels to rows of the outputs."""

    assembly: Assembly

    def __call__(self, parcels: DataFrame) -> DataFrame:
        """The rows of all outputs; alerts among them are told early and corrected."""
        news = parcels.groupBy("shard").transformWithStateInPandas(
            _Correlating(self.assembly), _NEWS, outputMode="Update", timeMode="None"
        )
        return news.mapInArrow(_unfolded, from_arrow_schema(ROWS))


def fusing(assembly: Assembly) -> list[Step]:
    """The steps of a pipeline from the events of sensors to rows of the outputs."""
    needed = sql("SELECT event_id, `table`, `key`, payload FROM events")
    return [needed, batches(Known(assembly), schema=_PARCEL), python(Fuse(assembly))]


@lru_cache(maxsize=2)
def parts_of(assembly: Assembly) -> Fused:
    """The parts, made once in a worker."""
    return assembly()


def seen_in(events: Iterable[pa.RecordBatch], contributions: Contributions) -> Seen:
    """What is in these events, all of known objects and sensors."""
    seen = Seen()
    for batch in events:
        columns = columns_of(batch)
        observed = observations_in(columns)
        seen = seen + Seen(contributions.evidence(observed), heard_in(columns), figures_of(observed))
    return seen


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


@dataclass(frozen=True)
class _Left:
    """The state that a worker left behind, and the token that was written beside it."""

    assembly: Assembly
    token: str
    state: Fusion


_left: list[_Left] = []
"""The newest of this worker. A batch that finds its token in Spark's state need not read that state."""


class _Correlating(StatefulProcessor):
    """Runs where the state is."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._content = handle.getValueState("correlator", "content BINARY")
        self._token = handle.getValueState("token", "token STRING")

    def handleInputRows(  # noqa: N802 (Spark's name)
        self, key: object, rows: Iterator[pd.DataFrame], timers: object
    ) -> Iterator[pd.DataFrame]:
        parts, state = parts_of(self._assembly), self._before()
        seen = Seen()
        for some in rows:
            for parcel in some["parcel"]:
                seen = seen + unpacked(bytes(parcel))
        state, news = state.after(seen)
        if news.counts.dropped:
            mark = state.correlator.watermarks.all
            _LOG.warning("too late for every window: %d observations, watermark %s", news.counts.dropped, mark)
        content = saved(state)
        self._leave(state, content)
        for output, table in parts.rows.of(state, news, seen.figures, state_bytes=len(content)):
            yield pd.DataFrame({"route": [output.route], "content": [folded(table)]})

    def _before(self) -> Fusion:
        """The state as Spark has it; of a batch that Spark runs again that is an older one than this worker left."""
        token, nothing = self._token.get(), parts_of(self._assembly).before_anything
        for left in _left:
            if token is not None and (left.assembly, left.token) == (self._assembly, token[0]):
                return left.state
        content = self._content.get()
        return nothing if content is None else restored(bytes(content[0]), nothing)

    def _leave(self, state: Fusion, content: bytes) -> None:
        token = uuid4().hex
        self._content.update((content,))
        self._token.update((token,))
        _left[:] = [_Left(self._assembly, token, state)]

    def close(self) -> None:
        """Nothing is held."""


def folded(table: pa.Table) -> bytes:
    """Rows of one output as bytes."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return bytes(written.getvalue())


_BY_ROUTE = {output.route: output for output in OUTPUTS}


def _unfolded(news: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs behind the state."""
    for batch in news:
        for route, content in zip(batch["route"].to_pylist(), batch["content"].to_pylist(), strict=True):
            output: Output = _BY_ROUTE[route]
            yield from widened(output, pa.ipc.open_stream(content).read_all())
