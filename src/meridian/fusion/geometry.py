"""Where two objects pass each other when both are off their references: on straight lines near the closest approach.

Pure, in columns, and each passage for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import Estimates
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.windows import SECOND
from meridian.orbit.closest import straight_tca
from meridian.orbit.pc import EncounterPlane, foster

_NOWHERE = 1e-6
"""Metres, or metres a second, that are as good as none."""
STRAIGHT = 60.0
"""For so many seconds from the closest approach of the references, lines are taken for straight."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Foreseen passages of pairs, one a row; `first` and `second` are numbers in the catalog.

    :param times: of the closest approach of the references, in nanoseconds.
    :param states: of the second relative to the first then, n by 6.
    :param first_transition: what a deviation of the first at the end of the window becomes by then, n by 6 by 6.
    :param noise: the covariance of what the references do not know on the way there, of both together, n by 6 by 6.
    :param radii: of both together, in metres.
    """

    first: Integers
    second: Integers
    times: Integers
    states: Floats
    first_transition: Floats
    second_transition: Floats
    noise: Floats
    radii: Floats

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Passages with both objects where they are known to be: on straight lines near the closest approach."""

    place: Floats
    """Of the second relative to the first at the closest approach, n by 3."""
    velocity: Floats
    covariance: Floats
    """Of the place, n by 3 by 3."""
    offset: Integers
    """From the closest approach of the references, in nanoseconds."""

    @classmethod
    def of(cls, passages: Passages, first: Estimates, second: Estimates) -> Geometry:
        """The passages, when this is known of the first and the second object of each at the end of the window."""
        ours = first.moved(passages.first_transition, np.zeros_like(passages.noise))
        theirs = second.moved(passages.second_transition, passages.noise)
        state = passages.states + theirs.deviation - ours.deviation
        place, velocity = state[:, :3], state[:, 3:]
        seconds = np.clip(straight_tca(np.zeros_like(state), state), -STRAIGHT, STRAIGHT)
        covariance = (theirs.covariance + ours.covariance)[:, :3, :3]
        offset = np.rint(seconds * SECOND).astype(np.int64)
        return cls(place + seconds[:, None] * velocity, velocity, covariance, offset)

    @property
    def miss(self) -> Floats:
        """How far they are apart then, in metres."""
        return _length(self.place)

    @property
    def speed(self) -> Floats:
        """Of one past the other, in metres a second."""
        return _length(self.velocity)

    def in_plane(self, row: int) -> tuple[tuple[float, float], tuple[float, float, float]]:
        """Where the second passes in the plane across the velocity, and the covariance of that."""
        axes = _across(self.velocity[row], self.place[row])
        place, spread = axes @ self.place[row], axes @ self.covariance[row] @ axes.T
        return (float(place[0]), float(place[1])), (float(spread[0, 0]), float(spread[1, 1]), float(spread[0, 1]))


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors * vectors).sum(axis=1))
    return length


def _across(velocity: Floats, place: Floats) -> Floats:
    """Two axes across the velocity, the first towards the place; any that will do where there is none of either."""
    along = _unit(velocity, _aside(place))
    towards = _unit(place - (place @ along) * along, _aside(along))
    return np.stack([towards, np.cross(along, towards)])


def _unit(vector: Floats, otherwise: Floats) -> Floats:
    length = float(np.sqrt(vector @ vector))
    return vector / length if length > _NOWHERE else otherwise / np.sqrt(otherwise @ otherwise)


def _aside(vector: Floats) -> Floats:
    """Across a vector, and never nothing."""
    axis = np.eye(3)[np.argmin(np.abs(vector))]
    aside = np.cross(vector, axis)
    return aside if aside.any() else axis


def collision(plane: tuple[float, float], spread: tuple[float, float, float], radius: float) -> float:
    """The probability that two objects touch, from the place in the plane, its spread, and the radius of both."""
    sizes, axes = np.linalg.eigh(np.array([[spread[0], spread[2]], [spread[2], spread[1]]]))
    short, long = (axes.T @ np.array(plane)).tolist()
    narrow, wide = np.sqrt(sizes).tolist()
    return foster(EncounterPlane((long, short), (wide, narrow), radius))
