"""What sensors measure of an object on its reference, and how that changes with a deviation from it. Pure, in columns.

For each form of observation: what is measured less what the reference foresees, how it changes with place and velocity
in TEME, and how much it weighs. Angles weigh by the arc they span in the sky, so that nothing is special overhead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meridian.fusion.exact import Floats, Integers
from meridian.orbit.frames import sidereal_time, spin, turned
from meridian.orbit.sites import Site


@dataclass(frozen=True, slots=True)
class Measured:
    """n observations of m numbers each.

    :param residual: by how much they are off what the reference foresees, n by m.
    :param design: how they change with place and velocity, n by m by 6.
    :param weight: one over the variance of each, n by m.
    """

    residual: Floats
    design: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations that observations do not say themselves.

    :param radar_angle: of azimuth and elevation, in radians.
    :param radar_rate: of the range rate, in metres a second.
    :param beacon_velocity: of the velocity a satellite says it has, in metres a second.
    """

    radar_angle: float = 3e-4
    radar_rate: float = 0.5
    beacon_velocity: float = 0.5


class Sites:
    """Where sensors stand, by the order of their names."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self.names = sorted(sites)
        self._places = np.array([sites[name].fixed_m for name in self.names]).reshape(-1, 3)
        self._horizons = np.array([sites[name].horizon for name in self.names]).reshape(-1, 3, 3)

    def states(self, sensors: Integers, times: Integers) -> tuple[Floats, Floats]:
        """Where each sensor is at its time in TEME, and how fast the Earth carries it along."""
        places = turned(self._places[sensors], -sidereal_time(times))
        return places, spin(places)

    def horizons(self, sensors: Integers, times: Integers) -> Floats:
        """East, north and up at each sensor in TEME, n by 3 by 3."""
        return turned(self._horizons[sensors], -sidereal_time(times)[:, None])


def by_radar(
    states: Floats, values: Floats, sigma: Floats, seen: tuple[Floats, Floats, Floats], noise: Noise
) -> Measured:
    """Range, range rate, azimuth and elevation.

    :param states: of the references, n by 6.
    :param values: what was measured, n by 4.
    :param sigma: of the range, in metres.
    :param seen: from where: place, velocity and horizon of each radar.
    """
    place, velocity, horizon = seen
    line, motion = states[:, :3] - place, states[:, 3:] - velocity
    distance = _length(line)
    along = line / distance[:, None]
    rate = (along * motion).sum(axis=1)
    east, north, up = (horizon[:, axis] for axis in range(3))
    e, n, u = ((line * axis).sum(axis=1) for axis in (east, north, up))
    flat = np.hypot(e, n)
    design = np.zeros((len(states), 4, 6))
    design[:, 0, :3] = design[:, 1, 3:] = along
    design[:, 1, :3] = (motion - rate[:, None] * along) / distance[:, None]
    design[:, 2, :3] = (n[:, None] * east - e[:, None] * north) / (flat**2)[:, None]
    design[:, 3, :3] = (up - (u / distance)[:, None] * along) / flat[:, None]
    foreseen = np.stack([distance, rate, np.arctan2(e, n), np.arctan2(u, flat)], axis=1)
    residual = values - foreseen
    residual[:, 2] = _turn(residual[:, 2])
    angle = np.full(len(states), noise.radar_angle)
    sigmas = np.stack([sigma, np.full(len(states), noise.radar_rate), angle * distance / flat, angle], axis=1)
    return Measured(residual, design, sigmas**-2.0)


def by_telescope(states: Floats, values: Floats, sigma: Floats, place: Floats) -> Measured:
    """Right ascension and declination, n by 2.

    :param sigma: of the direction, in radians.
    """
    line = states[:, :3] - place
    distance = _length(line)
    x, y, z = line[:, 0], line[:, 1], line[:, 2]
    flat = np.hypot(x, y)
    design = np.zeros((len(states), 2, 6))
    design[:, 0, 0], design[:, 0, 1] = -y / flat**2, x / flat**2
    design[:, 1, :3] = (np.array([0.0, 0.0, 1.0]) - (z / distance**2)[:, None] * line) / flat[:, None]
    residual = values - np.stack([np.arctan2(y, x), np.arctan2(z, flat)], axis=1)
    residual[:, 0] = _turn(residual[:, 0])
    return Measured(residual, design, np.stack([sigma * distance / flat, sigma], axis=1) ** -2.0)


def by_beacon(states: Floats, values: Floats, sigma: Floats, noise: Noise) -> Measured:
    """Place and velocity as the satellite itself knows them, n by 6.

    :param sigma: of the place, in metres.
    """
    design = np.broadcast_to(np.eye(6), (len(states), 6, 6))
    sigmas = np.repeat(np.stack([sigma, np.full(len(states), noise.beacon_velocity)], axis=1), 3, axis=1)
    return Measured(values - states, design, sigmas**-2.0)


def _turn(angle: Floats) -> Floats:
    """The same angle between minus and plus half a turn."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors * vectors).sum(axis=1))
    return length
