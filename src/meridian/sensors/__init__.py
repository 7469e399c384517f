"""The ingest edge: three sensor networks become one stream of observations, durable before anybody sees them.

The names are loaded when they are first used, so whoever only reads observations loads no network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from meridian.sensors.area import Area
    from meridian.sensors.columns import (
        OBSERVATION_SCHEMA,
        RECORD,
        Form,
        ObservationColumns,
        Row,
        from_observations,
        max_skews_ns,
        to_arrow,
        to_observations,
    )
    from meridian.sensors.config import EdgeDocument, load, parse
    from meridian.sensors.edge import Edge
    from meridian.sensors.edge_log import EdgeLog
    from meridian.sensors.events import columns_of, events_of, heartbeat
    from meridian.sensors.identity import NAMESPACE, observation_ids
    from meridian.sensors.landing import Landing, Repeats
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
        from_json,
    )
    from meridian.sensors.priority import Classifier, RecentObjects
    from meridian.sensors.pump import Pump
    from meridian.sensors.screening import Candidates, ErrorKind, Refusal, Screen, Screened
    from meridian.sensors.source import TRAITS, ObservationSource, Taken, Traits
    from meridian.sensors.sources.archive_client import Mode, Polling
    from meridian.sensors.sources.isl_tcp import IslTcp
    from meridian.sensors.sources.optical_http import OpticalHttp
    from meridian.sensors.sources.radar_udp import RadarUdp
    from meridian.sensors.validation import Bounds, Catalog, Physics, Sensors, UnknownObjects, standard_rules

_HOMES = {
    "meridian.sensors.area": ("Area",),
    "meridian.sensors.columns": (
        "OBSERVATION_SCHEMA",
        "RECORD",
        "Form",
        "ObservationColumns",
        "Row",
        "from_observations",
        "max_skews_ns",
        "to_arrow",
        "to_observations",
    ),
    "meridian.sensors.config": (
        "EdgeDocument",
        "load",
        "parse",
    ),
    "meridian.sensors.edge": ("Edge",),
    "meridian.sensors.edge_log": ("EdgeLog",),
    "meridian.sensors.events": (
        "columns_of",
        "events_of",
        "heartbeat",
    ),
    "meridian.sensors.identity": (
        "NAMESPACE",
        "observation_ids",
    ),
    "meridian.sensors.landing": (
        "Landing",
        "Repeats",
    ),
    "meridian.sensors.observation": (
        "ENVELOPE_VERSION",
        "Angular",
        "ClockKind",
        "ClockQuality",
        "Observation",
        "RangeRate",
        "SourceKind",
        "StateVector",
        "Uncertainty",
        "from_json",
    ),
    "meridian.sensors.priority": (
        "Classifier",
        "RecentObjects",
    ),
    "meridian.sensors.pump": ("Pump",),
    "meridian.sensors.screening": (
        "Candidates",
        "ErrorKind",
        "Refusal",
        "Screen",
        "Screened",
    ),
    "meridian.sensors.source": (
        "TRAITS",
        "ObservationSource",
        "Taken",
        "Traits",
    ),
    "meridian.sensors.sources.archive_client": (
        "Mode",
        "Polling",
    ),
    "meridian.sensors.sources.isl_tcp": ("IslTcp",),
    "meridian.sensors.sources.optical_http": ("OpticalHttp",),
    "meridian.sensors.sources.radar_udp": ("RadarUdp",),
    "meridian.sensors.validation": (
        "Bounds",
        "Catalog",
        "Physics",
        "Sensors",
        "UnknownObjects",
        "standard_rules",
    ),
}

__all__ = [
    "ENVELOPE_VERSION",
    "NAMESPACE",
    "OBSERVATION_SCHEMA",
    "RECORD",
    "TRAITS",
    "Angular",
    "Area",
    "Bounds",
    "Candidates",
    "Catalog",
    "Classifier",
    "ClockKind",
    "ClockQuality",
    "Edge",
    "EdgeDocument",
    "EdgeLog",
    "ErrorKind",
    "Form",
    "IslTcp",
    "Landing",
    "Mode",
    "Observation",
    "ObservationColumns",
    "ObservationSource",
    "OpticalHttp",
    "Physics",
    "Polling",
    "Pump",
    "RadarUdp",
    "RangeRate",
    "RecentObjects",
    "Refusal",
    "Repeats",
    "Row",
    "Screen",
    "Screened",
    "Sensors",
    "SourceKind",
    "StateVector",
    "Taken",
    "Traits",
    "Uncertainty",
    "UnknownObjects",
    "columns_of",
    "events_of",
    "from_json",
    "from_observations",
    "heartbeat",
    "load",
    "max_skews_ns",
    "observation_ids",
    "parse",
    "standard_rules",
    "to_arrow",
    "to_observations",
]

__getattr__ = loaded(__name__, _HOMES)
