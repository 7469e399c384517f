"""Equinoctial elements of two-body motion, and the derivatives of a state by them. Pure.

The elements are mean motion, h, k, p, q and mean longitude: in them two-body motion is linear in time, so an error that
is Gaussian in them stays so while it bends along the orbit in space. They do not exist for an inclination of 180
degrees; `common_axes` turns two orbits away from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Numbers = NDArray[np.inexact[Any]]

EARTH_MU = 3.986004418e14
"""The gravitational parameter in m³/s²."""

_STEP = 1e-20
"""Of a derivative along the imaginary axis, which loses no digits however small it is."""
_MOST_KEPLER_STEPS = 30


def common_axes(first: Floats, second: Floats) -> Floats:
    """Axes (rows) in which neither of two states (6,) has an inclination above 90 degrees."""
    normals = [np.cross(state[:3], state[3:]) for state in (first, second)]
    units = [normal / np.linalg.norm(normal) for normal in normals]
    pole = units[0] + units[1]
    if np.linalg.norm(pole) < 1e-6:
        pole = first[:3]
    z = pole / np.linalg.norm(pole)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])


def from_cartesian(state: Floats) -> Floats:
    """The elements (6,) of a bound state (6,)."""
    position, velocity = state[:3], state[3:]
    distance = np.linalg.norm(position)
    axis = 1.0 / (2.0 / distance - velocity @ velocity / EARTH_MU)
    momentum = np.cross(position, velocity)
    eccentricity = np.cross(velocity, momentum) / EARTH_MU - position / distance
    normal = momentum / np.linalg.norm(momentum)
    p, q = normal[0] / (1.0 + normal[2]), -normal[1] / (1.0 + normal[2])
    f, g = _axes(np.asarray(p), np.asarray(q))
    k, h = eccentricity @ f, eccentricity @ g
    x, y = position @ f, position @ g
    root = np.sqrt(1.0 - h * h - k * k)
    b = 1.0 / (1.0 + root)
    sine = h + ((1.0 - h * h * b) * y - h * k * b * x) / (axis * root)
    cosine = k + ((1.0 - k * k * b) * x - h * k * b * y) / (axis * root)
    longitude = np.arctan2(sine, cosine) + h * cosine - k * sine
    return np.array([np.sqrt(EARTH_MU / axis**3), h, k, p, q, longitude])


def to_cartesian(elements: Floats, seconds: Floats) -> Floats:
    """The states (…, 6) of elements (…, 6) after a time (…)."""
    return _states(elements, seconds).real


def with_jacobian(elements: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """The states (…, 6), and their derivatives by the elements (…, 6, 6)."""
    steps = elements[..., None, :] + 1j * _STEP * np.eye(6)
    jacobian = np.swapaxes(_states(steps, seconds[..., None]).imag / _STEP, -1, -2)
    return to_cartesian(elements, seconds), jacobian


def _states(elements: _Numbers, seconds: Floats) -> _Numbers:
    n, h, k, p, q, longitude = np.moveaxis(elements, -1, 0)
    eccentric = _eccentric_longitude(longitude + n * seconds, h, k)
    cos, sin = np.cos(eccentric), np.sin(eccentric)
    axis = (EARTH_MU / n**2) ** (1.0 / 3.0)
    b = 1.0 / (1.0 + np.sqrt(1.0 - h * h - k * k))
    x = axis * ((1.0 - h * h * b) * cos + h * k * b * sin - k)
    y = axis * ((1.0 - k * k * b) * sin + h * k * b * cos - h)
    pace = n * axis / (1.0 - h * sin - k * cos)
    x_dot = pace * (h * k * b * cos - (1.0 - h * h * b) * sin)
    y_dot = pace * ((1.0 - k * k * b) * cos - h * k * b * sin)
    f, g = _axes(p, q)
    position = x[..., None] * f + y[..., None] * g
    velocity = x_dot[..., None] * f + y_dot[..., None] * g
    return np.concatenate([position, velocity], axis=-1)


def _eccentric_longitude(mean: _Numbers, h: _Numbers, k: _Numbers) -> _Numbers:
    """Kepler's equation, by Newton's method from a start that holds for any eccentricity that occurs."""
    found = mean + h * 0.0
    for _ in range(_MOST_KEPLER_STEPS):
        cos, sin = np.cos(found), np.sin(found)
        step = (found + h * cos - k * sin - mean) / (1.0 - h * sin - k * cos)
        found = found - np.where(np.abs(step) > 1.0, step / np.maximum(np.abs(step), 1.0), step)
        if np.max(np.abs(step), initial=0.0) < 1e-14:
            break
    return found


def _axes(p: _Numbers, q: _Numbers) -> tuple[_Numbers, _Numbers]:
    size = (1.0 + p * p + q * q)[..., None]
    f = np.stack([1.0 - p * p + q * q, 2.0 * p * q, -2.0 * p], axis=-1) / size
    g = np.stack([2.0 * p * q, 1.0 + p * p - q * q, 2.0 * q], axis=-1) / size
    return f, g
