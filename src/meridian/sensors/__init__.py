"""The ingest edge: three sensor networks become one stream of observations, durable before anybody sees them."""

from __future__ import annotations

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
from meridian.sensors.edge_log import EdgeLog
from meridian.sensors.events import columns_of, events_of, heartbeat
from meridian.sensors.identity import NAMESPACE, observation_ids
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
from meridian.sensors.screening import Candidates, ErrorKind, Refusal, Screen, Screened
from meridian.sensors.source import TRAITS, ObservationSource, Taken, Traits
from meridian.sensors.validation import Bounds, Catalog, Physics, Sensors, UnknownObjects, standard_rules

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
    "ClockKind",
    "ClockQuality",
    "EdgeLog",
    "ErrorKind",
    "Form",
    "Observation",
    "ObservationColumns",
    "ObservationSource",
    "Physics",
    "RangeRate",
    "Refusal",
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
    "max_skews_ns",
    "observation_ids",
    "standard_rules",
    "to_arrow",
    "to_observations",
]
