"""Where sensors stand, and what they would measure of a state: range and rate, angles at the site or among the stars.

All is exact; noise is the affair of `scenario`. The Earth turns by GMST alone, so TEME and the site agree to a few
metres: enough for sensors that are made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sgp4.propagation import gstime

from meridian.sensors.simulate.orbits import julian

if TYPE_CHECKING:
    import numpy.typing as npt

_EQUATOR_M = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_TURN_RATE = 7.292115146706979e-5
"""Radians a second."""
_SIDEREAL_DAYS = 1.00273790935
"""Turns of the Earth among the stars in a day."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place on the Earth."""

    name: str
    latitude_rad: float
    longitude_rad: float
    height_m: float = 0.0

    @classmethod
    def at(cls, name: str, latitude_deg: float, longitude_deg: float, height_m: float = 0.0) -> Site:
        """The place of these degrees."""
        return cls(name, np.radians(latitude_deg), np.radians(longitude_deg), height_m)

    def states(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Position and velocity in TEME at these times, a row of six each."""
        sine = np.sin(self.latitude_rad)
        squared = _FLATTENING * (2 - _FLATTENING)
        normal = _EQUATOR_M / np.sqrt(1 - squared * sine**2)
        out = (normal + self.height_m) * np.cos(self.latitude_rad)
        up = (normal * (1 - squared) + self.height_m) * sine
        angle = self._sidereal(times_ns)
        x, y = out * np.cos(angle), out * np.sin(angle)
        zero = np.zeros_like(x)
        return np.stack([x, y, zero + up, -_TURN_RATE * y, _TURN_RATE * x, zero], axis=-1)

    def horizon(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """East, north and up in TEME at these times: three rows of three each."""
        angle = self._sidereal(times_ns)
        sine, cosine = np.sin(self.latitude_rad), np.cos(self.latitude_rad)
        zero = np.zeros_like(angle)
        east = np.stack([-np.sin(angle), np.cos(angle), zero], axis=-1)
        north = np.stack([-sine * np.cos(angle), -sine * np.sin(angle), zero + cosine], axis=-1)
        up = np.stack([cosine * np.cos(angle), cosine * np.sin(angle), zero + sine], axis=-1)
        return np.stack([east, north, up], axis=-2)

    def _sidereal(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The angle between the vernal equinox and the site."""
        days, fractions = julian(times_ns)
        found, places = np.unique(days, return_inverse=True)
        at_midnight = np.array([gstime(day) for day in found])[places]
        return at_midnight + 2 * np.pi * _SIDEREAL_DAYS * fractions + self.longitude_rad


def radar_view(site: Site, times_ns: npt.NDArray[np.int64], states: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Range, range rate, azimuth from north over east, and elevation, a row of four for each time and state."""
    relative = states - site.states(times_ns)
    towards, moving = relative[:, :3], relative[:, 3:]
    distance = np.linalg.norm(towards, axis=1)
    rate = np.einsum("ij,ij->i", towards, moving) / distance
    east, north, up = np.einsum("ikj,ij->ki", site.horizon(times_ns), towards)
    azimuth = np.mod(np.arctan2(east, north), 2 * np.pi)
    return np.stack([distance, rate, azimuth, np.arcsin(np.clip(up / distance, -1, 1))], axis=-1)


def optical_view(
    site: Site, times_ns: npt.NDArray[np.int64], states: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Right ascension and declination from the site, a row of two for each time and state."""
    towards = (states - site.states(times_ns))[:, :3]
    distance = np.linalg.norm(towards, axis=1)
    right_ascension = np.mod(np.arctan2(towards[:, 1], towards[:, 0]), 2 * np.pi)
    return np.stack([right_ascension, np.arcsin(np.clip(towards[:, 2] / distance, -1, 1))], axis=-1)


RADARS = (
    Site.at("ascension", -7.97, -14.40, 30.0),
    Site.at("kwajalein", 9.40, 167.48, 10.0),
    Site.at("shetland", 60.30, -1.30, 60.0),
)
"""Array 1 stands at the first of them, and so on."""
TELESCOPES = (Site.at("maui", 20.71, -156.26, 3050.0), Site.at("tenerife", 28.30, -16.51, 2390.0))
