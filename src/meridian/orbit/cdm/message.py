"""A conjunction data message as a value: what it says of the encounter, and the two objects with their covariances."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meridian.orbit.cdm.keywords import COVARIANCE, POSITION, VELOCITY
from meridian.orbit.frames import rotated_covariance, rtn_basis
from meridian.orbit.numerals import parse_number

Floats = NDArray[np.float64]
Value = str | int | float

_RADIUS = re.compile(r"HBR\s*+=\s*+(?P<metres>[0-9.eE+-]++)\s*+(?:\[m\])?")


@dataclass(frozen=True, slots=True)
class Remark:
    """A deviation from the standard that changes nothing, and was passed over."""

    line: int
    keyword: str
    what: str


@dataclass(frozen=True, slots=True)
class Said:
    """The keywords of one part with their values (times in nanoseconds, numbers in their own unit), and comments."""

    values: Mapping[str, Value]
    comments: tuple[str, ...] = ()

    def text(self, keyword: str) -> str:
        """The text of a keyword."""
        return str(self.values[keyword])

    def number(self, keyword: str) -> float:
        """The number of a keyword."""
        return float(self.values[keyword])

    def time(self, keyword: str) -> int:
        """The time of a keyword."""
        return int(self.values[keyword])


@dataclass(frozen=True, slots=True)
class CdmObject(Said):
    """One of the two objects at the time of closest approach."""

    @property
    def designator(self) -> str:
        """Its number in the catalog it is named in."""
        return self.text("OBJECT_DESIGNATOR")

    @property
    def frame(self) -> str:
        """The frame of its state."""
        return self.text("REF_FRAME")

    @property
    def position_m(self) -> Floats:
        """Its position."""
        return np.array([self.number(axis) for axis in POSITION]) * 1e3

    @property
    def velocity_m_s(self) -> Floats:
        """Its velocity."""
        return np.array([self.number(axis) for axis in VELOCITY]) * 1e3

    @property
    def covariance_rtn(self) -> Floats:
        """The 6x6 covariance of position and velocity in its own RTN axes, in metres and seconds."""
        lower = np.zeros((6, 6))
        for at, row in enumerate(COVARIANCE[:6]):
            lower[at, : at + 1] = [self.number(keyword.name) for keyword in row]
        return lower + np.tril(lower, -1).T

    @property
    def covariance(self) -> Floats:
        """The same in the frame of its state."""
        return rotated_covariance(self.covariance_rtn, rtn_basis(self.position_m, self.velocity_m_s).T)


@dataclass(frozen=True, slots=True)
class ConjunctionMessage:
    """A whole message."""

    relative: Said
    first: CdmObject
    second: CdmObject
    remarks: tuple[Remark, ...] = ()

    @property
    def message_id(self) -> str:
        """Its name, which its originator gives once."""
        return self.relative.text("MESSAGE_ID")

    @property
    def created_ns(self) -> int:
        """When it was made: of two messages about one encounter the later one supersedes the other."""
        return self.relative.time("CREATION_DATE")

    @property
    def tca_ns(self) -> int:
        """The time of closest approach, which messages usually round to a millisecond."""
        return self.relative.time("TCA")

    @property
    def miss_distance_m(self) -> float:
        """The distance at that time."""
        return self.relative.number("MISS_DISTANCE")

    @property
    def hard_body_radius_m(self) -> float | None:
        """The combined radius of the two objects, where a comment says it: the standard has no keyword for it."""
        found = (_RADIUS.fullmatch(comment) for comment in self.relative.comments)
        return next((parse_number(match["metres"]) for match in found if match), None)
