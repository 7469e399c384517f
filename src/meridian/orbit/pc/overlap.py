"""Where and how the uncertain positions of two objects overlap at given times, with the curvature of their orbits.

Errors are Gaussian in equinoctial elements at the time of the encounter (see Hall 2021). At each time the most likely
pair of orbits that meet is found by repeated linearisation, and around that pair the relative state is Gaussian. The
farther the miss is in sigmas, the more this differs from linearising at the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meridian.orbit import equinoctial
from meridian.orbit.frames import Floats, rotated_covariance
from meridian.orbit.pc.encounter import Encounter, invalid

_MOST_STEPS = 60
_STILL_M = 1e-3
_STILL = 1e-9
_HIGHEST_ECCENTRICITY_SQUARED = 0.9
_MOST_CHANGE_OF_MOTION = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Orbit:
    """The elements of an object at the time of the encounter, and their covariance."""

    elements: Floats
    covariance: Floats

    @property
    def period_s(self) -> float:
        """How long it takes around."""
        return float(2.0 * np.pi / self.elements[0])

    def holds(self, elements: Floats) -> NDArray[np.bool_]:
        """Which other elements (n, 6) are still orbits like this one."""
        ratio = elements[:, 0] / self.elements[0]
        similar = (ratio < _MOST_CHANGE_OF_MOTION) & (ratio > 1.0 / _MOST_CHANGE_OF_MOTION)
        bound = elements[:, 1] ** 2 + elements[:, 2] ** 2 < _HIGHEST_ECCENTRICITY_SQUARED
        held: NDArray[np.bool_] = np.isfinite(elements).all(axis=1) & similar & bound
        return held


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Means (n, 6) and covariances (n, 6, 6) of the relative state at n times, and at which of them it was found."""

    mean: Floats
    covariance: Floats
    found: NDArray[np.bool_]


def orbits_of(encounter: Encounter) -> tuple[Orbit, Orbit]:
    """The orbits of the two objects, in axes that suit both."""
    axes = equinoctial.common_axes(encounter.first, encounter.second)
    first = _orbit(encounter.first, encounter.first_covariance, axes)
    return first, _orbit(encounter.second, encounter.second_covariance, axes)


def _orbit(state: Floats, covariance: Floats, axes: Floats) -> Orbit:
    if state[3:] @ state[3:] >= 2.0 * equinoctial.EARTH_MU / np.linalg.norm(state[:3]):
        raise invalid("One of the two objects is not bound to the Earth.")
    turned = np.concatenate([axes @ state[:3], axes @ state[3:]])
    elements = equinoctial.from_cartesian(turned)
    _, jacobian = equinoctial.with_jacobian(elements, np.zeros(()))
    inverse = np.linalg.inv(jacobian)
    return Orbit(elements, inverse @ rotated_covariance(covariance, axes) @ inverse.T)


def at_the_mean(first: Orbit, second: Orbit, seconds: Floats) -> Overlap:
    """Linearised at the mean orbits: always there, and good enough to see where to look."""
    shape = (*seconds.shape, 6)
    mean, covariance, _ = _linearised(
        first, second, np.broadcast_to(first.elements, shape), np.broadcast_to(second.elements, shape), seconds
    )
    return Overlap(mean, covariance, np.ones(seconds.shape, dtype=np.bool_))


def overlap(first: Orbit, second: Orbit, seconds: Floats) -> Overlap:
    """Linearised at the most likely pair of orbits that meet at each time."""
    count = len(seconds)
    elements = [np.tile(orbit.elements, (count, 1)) for orbit in (first, second)]
    mean, covariance = np.zeros((count, 6)), np.tile(np.eye(6), (count, 1, 1))
    found = np.zeros(count, dtype=np.bool_)
    active = np.arange(count)
    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        new_mean, new_covariance, steps = _linearised(
            first, second, elements[0][active], elements[1][active], seconds[active]
        )
        still = np.linalg.norm(new_mean[:, :3] - mean[active, :3], axis=1) <= _STILL_M + _STILL * np.linalg.norm(
            new_mean[:, :3], axis=1
        )
        mean[active], covariance[active] = new_mean, new_covariance
        found[active[still]] = True
        going_on = ~still & first.holds(steps[0]) & second.holds(steps[1])
        active = active[going_on]
        for each, step in zip(elements, steps, strict=True):
            each[active] = step[going_on]
    return Overlap(mean, covariance, found)


def _linearised(
    first: Orbit, second: Orbit, at_first: Floats, at_second: Floats, seconds: Floats
) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """The relative state's mean and covariance around a pair of orbits, and the next pair to take."""
    state_1, jacobian_1 = equinoctial.with_jacobian(at_first, seconds)
    state_2, jacobian_2 = equinoctial.with_jacobian(at_second, seconds)
    mean_1 = state_1 + np.einsum("nij,nj->ni", jacobian_1, first.elements - at_first)
    mean_2 = state_2 + np.einsum("nij,nj->ni", jacobian_2, second.elements - at_second)
    spread_1, spread_2 = jacobian_1 @ first.covariance, jacobian_2 @ second.covariance
    covariance = spread_1 @ np.swapaxes(jacobian_1, 1, 2) + spread_2 @ np.swapaxes(jacobian_2, 1, 2)
    mean = mean_2 - mean_1
    pull = np.linalg.solve(covariance[:, :3, :3], mean[:, :3, None])[..., 0]
    next_1 = first.elements + np.einsum("nij,ni->nj", spread_1[:, :3], pull)
    next_2 = second.elements - np.einsum("nij,ni->nj", spread_2[:, :3], pull)
    return mean, covariance, (next_1, next_2)
