"""One answer for an encounter: the probability to act on, or none, and why.

The planar probability is flagged by three indicators (Hall, Baars and Casali 2023): the encounter takes too large a
part of a revolution, it lies too far from the time of closest approach, or the planar figure differs from the curved.
Where the curved figure cannot be had, the planar one is given only if the orbits do not bend within the ellipse. Where
the data do not support either, there is no probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.special import erfcinv

from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.pc.caveats import POSITION_UNKNOWN, VELOCITY_UNKNOWN, Caveat, Flaw, Subject
from meridian.orbit.pc.encounter import Encounter, EncounterPlane, plane_of, remedied
from meridian.orbit.pc.entries import CurvedProbability, curved, straight_passage
from meridian.orbit.pc.overlap import orbits_of
from meridian.orbit.pc.planar import foster

_LONGEST = 0.02
_FARTHEST = 0.01
_MOST_INACCURATE = 0.02
_MOST_BENT = 0.1
_MOST_DAMAGED = 0.01
_SIGMAS = math.sqrt(2.0) * float(erfcinv(1e-16))
_LONG_SIGMAS = 3.0


class Violation(StrEnum):
    """Why the planar probability does not apply."""

    EXTENDED = "extended"
    OFFSET = "offset"
    INACCURATE = "inaccurate"
    BENT = "bent"


class Remedy(StrEnum):
    """Which covariance was not positive definite and was remedied."""

    FIRST = "first"
    SECOND = "second"
    COMBINED = "combined"
    PLANE = "plane"


class Method(StrEnum):
    """Which of the two probabilities is the one to act on."""

    PLANAR = "planar"
    CURVED = "curved"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known of the chance that two objects collide."""

    planar: float | None
    """None where a covariance of position is not known."""
    curved: CurvedProbability | None
    """None where a covariance of velocity is not known either."""
    violations: frozenset[Violation]
    remedies: frozenset[Remedy]
    caveats: tuple[Caveat, ...]
    method: Method | None
    """Which of the two is the probability; none where neither can be justified."""

    @property
    def probability(self) -> float | None:
        """The planar one where it applies, the curved one elsewhere, and none where neither can be justified."""
        if self.method is Method.PLANAR:
            return self.planar
        if self.method is Method.CURVED and self.curved is not None:
            return min(1.0, self.curved.probability)
        return None

    @property
    def reason(self) -> str | None:
        """Why there is no probability; none where there is one."""
        if self.method is not None:
            return None
        found = " ".join(caveat.text for caveat in self.caveats)
        flags = ", ".join(sorted(violation.value for violation in self.violations))
        return f"{found} The planar probability does not apply alone: {flags}." if flags else found


def assess(encounter: Encounter) -> Assessment:
    """Both probabilities of an encounter, what speaks against them, and which one to act on."""
    period = min(orbit.period_s for orbit in orbits_of(encounter))
    caveats = (*encounter.caveats, *(caveat for each in encounter.objects for caveat in each.caveats()))
    if _has(caveats, POSITION_UNKNOWN):
        return Assessment(None, None, frozenset(), frozenset(), _without_uncoupled(caveats), None)
    plane = plane_of(encounter)
    if sum(each.position_damage_m2() for each in encounter.objects) > _MOST_DAMAGED * plane.sigma_m[1] ** 2:
        return Assessment(None, None, frozenset(), frozenset(), (*caveats, _DAMAGED), None)
    alone = _violations_alone(encounter, plane, period)
    if Violation.BENT not in alone:
        caveats = _without_uncoupled(caveats)
    planar, remedies = foster(plane), frozenset({Remedy.PLANE} if plane.remedied else {})
    if _has(caveats, VELOCITY_UNKNOWN):
        return Assessment(planar, None, alone, remedies, caveats, None if alone else Method.PLANAR)
    whole, changed = _repaired(encounter)
    bent, remedies = curved(whole), remedies | changed
    if not bent.complete:
        caveats = (*caveats, _INCOMPLETE)
    if _has(caveats, frozenset({Flaw.UNCOUPLED_VELOCITY, Flaw.INCOMPLETE})):
        return Assessment(planar, bent, alone, remedies, caveats, None if alone else Method.PLANAR)
    violations = _violations(planar, bent, period)
    return Assessment(planar, bent, violations, remedies, caveats, Method.CURVED if violations else Method.PLANAR)


