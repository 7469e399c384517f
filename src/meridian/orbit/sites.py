"""Places on the Earth's surface (WGS 84), and how an object looks from there: range, range rate, azimuth, elevation.

Light takes no time here and air does not bend it: at 2,000 km that is 50 m of motion and, low over the horizon, half a
degree of elevation. Heights are above the ellipsoid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meridian.orbit.frames import NOMINAL, EarthOrientation, Floats, sidereal_time, spin, turned
from meridian.orbit.time import Times

EARTH_RADIUS_M = 6_378_137.0
_FLATTENING = 1.0 / 298.257223563
_ECCENTRICITY_SQUARED = _FLATTENING * (2.0 - _FLATTENING)
_ITERATIONS = 6
"""Each gains four digits or more above the surface; six leave rounding only."""


@dataclass(frozen=True, slots=True)
class Site:
    """A sensor's place."""

    name: str
    latitude_deg: float
    longitude_deg: float
    height_m: float = 0.0

    @property
    def fixed_m(self) -> Floats:
        """Its position in Earth-fixed axes."""
        return geodetic_to_fixed(math.radians(self.latitude_deg), math.radians(self.longitude_deg), self.height_m)

    @property
    def horizon(self) -> Floats:
        """The rows are its unit vectors east, north and up in Earth-fixed axes."""
        latitude, longitude = math.radians(self.latitude_deg), math.radians(self.longitude_deg)
        sin, cos = (math.sin(latitude), math.sin(longitude)), (math.cos(latitude), math.cos(longitude))
        return np.array(
            [
                [-sin[1], cos[1], 0.0],
                [-sin[0] * cos[1], -sin[0] * sin[1], cos[0]],
                [cos[0] * cos[1], cos[0] * sin[1], sin[0]],
            ]
        )

    def states(self, times_ns: Times, orientation: EarthOrientation = NOMINAL) -> tuple[Floats, Floats]:
        """Where it is in TEME, and how fast the Earth carries it along."""
        position = turned(self.fixed_m, -sidereal_time(times_ns, orientation))
        return position, spin(position)


@dataclass(frozen=True, slots=True)
class Looks:
    """How objects look from a site. Azimuth is from north over east, from 0 to a full turn."""

    range_m: Floats
    range_rate_m_s: Floats
    azimuth_rad: Floats
    elevation_rad: Floats


@dataclass(frozen=True, slots=True)
class Directions:
    """Topocentric right ascension (0 to a full turn) and declination, in TEME."""

    right_ascension_rad: Floats
    declination_rad: Floats


def look(
    site: Site, position_m: Floats, velocity_m_s: Floats, times_ns: Times, orientation: EarthOrientation = NOMINAL
) -> Looks:
    """States in TEME (…, times, 3) as a radar at a site measures them."""
    from_site, relative_velocity = _from_site(site, position_m, velocity_m_s, times_ns, orientation)
    distance = np.linalg.norm(from_site, axis=-1)
    local = turned(from_site, sidereal_time(times_ns, orientation)) @ site.horizon.T
    return Looks(
        range_m=distance,
        range_rate_m_s=np.sum(from_site * relative_velocity, axis=-1) / distance,
        azimuth_rad=np.mod(np.arctan2(local[..., 0], local[..., 1]), 2.0 * np.pi),
        elevation_rad=np.arcsin(local[..., 2] / distance),
    )


def directions(site: Site, position_m: Floats, times_ns: Times, orientation: EarthOrientation = NOMINAL) -> Directions:
    """Positions in TEME (…, times, 3) as a telescope at a site measures them against the stars."""
    from_site, _ = _from_site(site, position_m, np.zeros_like(position_m), times_ns, orientation)
    return Directions(
        right_ascension_rad=np.mod(np.arctan2(from_site[..., 1], from_site[..., 0]), 2.0 * np.pi),
        declination_rad=np.arctan2(from_site[..., 2], np.hypot(from_site[..., 0], from_site[..., 1])),
    )


def _from_site(
    site: Site, position_m: Floats, velocity_m_s: Floats, times_ns: Times, orientation: EarthOrientation
) -> tuple[Floats, Floats]:
    site_position, site_velocity = site.states(times_ns, orientation)
    return position_m - site_position, velocity_m_s - site_velocity


def geodetic_to_fixed(latitude_rad: float, longitude_rad: float, height_m: float) -> Floats:
    """The Earth-fixed position of a latitude, longitude and height."""
    sin = math.sin(latitude_rad)
    across = EARTH_RADIUS_M / math.sqrt(1.0 - _ECCENTRICITY_SQUARED * sin * sin)
    horizontal = (across + height_m) * math.cos(latitude_rad)
    vertical = (across * (1.0 - _ECCENTRICITY_SQUARED) + height_m) * sin
    return np.array([horizontal * math.cos(longitude_rad), horizontal * math.sin(longitude_rad), vertical])


def fixed_to_geodetic(position_m: Floats) -> tuple[Floats, Floats, Floats]:
    """Latitude and longitude in radians and height in metres of Earth-fixed positions (…, 3) above the core."""
    x, y, z = (position_m[..., axis] for axis in range(3))
    horizontal = np.hypot(x, y)
    latitude = np.arctan2(z, horizontal * (1.0 - _ECCENTRICITY_SQUARED))
    for _ in range(_ITERATIONS):
        sin = np.sin(latitude)
        across = EARTH_RADIUS_M / np.sqrt(1.0 - _ECCENTRICITY_SQUARED * sin * sin)
        latitude = np.arctan2(z + _ECCENTRICITY_SQUARED * across * sin, horizontal)
    sin, cos = np.sin(latitude), np.cos(latitude)
    height = horizontal * cos + z * sin - EARTH_RADIUS_M * np.sqrt(1.0 - _ECCENTRICITY_SQUARED * sin * sin)
    return latitude, np.arctan2(y, x), height
