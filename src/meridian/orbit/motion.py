"""The motion of a state over a short arc, and how a small change of it grows: for filters, not for forecasts.

Gravity is a point mass or, with `Gravity.J2`, that of a flattened Earth about the z axis. Over a minute the first is
off by some metres, the second by some centimetres; there is no drag. States are (n, 6) in TEME, metres and seconds.
"""

from __future__ import annotations

from enum import Enum, auto

import numpy as np

from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.frames import Floats
from meridian.orbit.sites import EARTH_RADIUS_M

J2 = 1.08262668e-3
_LONGEST_STEP_S = 30.0


class Gravity(Enum):
    """Whose gravity moves an object."""

    POINT = auto()
    J2 = auto()


def acceleration(position_m: Floats, gravity: Gravity = Gravity.J2) -> Floats:
    """Of positions (…, 3)."""
    square = np.sum(position_m**2, axis=-1, keepdims=True)
    pull = -EARTH_MU * position_m / square**1.5
    if gravity is Gravity.POINT:
        return np.asarray(pull)
    tilt = 5.0 * position_m[..., 2:] ** 2 / square
    shape = np.concatenate([1.0 - tilt, 1.0 - tilt, 3.0 - tilt], axis=-1)
    return np.asarray(pull * (1.0 + 1.5 * J2 * EARTH_RADIUS_M**2 / square * shape))


def gravity_gradient(position_m: Floats, gravity: Gravity = Gravity.J2) -> Floats:
    """The derivatives (…, 3, 3) of the acceleration by the position, exact to rounding, along the imaginary axis."""
    step = 1e-20
    shifted = position_m[..., None, :] + 1j * step * np.eye(3)
    return np.swapaxes(acceleration(shifted, gravity).imag / step, -1, -2)


def moved(states: Floats, seconds: Floats, gravity: Gravity = Gravity.J2) -> tuple[Floats, Floats]:
    """States (n, 6) after a time each (n,), forwards or back, and the transition matrices (n, 6, 6) from old to new."""
    count = len(states)
    whole = np.concatenate([states, np.tile(np.eye(6).ravel(), (count, 1))], axis=1)
    steps = max(1, int(np.ceil(np.max(np.abs(seconds), initial=0.0) / _LONGEST_STEP_S)))
    step = (np.asarray(seconds, dtype=np.float64) / steps)[:, None]
    for _ in range(steps):
        one = _change(whole, gravity)
        two = _change(whole + 0.5 * step * one, gravity)
        three = _change(whole + 0.5 * step * two, gravity)
        four = _change(whole + step * three, gravity)
        whole = whole + step / 6.0 * (one + 2.0 * two + 2.0 * three + four)
    return whole[:, :6], whole[:, 6:].reshape(count, 6, 6)


def _change(whole: Floats, gravity: Gravity) -> Floats:
    """The rate of states and transition matrices, side by side."""
    position, velocity = whole[:, :3], whole[:, 3:6]
    transition = whole[:, 6:].reshape(-1, 6, 6)
    lower = gravity_gradient(position, gravity) @ transition[:, :3]
    rate = np.concatenate([transition[:, 3:], lower], axis=1).reshape(len(whole), 36)
    return np.concatenate([velocity, acceleration(position, gravity), rate], axis=1)