_DAMAGED = Caveat(
    Flaw.INDEFINITE_POSITION,
    Subject.BOTH,
    "The covariance of position is not positive definite by as much as the ellipse is wide.",
)
_INCOMPLETE = Caveat(
    Flaw.INCOMPLETE,
    Subject.BOTH,
    "The curved probability could not be computed for the whole encounter; a span may be given to `curved`.",
)


def _has(caveats: tuple[Caveat, ...], flaws: frozenset[Flaw]) -> bool:
    return any(caveat.flaw in flaws for caveat in caveats)


def _without_uncoupled(caveats: tuple[Caveat, ...]) -> tuple[Caveat, ...]:
    """Without what matters only where the orbits bend within the ellipse."""
    return tuple(caveat for caveat in caveats if caveat.flaw is not Flaw.UNCOUPLED_VELOCITY)


def _violations(planar: float, bent: CurvedProbability, period: float) -> frozenset[Violation]:
    half = _SIGMAS * bent.spread_s
    return _those({
        Violation.EXTENDED: 2.0 * half / period > _LONGEST,
        Violation.OFFSET: (abs(bent.mean_time_s) + half) / period > _FARTHEST,
        Violation.INACCURATE: _difference(planar, bent.probability) > _MOST_INACCURATE,
    })  # fmt: skip


def _violations_alone(encounter: Encounter, plane: EncounterPlane, period: float) -> frozenset[Violation]:
    """What speaks against the planar figure when there is no curved one to compare it with."""
    middle, half = straight_passage(encounter)
    return _those({
        Violation.EXTENDED: 2.0 * half / period > _LONGEST,
        Violation.OFFSET: (abs(middle) + half) / period > _FARTHEST,
        Violation.BENT: _bend_m(encounter, plane) > _MOST_BENT * plane.sigma_m[1],
    })  # fmt: skip


def _bend_m(encounter: Encounter, plane: EncounterPlane) -> float:
    """How far an orbit leaves a straight line within the ellipse and on the way to the closest approach."""
    distance = float(np.linalg.norm(encounter.first[:3]))
    sigma = math.sqrt(float(np.linalg.eigvalsh(encounter.covariance[:3, :3])[-1]))
    reach = max(_LONG_SIGMAS * sigma, math.hypot(*plane.miss_m))
    seconds = encounter.closest_s
    apart = float(np.linalg.norm(encounter.position_m))
    return reach**2 / (2.0 * distance) + EARTH_MU / distance**3 * apart * seconds**2


def _those(indicators: dict[Violation, bool]) -> frozenset[Violation]:
    return frozenset(violation for violation, holds in indicators.items() if holds)


def _difference(one: float, other: float) -> float:
    """From 0 for equal to 1 for numbers of which one is nothing against the other."""
    high = max(one, other)
    return 0.0 if high == 0.0 else 1.0 - min(one, other) / high


def _repaired(encounter: Encounter) -> tuple[Encounter, frozenset[Remedy]]:
    """The encounter with covariances that are such, and which of them had to be changed."""
    (first, is_first), (second, is_second) = (each.repaired() for each in encounter.objects)
    whole = replace(encounter, first_covariance=first, second_covariance=second)
    floors = remedied(np.asarray(encounter.covariance[:3, :3]), encounter.hard_body_radius_m).changed
    changed = {Remedy.FIRST: is_first, Remedy.SECOND: is_second, Remedy.COMBINED: floors}
    return whole, frozenset(remedy for remedy, holds in changed.items() if holds)
