"""One set of mean elements for SGP4, and the ranges that its values must lie in. Knows no file format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from meridian.orbit.errors import InvalidElements
from meridian.orbit.time import EARLIEST_NS, LATEST_NS


class Source(StrEnum):
    """What a set of elements was read from."""

    TLE = "tle"
    OMM = "omm"


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a number may have: from `low`, and below `high`."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value is a number in the range."""
        return math.isfinite(value) and self.low <= value < self.high

    @property
    def top(self) -> str:
        """The upper end in words. That of an angle belongs to it: sets are written with 360.0000 too."""
        return f"at most {self.high:g}" if self.high > float(f"{self.high:g}") else f"less than {self.high:g}"


_ANGLE = Range(0.0, 360.0 + 1e-9)
_ANY = Range(-math.inf, math.inf)

RANGES: dict[str, Range] = {
    "inclination_deg": Range(0.0, 180.0 + 1e-9),
    "raan_deg": _ANGLE,
    "eccentricity": Range(0.0, 1.0),
    "argument_of_perigee_deg": _ANGLE,
    "mean_anomaly_deg": _ANGLE,
    "mean_motion_rev_day": Range(1e-6, 20.0),
    "mean_motion_dot": _ANY,
    "mean_motion_ddot": _ANY,
    "bstar": _ANY,
}
"""What each number of a set of elements may be. SGP4 itself finds out what has decayed."""

OTHER_THEORIES = {4: "SGP4-XP", 6: "special perturbations"}
"""Ephemeris types whose elements are not for SGP4: it would give wrong positions."""

HIGHEST_NORAD = 999_999_999
"""The largest catalog number that an OMM may carry; a TLE ends at 339,999."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Mean elements of one object at one epoch, in TEME, for SGP4 with the constants of WGS-72.

    `mean_motion_dot` and `mean_motion_ddot` are as a TLE has them: half of the first and a sixth of the second
    derivative, in revolutions per day squared and cubed. SGP4 carries both along and uses neither.
    """

    norad: int | None
    designator: str | None
    name: str
    epoch_ns: int
    inclination_deg: float
    raan_deg: float
    eccentricity: float
    argument_of_perigee_deg: float
    mean_anomaly_deg: float
    mean_motion_rev_day: float
    bstar: float
    mean_motion_dot: float = 0.0
    mean_motion_ddot: float = 0.0
    classification: str = "U"
    ephemeris_type: int = 0
    element_set: int = 999
    revolution: int = 0
    source: Source = Source.TLE

    def __post_init__(self) -> None:
        for field in RANGES:
            require_in_range(field, getattr(self, field))
        if not EARLIEST_NS <= self.epoch_ns < LATEST_NS:
            raise invalid("The epoch lies before 1957 or after 2156.", field="epoch")
        if self.norad is None and not self.designator:
            raise invalid("An object has neither a catalog number nor a designator.", field="norad")
        if self.norad is not None and not 0 <= self.norad <= HIGHEST_NORAD:
            raise invalid(f"The catalog number {self.norad} is not one.", field="norad")

    @property
    def object_id(self) -> str:
        """The catalog number in plain digits, or the international designator of an object that has none."""
        return str(self.norad) if self.norad is not None else str(self.designator)


def require_in_range(field: str, value: float, line: int | None = None, column: int | None = None) -> float:
    """The value, when it may be one of this field."""
    allowed = RANGES[field]
    if allowed.holds(value):
        return value
    if not math.isfinite(value):
        what = f"{field} is {value} and must be a finite number."
    else:
        what = f"{field} is {value:g} and must be at least {allowed.low:g} and {allowed.top}."
    raise invalid(what, field=field, line=line, column=column)


def invalid(what: str, *, field: str, line: int | None = None, column: int | None = None) -> InvalidElements:
    """The error about one field of one line."""
    place = "" if line is None else f"Line {line}: " if column is None else f"Line {line}, column {column}: "
    return InvalidElements(
        f"{place}{what}",
        remedy="Get the element set anew from where it came; the others of its file can be used.",
        field=field,
        line=line,
        column=column,
    )
