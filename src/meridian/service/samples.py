"""Which numbers of a snapshot stand under which labels: the samples that metrics are made of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from holdfast.control.prometheus import Sample, histogram
from holdfast.model.histogram import COARSE_BOUNDS
from meridian.sensors.meters import LAG_BOUNDS_S
from meridian.service.values import Snapshot

if TYPE_CHECKING:
    from meridian.service.delays import Spread
    from meridian.service.seen import OperatorSeen, PipelineSeen, SensorSeen
    from meridian.service.values import Progress, SourceProgress

_KERNEL = "kernel"
Samples = Callable[[Snapshot], Iterator[Sample]]


def of_progress(of: Callable[[Progress], float | None]) -> Samples:
    """One number of the newest batch."""

    def samples(seen: Snapshot) -> Iterator[Sample]:
        value = None if seen.progress is None else of(seen.progress)
        if value is not None:
            yield Sample({}, value)

    return samples


def of_networks(of: Callable[[SourceProgress], float | None]) -> Samples:
    """A number of each network in fusion."""

    def samples(seen: Snapshot) -> Iterator[Sample]:
        for source in seen.progress.sources if seen.progress else ():
            if (value := of(source)) is not None:
                yield Sample({"source": source.source}, value)

    return samples


def of_sensors(of: Callable[[SensorSeen], float | None], label: str = "source") -> Samples:
    """A number of each source at the edge."""

    def samples(seen: Snapshot) -> Iterator[Sample]:
        for sensor in seen.edge.sensors if seen.edge else ():
            if (value := of(sensor)) is not None:
                yield Sample({label: sensor.source}, value)

    return samples


def of_operators(of: Callable[[OperatorSeen], float]) -> Samples:
    """A number of each operator of the edge."""

    def samples(seen: Snapshot) -> Iterator[Sample]:
        for operator in seen.edge.operators if seen.edge else ():
            yield Sample({"operator": operator.operator}, of(operator))

    return samples


def of_pipeline(of: Callable[[PipelineSeen], float], **labels: str) -> Samples:
    """A number of the pipeline, while somebody answers for it."""

    def samples(seen: Snapshot) -> Iterator[Sample]:
        if seen.pipeline is not None:
            yield Sample(labels, of(seen.pipeline))

    return samples


def both(*parts: Samples) -> Samples:
    """The samples of several, one after the other."""
    return lambda seen: (sample for part in parts for sample in part(seen))


def source_lags(seen: Snapshot) -> Iterator[Sample]:
    """Fusion counts them exactly once over all its runs, and keeps no sum."""
    for source in seen.progress.sources if seen.progress else ():
        if source.source_lags:
            yield from histogram({"source": source.source}, LAG_BOUNDS_S, source.source_lags, None)


def pipeline_lags(seen: Snapshot) -> Iterator[Sample]:
    """Of the batches that were looked at."""
    for source, lags in sorted(seen.pipeline_lags.items()):
        yield from histogram({"source": source}, LAG_BOUNDS_S, lags.counts, lags.total_s)


def occupancy(seen: Snapshot) -> Iterator[Sample]:
    """What waits in each queue."""
    return (Sample({"edge": each.edge}, each.count) for each in seen.occupancies)


def capacity(seen: Snapshot) -> Iterator[Sample]:
    """What each queue may hold."""
    return (Sample({"edge": each.edge}, each.capacity) for each in seen.occupancies)


def windows(seen: Snapshot) -> Iterator[Sample]:
    """Windows that are open, and that are kept."""
    if seen.progress is not None:
        yield Sample({"tier": "active"}, seen.progress.active)
        yield Sample({"tier": "retained"}, seen.progress.retained)


def breakers(seen: Snapshot) -> Iterator[Sample]:
    """Of the client that asks the archive, and of each table."""
    for sensor in seen.edge.sensors if seen.edge else ():
        if sensor.breaker is not None:
            yield Sample({"breaker": sensor.source}, sensor.breaker)
    for sink in seen.pipeline.sinks if seen.pipeline else ():
        yield Sample({"breaker": f"sink {sink.sink}"}, sink.breaker)


def discards(seen: Snapshot) -> Iterator[Sample]:
    """What the edge never took because it can be nothing of ours, or left out on purpose."""
    for sensor in seen.edge.sensors if seen.edge else ():
        dropped = sum(count for cause, count in sensor.drops.items() if cause != _KERNEL)
        yield Sample({"operator": sensor.source}, dropped + sensor.outside)


def policy_drops(seen: Snapshot) -> Iterator[Sample]:
    """Of what the edges let go: what the kernel had no room for while we made it wait, and what was shed."""
    for sensor in seen.edge.sensors if seen.edge else ():
        if _KERNEL in sensor.drops:
            labels = {"policy": "backpressure", "priority": "none", "edge": f"{sensor.source} -> {sensor.log}"}
            yield Sample(labels, sensor.drops[_KERNEL])
    for feed in seen.feeds:
        yield Sample({"policy": "shed", "priority": "low", "edge": f"{feed.log} -> fusion"}, feed.shed)


def of_figures(name: str) -> Samples:
    """What the parts of fusion within this process say of themselves under a name."""
    return lambda seen: (Sample(each.labels, each.value) for each in seen.figures if each.name == name)


def consumer_lags(seen: Snapshot) -> Iterator[Sample]:
    """How far behind consumers of the edge's logs are; a log has one partition."""
    for sensor in seen.edge.sensors if seen.edge else ():
        for consumer, lag in sensor.consumer_lag.items():
            yield Sample({"topic": sensor.log, "partition": "0", "consumer": consumer}, lag)


