"""From TEME, in which SGP4 speaks, to the turning Earth and back, and into an orbit's own axes.

The Earth-fixed frame is the pseudo-Earth-fixed one: TEME turned by the sidereal time of 1982. Polar motion is taken to
be zero (up to 15 m on the ground) and, unless it is given, UT1 to be UTC (up to 0.9 s, 420 m on the ground at the
equator). TEME is taken as the inertial frame of right ascension and declination. Precession to J2000 is not done here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meridian.orbit.time import NS_PER_DAY, NS_PER_SECOND, Times

Floats = NDArray[np.float64]

EARTH_RATE_RAD_S = 7.292115146706979e-5
_NS_AT_J2000 = 946_728_000 * NS_PER_SECOND
_DAYS_PER_CENTURY = 36_525.0
_TURN = 2.0 * np.pi


@dataclass(frozen=True, slots=True)
class EarthOrientation:
    """What is known of the Earth's rotation on a day."""

    ut1_minus_utc_s: float = 0.0


NOMINAL = EarthOrientation()


def sidereal_time(times_ns: Times, orientation: EarthOrientation = NOMINAL) -> Floats:
    """Greenwich mean sidereal time (IAU 1982) in radians, from 0 to a full turn."""
    since = np.asarray(times_ns, dtype=np.int64) - _NS_AT_J2000
    days, rest = np.divmod(since, NS_PER_DAY)
    fraction = rest / NS_PER_DAY + orientation.ut1_minus_utc_s / 86_400.0
    centuries = (days + fraction) / _DAYS_PER_CENTURY
    slow = (67_310.54841 + 8_640_184.812866 * centuries + 0.093104 * centuries**2 - 6.2e-6 * centuries**3) / 86_400.0
    turns = slow + fraction  # the whole days of 876,600 h per century are whole turns, so only the fraction counts
    result: Floats = np.mod(turns, 1.0) * _TURN
    return result


def turned(vectors: Floats, angle: Floats) -> Floats:
    """Vectors (…, 3) seen from axes that are turned about z by an angle each."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack(
        [cos * x + sin * y, cos * y - sin * x, np.broadcast_to(vectors[..., 2], np.shape(cos * x))], axis=-1
    )


def spin(position: Floats) -> Floats:
    """The velocity that the Earth's rotation gives to positions (…, 3), in either frame."""
    x, y = position[..., 0], position[..., 1]
    return EARTH_RATE_RAD_S * np.stack([-y, x, np.zeros_like(x)], axis=-1)


def teme_to_fixed(
    position: Floats, velocity: Floats, times_ns: Times, orientation: EarthOrientation = NOMINAL
) -> tuple[Floats, Floats]:
    """States as somebody on the ground sees them, in Earth-fixed axes; the last axis but one is time."""
    angle = sidereal_time(times_ns, orientation)
    fixed = turned(position, angle)
    return fixed, turned(velocity, angle) - spin(fixed)


def fixed_to_teme(
    position: Floats, velocity: Floats, times_ns: Times, orientation: EarthOrientation = NOMINAL
) -> tuple[Floats, Floats]:
    """The way back."""
    angle = -sidereal_time(times_ns, orientation)
    return turned(position, angle), turned(velocity + spin(position), angle)


def rtn_basis(position: Floats, velocity: Floats) -> Floats:
    """The rows are the unit vectors radial, transverse and normal of each state: `basis @ v` has v's RTN components."""
    radial = position / np.linalg.norm(position, axis=-1, keepdims=True)
    normal = np.cross(position, velocity)
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.stack([radial, np.cross(normal, radial), normal], axis=-2)


def rotated_covariance(covariance: Floats, basis: Floats) -> Floats:
    """A 6x6 covariance whose position and velocity blocks are both turned by a 3x3 matrix."""
    both = np.zeros((*basis.shape[:-2], 6, 6))
    both[..., :3, :3] = both[..., 3:, 3:] = basis
    result: Floats = both @ covariance @ np.swapaxes(both, -1, -2)
    return result
