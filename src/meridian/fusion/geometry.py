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
from meridian.orbit.pc.planar import fosters

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

    def in_plane(self, rows: Integers) -> tuple[Floats, Floats]:
        """Where the second passes in the plane across the velocity, n by 2, and the covariance of that, n by 3.

        Of the covariance: towards the place, across that, and of both.
        """
        place = self.place[rows]
        axes = _across(self.velocity[rows], place)
        spread = axes @ self.covariance[rows] @ axes.transpose(0, 2, 1)
        spreads = np.stack([spread[:, 0, 0], spread[:, 1, 1], spread[:, 0, 1]], axis=1)
        return (axes * place[:, None, :]).sum(axis=2), spreads


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors * vectors).sum(axis=1))
    return length


def _across(velocity: Floats, place: Floats) -> Floats:
    """Two axes across the velocity, the first towards the place; any that will do where there is none of either."""
    along = _units(velocity, _aside(place))
    towards = _units(place - (place * along).sum(axis=1)[:, None] * along, _aside(along))
    return np.stack([towards, np.cross(along, towards)], axis=1)


def _units(vectors: Floats, otherwise: Floats) -> Floats:
    chosen = np.where(_length(vectors)[:, None] > _NOWHERE, vectors, otherwise)
    units: Floats = chosen / _length(chosen)[:, None]
    return units


def _aside(vectors: Floats) -> Floats:
    """Across vectors, and never nothing."""
    axes = np.eye(3)[np.argmin(np.abs(vectors), axis=1)]
    aside = np.cross(vectors, axes)
    return np.where(np.any(aside, axis=1, keepdims=True), aside, axes)


def collisions(planes: Floats, spreads: Floats, radii: Floats) -> Floats:
    """The probabilities that two objects touch, from the places in the plane, their spreads, and the radii of both."""
    sizes, axes = np.linalg.eigh(spreads[:, [[0, 2], [2, 1]]])
    places = (planes[:, :, None] * axes).sum(axis=1)
    return fosters(places[:, ::-1], np.sqrt(sizes[:, ::-1]), radii)
