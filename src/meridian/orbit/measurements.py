"""What sensors would measure of a state, and how that changes with the state: for filters.

Each model predicts n observations at once, `predict(states, site, times) -> Prediction`, with states (n, 6) in TEME, in
metres and seconds. Angles are in radians; differences of them must be taken by `residuals`, which knows a full turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meridian.orbit.frames import NOMINAL, EarthOrientation, Floats, sidereal_time, turned
from meridian.orbit.sites import Site
from meridian.orbit.time import Times

_TURN = 2.0 * np.pi


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Values (n, k), and their derivatives by the state (n, k, 6)."""

    values: Floats
    jacobian: Floats


class Measurement(Protocol):
    """A kind of measurement."""

    def predict(self, states: Floats, site: Site, times_ns: Times) -> Prediction:
        """What a sensor at a site would measure of each state at its time."""
        ...

    def residuals(self, observed: Floats, predicted: Floats) -> Floats:
        """What was observed less what was predicted, angles within half a turn."""
        ...


@dataclass(frozen=True, slots=True)
class Radar:
    """Range, range rate, azimuth and elevation."""

    orientation: EarthOrientation = NOMINAL

    def predict(self, states: Floats, site: Site, times_ns: Times) -> Prediction:
        """In this order: metres, metres per second, radians, radians."""
        apart, speed = _from_site(states, site, times_ns, self.orientation)
        distance = np.linalg.norm(apart, axis=1)
        line = apart / distance[:, None]
        rate = np.sum(line * speed, axis=1)
        axes = self._horizon(site, times_ns)
        east, north, up = (np.sum(axes[:, at] * apart, axis=1) for at in range(3))
        flat = east**2 + north**2
        jacobian = np.zeros((len(states), 4, 6))
        jacobian[:, 0, :3] = jacobian[:, 1, 3:] = line
        jacobian[:, 1, :3] = (speed - rate[:, None] * line) / distance[:, None]
        jacobian[:, 2, :3] = (axes[:, 0] * north[:, None] - axes[:, 1] * east[:, None]) / flat[:, None]
        jacobian[:, 3, :3] = (axes[:, 2] - line * (up / distance)[:, None]) / np.sqrt(flat)[:, None]
        azimuth, elevation = np.mod(np.arctan2(east, north), _TURN), np.arctan2(up, np.sqrt(flat))
        return Prediction(np.stack([distance, rate, azimuth, elevation], axis=1), jacobian)

    def residuals(self, observed: Floats, predicted: Floats) -> Floats:
        """With the azimuth within half a turn."""
        return _wrapped(observed - predicted, 2)

    def _horizon(self, site: Site, times_ns: Times) -> Floats:
        """East, north and up in TEME at each time (n, 3, 3)."""
        angle = -sidereal_time(times_ns, self.orientation)
        return turned(np.tile(site.horizon, (len(angle), 1, 1)), np.repeat(angle[:, None], 3, axis=1))


@dataclass(frozen=True, slots=True)
class Optical:
    """Topocentric right ascension and declination in TEME."""

    orientation: EarthOrientation = NOMINAL

    def predict(self, states: Floats, site: Site, times_ns: Times) -> Prediction:
        """Both in radians."""
        apart, _ = _from_site(states, site, times_ns, self.orientation)
        x, y, z = apart.T
        flat, square = x**2 + y**2, np.sum(apart**2, axis=1)
        root = np.sqrt(flat)
        jacobian = np.zeros((len(states), 2, 6))
        jacobian[:, 0, 0], jacobian[:, 0, 1] = -y / flat, x / flat
        jacobian[:, 1, 0], jacobian[:, 1, 1] = -x * z / (square * root), -y * z / (square * root)
        jacobian[:, 1, 2] = root / square
        values = np.stack([np.mod(np.arctan2(y, x), _TURN), np.arctan2(z, root)], axis=1)
        return Prediction(values, jacobian)

    def residuals(self, observed: Floats, predicted: Floats) -> Floats:
        """With the right ascension within half a turn."""
        return _wrapped(observed - predicted, 0)


@dataclass(frozen=True, slots=True)
class StateVector:
    """Position and velocity themselves, as an object that navigates sends them; the site and time do not matter."""

    def predict(self, states: Floats, site: Site, times_ns: Times) -> Prediction:
        """The states."""
        return Prediction(states.copy(), np.tile(np.eye(6), (len(states), 1, 1)))

    def residuals(self, observed: Floats, predicted: Floats) -> Floats:
        """Plain differences."""
        return observed - predicted


def _from_site(states: Floats, site: Site, times_ns: Times, orientation: EarthOrientation) -> tuple[Floats, Floats]:
    position, velocity = site.states(times_ns, orientation)
    return states[:, :3] - position, states[:, 3:] - velocity


def _wrapped(differences: Floats, column: int) -> Floats:
    differences[:, column] = np.mod(differences[:, column] + np.pi, _TURN) - np.pi
    return differences
