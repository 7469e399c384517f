"""Looks over the edge before it is used: the graph that it runs, and that an observation keeps its id on every stage.

An id follows from what the sensor sent, and everything behind the edge goes by it. So each stage is given probes, whose
times tell them apart, and is looked at for what comes out: ids that are not those of the probes, and probes that come
twice. To be run as a test on the stations of a document, and on no others: stages remember what they have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from holdfast.flow import Finding, FindingKind, audit
from meridian.sensors.columns import from_observations
from meridian.sensors.events import columns_of, events_of
from meridian.sensors.graph import edge_graph
from meridian.sensors.identity import NAMESPACE
from meridian.sensors.observation import (
    Angular,
    ClockQuality,
    Observation,
    RangeRate,
    SourceKind,
    StateVector,
    Target,
    Uncertainty,
)
from meridian.sensors.screening import Candidates

if TYPE_CHECKING:
    from meridian.sensors.columns import ObservationColumns
    from meridian.sensors.station import Station

MODULES = (
    "meridian.sensors.flights",
    "meridian.sensors.landing",
    "meridian.sensors.pump",
    "meridian.sensors.sources.archive_client",
    "meridian.sensors.sources.isl_tcp",
    "meridian.sensors.sources.optical_http",
    "meridian.sensors.sources.radar_udp",
)
"""What the operators of the edge use."""

PROBES = 8
_AT_NS = 1_760_000_000_000_000_000
_SEEN: dict[SourceKind, Target] = {
    SourceKind.RADAR: RangeRate(9e5, -6e3, 1.0, 0.5),
    SourceKind.OPTICAL: Angular(1.0, 0.5),
    SourceKind.INTER_SATELLITE_LINK: StateVector((7e6, 0.0, 0.0), (0.0, 7.5e3, 0.0)),
}
_Stages = Iterator[tuple[str, Callable[["ObservationColumns"], "ObservationColumns"]]]


def audit_edge(stations: Sequence[Station]) -> tuple[Finding, ...]:
    """All that is amiss with the graph of these stations, and with their stages."""
    graph = audit(edge_graph(stations).declared(), modules=MODULES)
    return (*graph, *(finding for station in stations for finding in changed_ids(station)))


def changed_ids(station: Station) -> Iterator[Finding]:
    """The stages of a station out of which an observation comes as another."""
    given = probes(station.source.kind)
    for name, stage in _stages(station):
        if detail := _difference(given, stage(given)):
            yield Finding(f"{station.source.name}: {name}", FindingKind.CHANGED_IDENTITY, detail)


def probes(kind: SourceKind) -> ObservationColumns:
    """Observations as a sensor of this kind may well make them."""
    return from_observations(
        [
            Observation(
                observation_id=str(uuid5(NAMESPACE, f"probe {number}")),
                source_id=f"{kind.prefix}-1",
                source_kind=kind.label,
                sensor_ts_ns=_AT_NS + number,
                ingest_ts_ns=_AT_NS + PROBES,
                target=_SEEN[kind],
                uncertainty=Uncertainty(1e-5),
                clock_quality=ClockQuality("GpsLocked"),
            )
            for number in range(PROBES)
        ]
    )


def _stages(station: Station) -> _Stages:
    """Everything between the decoder and the log, in order."""
    screen, landing, log = station.source.screen, station.landing, station.landing.inbox.name
    yield "screen", lambda given: screen(Candidates(given, [b""] * len(given))).good
    for stage in landing.stages:
        yield getattr(stage, "__name__", type(stage).__name__), lambda given, stage=stage: stage(given, _AT_NS)  # type: ignore[misc]
    yield "events", lambda given: columns_of(events_of(given, log))


def _difference(given: ObservationColumns, found: ObservationColumns) -> str | None:
    """What is wrong with what came out; None when nothing is."""
    known, came = dict(_identities(given)), list(_identities(found))
    if not came:
        return "it lets no probe through, so nobody knows"
    strange = [str(UUID(bytes=identity)) for time, identity in came if known.get(time) != identity]
    if strange:
        return f"{len(strange)} of {len(came)} probes came out with another id: {strange[0]}"
    return "a probe came out twice" if len(set(came)) < len(came) else None


def _identities(columns: ObservationColumns) -> Iterator[tuple[int, bytes]]:
    records = columns.records
    ids = [identity.tobytes() for identity in records["observation_id"]]
    yield from zip(records["sensor_ts_ns"].tolist(), ids, strict=True)
