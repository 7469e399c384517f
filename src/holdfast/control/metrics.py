"""The status as Prometheus reads it: a table of names, and the text that is made of it. Names never change meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from holdfast.control.prometheus import Family, Sample, histogram, rendered
from holdfast.model.histogram import COARSE_BOUNDS

if TYPE_CHECKING:
    from holdfast.control.snapshot import LaneView, SourceView
    from holdfast.control.status import Status

_Labels = dict[str, str]
_Samples = Iterator[Sample] | Iterator[tuple[_Labels, float]]


class Metric(NamedTuple):
    """One family of numbers."""

    name: str
    kind: str
    """`gauge`, `counter` or `histogram`."""
    about: str
    samples: Callable[[Status], _Samples]


def exposition(status: Status) -> str:
    """The text."""
    return rendered(_family(metric, status) for metric in METRICS)


def _family(metric: Metric, status: Status) -> Family:
    pipeline = {"pipeline": status.snapshot.pipeline}
    samples = (Sample(*each) for each in metric.samples(status))
    return Family(
        metric.name,
        metric.kind,
        metric.about,
        (each._replace(labels={**pipeline, **each.labels}) for each in samples),
    )


def _one(of: Callable[[Status], float]) -> Callable[[Status], _Samples]:
    return lambda status: iter([({}, of(status))])


def _source(of: Callable[[SourceView], float]) -> Callable[[Status], _Samples]:
    return lambda status: (({"source": source.name}, of(source)) for source in status.snapshot.sources)


def _lane(of: Callable[[LaneView], float]) -> Callable[[Status], _Samples]:
    return lambda status: (({"sink": lane.name}, of(lane)) for lane in status.snapshot.lanes)


def _known(samples: Iterator[tuple[_Labels, float | None]]) -> _Samples:
    return ((labels, value) for labels, value in samples if value is not None)


def _components(status: Status) -> _Samples:
    for component, level in status.health.components.items():
        yield {"component": component}, level


def _alarms(status: Status) -> _Samples:
    for finding in status.health.findings:
        if finding.alarm is not None:
            yield {"alarm": finding.alarm.value, "component": finding.component}, 1


def _rows(status: Status) -> _Samples:
    for lane in status.snapshot.lanes:
        for outcome, rows in (("out", lane.rows_out), ("dead", lane.rows_dead), ("filtered", lane.rows_filtered)):
            yield {"sink": lane.name, "outcome": outcome}, rows


def _latencies(status: Status) -> _Samples:
    for lane in status.snapshot.lanes:
        if lane.latency.batches:
            for quantile, seconds in (("0.5", lane.latency.p50), ("0.99", lane.latency.p99), ("1", lane.latency.worst)):
                yield {"sink": lane.name, "quantile": quantile}, seconds


def _phases(status: Status) -> _Samples:
    for phase, seconds in status.snapshot.spark.timing.phases.items():
        yield {"phase": phase}, seconds


def _states(status: Status) -> _Samples:
    timing = status.snapshot.spark.timing
    return histogram({}, COARSE_BOUNDS, timing.state_counts, timing.state_seconds)


def _starts(status: Status) -> _Samples:
    for path, count in status.snapshot.spark.starts.items():
        yield {"path": path}, count


METRICS = (
    Metric("holdfast_ready", "gauge", "Whether the pipeline can make progress.", _one(lambda s: s.health.ready)),
    Metric(
        "holdfast_health_level", "gauge", "0 well, 1 degraded, 2 failing, 3 down, for every component.", _components
    ),
    Metric("holdfast_alarm", "gauge", "1 for every alarm that is raised.", _alarms),
    Metric("holdfast_source_events", "counter", "Events in the inbox since it was made.", _source(lambda v: v.end)),
    Metric(
        "holdfast_source_waiting_events", "gauge", "Captured and in no published batch.", _source(lambda v: v.waiting)
    ),
    Metric("holdfast_source_waiting_seconds", "gauge", "For how long the oldest waits.", _source(lambda v: v.age)),
    Metric(
        "holdfast_source_silent_seconds",
        "gauge",
        "For how long the source has not come back from being read.",
        _source(lambda v: v.silent),
    ),
    Metric(
        "holdfast_source_event_lag_seconds",
        "gauge",
        "Since the newest event in the inbox happened.",
        lambda status: _known(({"source": v.name}, v.event_lag) for v in status.snapshot.sources),
    ),
    Metric("holdfast_inbox_bytes", "gauge", "The size of the inbox.", _source(lambda v: v.nbytes)),
    Metric("holdfast_outbox_bytes", "gauge", "The size of the outbox.", _one(lambda s: s.snapshot.outbox.nbytes)),
    Metric("holdfast_outbox_batches", "counter", "Batches published.", _one(lambda s: s.snapshot.outbox.newest)),
    Metric(
        "holdfast_committed_batch",
        "gauge",
        "Up to where the policy has committed.",
        _one(lambda s: s.snapshot.outbox.committed),
    ),
    Metric("holdfast_sink_cursor", "gauge", "Up to where the sink has everything.", _lane(lambda v: v.cursor)),
    Metric("holdfast_sink_lag_batches", "gauge", "Batches that the sink lacks.", _lane(lambda v: v.lag_batches)),
    Metric("holdfast_sink_lag_rows", "gauge", "Rows that the sink lacks.", _lane(lambda v: v.lag_rows)),
    Metric("holdfast_sink_lag_seconds", "gauge", "How long ago the oldest was published.", _lane(lambda v: v.age)),
    Metric(
        "holdfast_sink_event_lag_seconds",
        "gauge",
        "Since the newest event happened that the sink has.",
        lambda status: _known(({"sink": v.name}, v.event_lag) for v in status.snapshot.lanes),
    ),
    Metric("holdfast_sink_in_flight", "gauge", "Batches sent and not answered.", _lane(lambda v: v.in_flight)),
    Metric("holdfast_sink_rows", "counter", "Rows read for the sink, by what became of them.", _rows),
    Metric(
        "holdfast_sink_latency_seconds", "gauge", "From capture to the sink's commit, of the last batches.", _latencies
    ),
    Metric(
        "holdfast_checkpoint_age_seconds",
        "gauge",
        "Since the cursors were written.",
        _one(lambda s: s.snapshot.checkpoint.age),
    ),
    Metric(
        "holdfast_checkpoint_bytes", "gauge", "The size of the cursors.", _one(lambda s: s.snapshot.checkpoint.nbytes)
    ),
    Metric(
        "holdfast_dead_letters", "gauge", "Entries in the dead letters.", _one(lambda s: s.snapshot.dead_letters.kept)
    ),
    Metric(
        "holdfast_dead_rows", "counter", "Rows that were given up.", _one(lambda s: s.snapshot.dead_letters.arrived)
    ),
    Metric("holdfast_disk_free_bytes", "gauge", "Free on the pipeline's disk.", _one(lambda s: s.snapshot.disk_free)),
    Metric("holdfast_query_restarts", "counter", "Restarts of the query.", _one(lambda s: s.snapshot.spark.restarts)),
    Metric(
        "holdfast_query_replays", "counter", "Batches that were run again.", _one(lambda s: s.snapshot.spark.replays)
    ),
    Metric("holdfast_query_starts", "counter", "Starts of the query, by where it began.", _starts),
    Metric(
        "holdfast_query_batches",
        "counter",
        "Batches that the query has run.",
        _one(lambda s: s.snapshot.spark.timing.batches),
    ),
    Metric(
        "holdfast_query_seconds",
        "counter",
        "Seconds that batches took, by phase; `triggerExecution` is all of it.",
        _phases,
    ),
    Metric(
        "holdfast_query_state_commit_seconds",
        "histogram",
        "What Spark took to write the state of a batch, added up over its tasks.",
        _states,
    ),
)
"""Every metric there is."""