def state_age(seen: Snapshot) -> Iterator[Sample]:
    """Since what the correlator remembers was written: it is, with every batch."""
    if seen.progress is not None and seen.progress.judged_ns is not None:
        yield Sample({"operator": "correlator"}, (seen.at_ns - seen.progress.judged_ns) / 1e9)


def state_bytes(seen: Snapshot) -> Iterator[Sample]:
    """The size of what the correlator remembers."""
    if seen.progress is not None:
        yield Sample({"operator": "correlator"}, seen.progress.state_bytes)


def pauses(seen: Snapshot) -> Iterator[Sample]:
    """For how long a batch of fusion waited until the state was written."""
    if seen.pipeline is not None and seen.pipeline.pauses:
        bounds = [bound * 1000 for bound in COARSE_BOUNDS]
        total = seen.pipeline.pause_seconds * 1000
        yield from histogram({"operator": "correlator"}, bounds, seen.pipeline.pauses, total)


def starts(seen: Snapshot) -> Iterator[Sample]:
    """From where fusion's state came when its query was started."""
    for path, count in seen.pipeline.starts.items() if seen.pipeline else ():
        yield Sample({"operator": "correlator", "path": path}, count)


def dead_letters(seen: Snapshot) -> Iterator[Sample]:
    """What was given up, by place and kind."""
    return (Sample({"operator": each.operator, "error_kind": each.kind}, each.count) for each in seen.dead)


def alarms(seen: Snapshot) -> Iterator[Sample]:
    """Those that are raised."""
    return (Sample({"alarm": each.name, "about": each.about, "severity": each.severity}, 1) for each in seen.alarms)


def delays(seen: Snapshot) -> Iterator[Sample]:
    """From observation to alert: the whole of it and its parts, and of first words alone."""
    delay = seen.delay
    if delay.words:
        yield from _spread(delay.whole, part="whole")
        yield from _spread(delay.source, part="source")
        yield from _spread(delay.pipeline, part="pipeline")
        yield from _spread(delay.raised, part="raised")


def closing(seen: Snapshot) -> Iterator[Sample]:
    """From the newest observation to what is said because a window was closed."""
    if seen.delay.closed.worst_s:
        yield from _spread(seen.delay.closed)


def _spread(spread: Spread, **labels: str) -> Iterator[Sample]:
    for quantile, seconds in (("0.5", spread.p50_s), ("0.99", spread.p99_s), ("1", spread.worst_s)):
        yield Sample({**labels, "quantile": quantile}, seconds)


def sink_delays(seen: Snapshot) -> Iterator[Sample]:
    """From capture in fusion to the commit of each table."""
    for sink in seen.pipeline.sinks if seen.pipeline else ():
        for quantile, seconds in zip(("0.5", "0.99", "1"), sink.latency_s, strict=True):
            yield Sample({"sink": sink.sink, "quantile": quantile}, seconds)


def one(of: Callable[[Snapshot], float]) -> Samples:
    """One number that there always is."""
    return lambda seen: iter([Sample({}, of(seen))])
