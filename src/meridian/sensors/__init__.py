"""The ingest edge: three sensor networks become one stream of observations, durable before anybody sees them."""

from __future__ import annotations

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

__all__ = [
    "ENVELOPE_VERSION",
    "NAMESPACE",
    "OBSERVATION_SCHEMA",
    "RECORD",
    "Angular",
    "ClockKind",
    "ClockQuality",
    "Form",
    "Observation",
    "ObservationColumns",
    "RangeRate",
    "Row",
    "SourceKind",
    "StateVector",
    "Uncertainty",
    "columns_of",
    "events_of",
    "from_json",
    "from_observations",
    "heartbeat",
    "max_skews_ns",
    "observation_ids",
    "to_arrow",
    "to_observations",
]
