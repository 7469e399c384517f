"""Motion about a point mass in closed form, and what small deviations become by it. For ellipses, many at once.

It is not how a catalogued object really moves: a day of the Earth's oblateness turns its orbit by degrees. What a
*deviation* becomes differs far less from one motion to the other, and that is what this is for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.orbit.equinoctial import EARTH_MU as MU
from meridian.orbit.frames import Floats

_ITERATIONS = 40
_NEAR = 1e-14


@dataclass(frozen=True, slots=True)
class Moved:
    """States after some time, n by 3 each, and what deviations before become, n by 6 by 6."""

    position_m: Floats
    velocity_m_s: Floats
    transition: Floats


def moved(position_m: Floats, velocity_m_s: Floats, seconds: Floats) -> Moved:
    """Where these states are after so many seconds each, before or later.

    A state that flies off on no ellipse becomes not-a-number.
    """
    distance, speed_squared = _length(position_m), _dot(velocity_m_s, velocity_m_s)
    energy = 2.0 / distance - speed_squared / MU
    axis = np.where(energy > 0, 1.0 / np.where(energy > 0, energy, 1.0), np.nan)
    radial = _dot(position_m, velocity_m_s) / np.sqrt(MU)
    turned = _turned(distance, radial, axis, seconds)
    steps = _Universal.of(turned, axis)
    f = 1.0 - steps.second / distance
    g = (distance * steps.first + radial * steps.second) / np.sqrt(MU)
    position = f[:, None] * position_m + g[:, None] * velocity_m_s
    after = _length(position)
    f_rate = -np.sqrt(MU) / (after * distance) * steps.first
    g_rate = 1.0 - steps.second / after
    velocity = f_rate[:, None] * position_m + g_rate[:, None] * velocity_m_s
    lag = steps.lag(seconds)
    return Moved(
        position, velocity, _transition(position_m, velocity_m_s, position, velocity, (f, g, f_rate, g_rate, lag))
    )


@dataclass(frozen=True, slots=True)
class _Universal:
    """The universal functions of a turn about an ellipse."""

    angle: Floats
    first: Floats
    second: Floats
    fourth: Floats
    fifth: Floats

    @classmethod
    def of(cls, turned: Floats, axis: Floats) -> _Universal:
        root = np.sqrt(axis)
        angle = root * turned
        first, second = root * np.sin(turned), axis * (1.0 - np.cos(turned))
        third = axis * root * (turned - np.sin(turned))
        return cls(angle, first, second, axis * (angle**2 / 2 - second), axis * (angle**3 / 6 - third))

    def lag(self, seconds: Floats) -> Floats:
        """What a longer orbit falls behind: the part of the transition that grows with time."""
        result: Floats = (3.0 * self.fifth - self.angle * self.fourth) / np.sqrt(MU) - seconds * self.second
        return result


def _turned(distance: Floats, radial: Floats, axis: Floats, seconds: Floats) -> Floats:
    """By how much the eccentric anomaly grows: Kepler's equation for the difference, by Newton's method."""
    mean = np.sqrt(MU / axis**3) * seconds
    along, across = 1.0 - distance / axis, radial / np.sqrt(axis)
    turned = mean.copy()
    for _ in range(_ITERATIONS):
        gap = turned - along * np.sin(turned) + across * (1.0 - np.cos(turned)) - mean
        change = gap / (1.0 - along * np.cos(turned) + across * np.sin(turned))
        turned = turned - change
        if not np.any(np.abs(change) > _NEAR * np.maximum(1.0, np.abs(turned))):
            break
    return turned


def _transition(r0: Floats, v0: Floats, r: Floats, v: Floats, ways: tuple[Floats, ...]) -> Floats:
    """Battin's closed form, by quarters."""
    f, g, f_rate, g_rate, lag = (way[:, None, None] for way in ways)
    before, after = _length(r0)[:, None, None], _length(r)[:, None, None]
    gained, unit = v - v0, np.eye(3)
    whole = np.empty((len(r0), 6, 6))
    whole[:, :3, :3] = (
        after / MU * _outer(gained, gained)
        + (before * (1 - f) * _outer(r, r0) + lag * _outer(v, r0)) / before**3
        + f * unit
    )
    whole[:, :3, 3:] = (
        before / MU * (1 - f) * (_outer(r - r0, v0) - _outer(gained, r0)) + lag / MU * _outer(v, v0) + g * unit
    )
    turn = _outer(r, v) - _outer(v, r)
    whole[:, 3:, :3] = (
        -_outer(gained, r0) / before**2
        - _outer(r, gained) / after**2
        + f_rate * (unit - _outer(r, r) / after**2 + turn @ _outer(r, gained) / (MU * after))
        - MU * lag / (after**3 * before**3) * _outer(r, r0)
    )
    whole[:, 3:, 3:] = (
        before / MU * _outer(gained, gained)
        + (before * (1 - f) * _outer(r, r0) - lag * _outer(r, v0)) / after**3
        + g_rate * unit
    )
    return whole


def _dot(one: Floats, other: Floats) -> Floats:
    result: Floats = (one * other).sum(axis=-1)
    return result


def _length(vectors: Floats) -> Floats:
    result: Floats = np.sqrt(_dot(vectors, vectors))
    return result


def _outer(one: Floats, other: Floats) -> Floats:
    return one[:, :, None] * other[:, None, :]
