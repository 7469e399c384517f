"""Which object a direction without a name belongs to: the one that the catalog has there. Pure, in columns.

Telescopes see a point of light. It is taken for the one object that could be there by what the catalog says of it; if
two could, neither is chosen. What is chosen depends on the catalog and on the observation, and on nothing that was
seen before, so it is the same in whatever order observations come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.fusion.exact import Floats, Integers
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND
from meridian.orbit.sites import Site

NOBODY = -1
"""In place of the number of an object, where none fits or more than one does."""
_ROWS_AT_ONCE = 64
"""Directions that are compared with the whole catalog together: memory is bounded by that."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How far from where the catalog has it an object may be seen.

    :param sure: so many standard deviations.
    :param apart: another object must be so many times further off, or neither is chosen.
    """

    sure: float = 4.0
    apart: float = 3.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """Names what is seen from sites."""

    references: References
    gate: Gate = Gate()

    def objects(self, site: Site, times: Integers, directions: Floats, sigma: Floats, skew_s: Floats) -> Integers:
        """The object of each direction, or `NOBODY`.

        :param directions: right ascension and declination of each, n by 2.
        :param sigma: of each, in radians.
        :param skew_s: by how many seconds the time of each may be off.
        """
        found = np.full(len(times), NOBODY, np.int64)
        for second in np.unique(times // SECOND).tolist():
            rows = np.flatnonzero(times // SECOND == second)
            sky = _Overhead.of(self.references, site, second * SECOND + SECOND // 2)
            for some in np.split(rows, range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE)):
                found[some] = self._nearest(sky, times[some], directions[some], sigma[some], skew_s[some])
        return found

    def _nearest(self, sky: _Overhead, times: Integers, directions: Floats, sigma: Floats, skew_s: Floats) -> Integers:
        if not len(sky.objects):
            return np.full(len(times), NOBODY, np.int64)
        distance = self._distances(sky, times, _unit(directions), sigma, skew_s)
        best = distance.argmin(axis=1)
        rows = np.arange(len(times))
        nearest = distance[rows, best].copy()
        distance[rows, best] = np.inf
        second = distance.min(axis=1)
        is_sure = (nearest < 1.0) & ((second >= 1.0) | (second > self.gate.apart * nearest))
        return np.where(is_sure, sky.objects[best], NOBODY)

    def _distances(self, sky: _Overhead, times: Integers, looked: Floats, sigma: Floats, skew_s: Floats) -> Floats:
        """Between each direction and each object, in parts of how far they may be apart: n directions by m objects."""
        seconds = (times - sky.time) / SECOND
        places = sky.place[None] + seconds[:, None, None] * sky.velocity[None]
        away = np.sqrt((places * places).sum(axis=2))
        chord = places / away[:, :, None] - looked[:, None, :]
        own = (sky.spread[None] + skew_s[:, None] * sky.speed[None]) / away
        allowed = self.gate.sure * np.sqrt(own**2 + sigma[:, None] ** 2)
        distance: Floats = np.sqrt((chord * chord).sum(axis=2)) / allowed
        return distance


@dataclass(frozen=True, slots=True)
class _Overhead:
    """The objects above the horizon of a site in one second, relative to the site."""

    time: int
    objects: Integers
    place: Floats
    velocity: Floats
    speed: Floats
    spread: Floats
    """How far each may be off its reference, in metres."""

    @classmethod
    def of(cls, references: References, site: Site, time: int) -> _Overhead:
        everything, when = np.arange(len(references)), np.array([time])
        states = references.states(everything, np.full(len(everything), time))
        own_place, own_velocity = (each[0] for each in site.states(when))
        place, velocity = states[:, :3] - own_place, states[:, 3:] - own_velocity
        with np.errstate(invalid="ignore"):
            above = np.flatnonzero((place @ own_place) > 0.0)
        spread = references.spread(above, np.full(len(above), time))
        speed = np.sqrt((velocity[above] * velocity[above]).sum(axis=1))
        return cls(time, above, place[above], velocity[above], speed, spread)


def _unit(directions: Floats) -> Floats:
    right_ascension, declination = directions.T
    out = np.cos(declination)
    return np.stack([out * np.cos(right_ascension), out * np.sin(right_ascension), np.sin(declination)], axis=1)
