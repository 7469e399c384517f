"""One answer for an encounter: the probability to act on, and why the planar one may not be used where it may not.

The planar probability is flagged by three indicators (Hall, Baars and Casali 2023): the encounter takes too large a
part of a revolution, it lies too far from the time of closest approach, or the planar figure differs from the curved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import erfcinv

from meridian.orbit.pc.encounter import Encounter, plane_of, remedied
from meridian.orbit.pc.entries import CurvedProbability, curved
from meridian.orbit.pc.overlap import orbits_of
from meridian.orbit.pc.planar import foster

_LONGEST = 0.02
_FARTHEST = 0.01
_MOST_INACCURATE = 0.02
_SIGMAS = math.sqrt(2.0) * float(erfcinv(1e-16))


class Violation(StrEnum):
    """Why the planar probability does not apply."""

    EXTENDED = "extended"
    OFFSET = "offset"
    INACCURATE = "inaccurate"


class Remedy(StrEnum):
    """Which covariance of position was not positive definite and was remedied."""

    FIRST = "first"
    SECOND = "second"
    COMBINED = "combined"
    PLANE = "plane"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known of the chance that two objects collide."""

    planar: float
    curved: CurvedProbability
    violations: frozenset[Violation]
    remedies: frozenset[Remedy]

    @property
    def probability(self) -> float:
        """The planar one where it applies, the curved one elsewhere."""
        return min(1.0, self.curved.probability) if self.violations else self.planar


def assess(encounter: Encounter) -> Assessment:
    """Both probabilities of an encounter, and what speaks against the planar one."""
    plane = plane_of(encounter)
    planar, bent = foster(plane), curved(encounter)
    remedies = _remedies(encounter) | ({Remedy.PLANE} if plane.remedied else frozenset())
    return Assessment(planar, bent, _violations(encounter, planar, bent), remedies)


def _violations(encounter: Encounter, planar: float, bent: CurvedProbability) -> frozenset[Violation]:
    period = min(orbit.period_s for orbit in orbits_of(encounter))
    half = _SIGMAS * bent.spread_s
    indicators = {
        Violation.EXTENDED: 2.0 * half / period > _LONGEST,
        Violation.OFFSET: (abs(bent.mean_time_s) + half) / period > _FARTHEST,
        Violation.INACCURATE: _difference(planar, bent.probability) > _MOST_INACCURATE,
    }
    return frozenset(violation for violation, holds in indicators.items() if holds)


def _difference(one: float, other: float) -> float:
    """From 0 for equal to 1 for numbers of which one is nothing against the other."""
    high = max(one, other)
    return 0.0 if high == 0.0 else 1.0 - min(one, other) / high


def _remedies(encounter: Encounter) -> frozenset[Remedy]:
    covariances = {
        Remedy.FIRST: encounter.first_covariance,
        Remedy.SECOND: encounter.second_covariance,
        Remedy.COMBINED: encounter.covariance,
    }
    return frozenset(
        which
        for which, covariance in covariances.items()
        if remedied(np.asarray(covariance[:3, :3]), encounter.hard_body_radius_m).changed
    )
