"""What a sensor saw, as one value: the envelope that all sensor networks share.

The form of a measurement is kept as the sensor gave it; nothing here turns an angle into a position. Times are whole
nanoseconds since 1970. The columns that many observations become on the fast path are the affair of `columns`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from holdfast.model.errors import InvalidPush

ENVELOPE_VERSION = 1

Nanoseconds = Annotated[int, Field(ge=0, lt=2**63)]
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class SourceKind(IntEnum):
    """The kinds of sensor networks."""

    RADAR = 1
    OPTICAL = 2
    INTER_SATELLITE_LINK = 3

    @property
    def label(self) -> SourceLabel:
        """The name in the envelope."""
        return _LABELS[self]

    @property
    def prefix(self) -> str:
        """What the ids of its sensors begin with."""
        return _PREFIXES[self]


SourceLabel = Literal["Radar", "Optical", "InterSatelliteLink"]
_LABELS: dict[SourceKind, SourceLabel] = {
    SourceKind.RADAR: "Radar",
    SourceKind.OPTICAL: "Optical",
    SourceKind.INTER_SATELLITE_LINK: "InterSatelliteLink",
}
_PREFIXES = {SourceKind.RADAR: "radar", SourceKind.OPTICAL: "optical", SourceKind.INTER_SATELLITE_LINK: "isl"}
_SENSOR = {_LABELS[kind]: re.compile(rf"{prefix}-\S+") for kind, prefix in _PREFIXES.items()}


class ClockKind(IntEnum):
    """How a sensor's clock is kept."""

    UNKNOWN = 0
    GPS_LOCKED = 1
    NTP_SYNCED = 2
    ONBOARD_DRIFT = 3

    @property
    def label(self) -> ClockLabel:
        """The name in the envelope."""
        return _CLOCKS[self]


ClockLabel = Literal["Unknown", "GpsLocked", "NtpSynced", "OnboardDrift"]
_CLOCKS: dict[ClockKind, ClockLabel] = {
    ClockKind.UNKNOWN: "Unknown",
    ClockKind.GPS_LOCKED: "GpsLocked",
    ClockKind.NTP_SYNCED: "NtpSynced",
    ClockKind.ONBOARD_DRIFT: "OnboardDrift",
}


@dataclass(frozen=True, slots=True)
class ClockQuality:
    """How far a sensor's time may be off."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    kind: ClockLabel
    age_s: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seconds since the clock was set the last time, where that matters."""

    @property
    def max_skew_ns(self) -> int:
        """By how many nanoseconds at most."""
        match self.kind:
            case "GpsLocked":
                return 1_000
            case "NtpSynced":
                return 10_000_000 + 1_000_000 * (self.age_s // 60)
            case "OnboardDrift":
                return 100_000 * self.age_s
            case "Unknown":
                return 5_000_000_000


@dataclass(frozen=True, slots=True)
class RangeRate:
    """What a radar measures, from where it stands."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    range_m: float
    range_rate_m_s: float
    az_rad: float
    el_rad: float
    kind: Literal["RangeRate"] = "RangeRate"


@dataclass(frozen=True, slots=True)
class Angular:
    """What a telescope measures: a direction among the stars."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    ra_rad: float
    dec_rad: float
    kind: Literal["Angular"] = "Angular"


@dataclass(frozen=True, slots=True)
class StateVector:
    """What a satellite says of itself, in an Earth-centred inertial frame (TEME)."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    position_m: tuple[float, float, float]
    velocity_m_s: tuple[float, float, float]
    kind: Literal["StateVector"] = "StateVector"


Target = RangeRate | Angular | StateVector


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """One standard deviation: metres for ranges and state vectors, radians for angles."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One measurement of one sensor."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    observation_id: str
    """Follows from the sensor's own bytes: the same record has the same id however often it comes."""
    source_id: str
    """The sensor: `radar-7`, `optical-maui`, `isl-25544`."""
    source_kind: SourceLabel
    sensor_ts_ns: Nanoseconds
    """When the sensor saw it, by the sensor's clock: the event time."""
    ingest_ts_ns: Nanoseconds
    """When the source operator took it in; set there once."""
    target: Annotated[Target, Field(discriminator="kind")]
    uncertainty: Uncertainty
    clock_quality: ClockQuality
    target_object_id: str | None = None
    """The catalogued object, when the sensor knows which it is."""
    schema_version: Literal[1] = 1

    def __post_init__(self) -> None:
        if not _SENSOR[self.source_kind].fullmatch(self.source_id):
            raise InvalidPush(
                f"{self.source_id!r} is no sensor of the kind {self.source_kind}.",
                remedy="Name a sensor `radar-…`, `optical-…` or `isl-…`, by its kind.",
            )

    def to_json(self) -> str:
        """The envelope as one line of JSON, without loss."""
        return _ADAPTER.dump_json(self).decode()


_ADAPTER: TypeAdapter[Observation] = TypeAdapter(Observation)


def from_json(text: str) -> Observation:
    """The observation that `to_json` wrote; `InvalidPush` when the text is none."""
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidPush(
            f"This is no observation: {'.'.join(map(str, first['loc'])) or 'the text'}: {first['msg']}.",
            remedy="Write observations with `Observation.to_json`.",
        ) from error
