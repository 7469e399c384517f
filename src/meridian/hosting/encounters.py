"""Two encounters of the demonstration, arranged so that a newcomer sees what alerts are for. Pure.

Only the true orbits and the errors of the catalog are arranged. What is alerted, when, and how probable it is follows
from what the simulated sensors observe, as for every other object:

- The first pair really passes within metres. The catalog has the debris elsewhere, so the probability of collision is
  small at first, and rises as radar narrows the orbit down.
- The second pair really passes at several kilometres. By the catalog it would nearly touch, so it is alerted while few
  observations are known, and withdrawn when more of them show how far apart the two are.

Both pieces of debris come into view of a radar within the first minutes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from meridian.orbit import Elements
from meridian.orbit.frames import sidereal_time
from meridian.orbit.propagation import Floats, Propagator
from meridian.orbit.sites import Site

SECOND = 10**9
_SOLVED_M = 0.01
_MOST_STEPS = 20
_OUR_ECCENTRICITY = 0.01
_DEBRIS_ECCENTRICITY = 0.001


class By(Enum):
    """By which orbit of the debris the two objects nearly touch."""

    TRUTH = "truth"
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True)
class Encounter:
    """A satellite of ours and a piece of debris that are going to pass each other.

    :param above: the debris passes over this site on its way north, `highest_s` seconds after the epoch.
    :param closest_s: seconds from the epoch to the closest approach.
    :param miss_m: how far apart they are then, by the orbit that `by` names.
    :param fast_rev_day: by so much the mean motion of the debris is too large in the catalog.
    :param our_inclination_deg: of our satellite; the debris has `inclination_deg`.
    """

    above: Site
    highest_s: float
    closest_s: float
    by: By
    miss_m: float
    fast_rev_day: float
    inclination_deg: float
    our_inclination_deg: float
    mean_motion_rev_day: float


@dataclass(frozen=True, slots=True)
class Arranged:
    """One object, as the catalog has it and as it really moves."""

    catalog: Elements
    truth: Elements


def arranged(encounter: Encounter, ours: Elements, debris: Elements) -> tuple[Arranged, Arranged]:
    """The two objects on orbits that meet as the encounter says; names and numbers are those that are given."""
    truth = _passing_over(encounter, debris, encounter.mean_motion_rev_day)
    catalog = _passing_over(encounter, debris, encounter.mean_motion_rev_day + encounter.fast_rev_day)
    meeting = _meeting(encounter, ours, truth if encounter.by is By.TRUTH else catalog)
    return Arranged(meeting, meeting), Arranged(catalog, truth)


def _passing_over(encounter: Encounter, debris: Elements, mean_motion: float) -> Elements:
    """An orbit that leads over the site on its way north, where its perigee is: of the same height for any motion.

    So the catalog has the debris nearly where it is while it is over the site, and only its speed is wrong. That shows
    when it has been observed for some minutes.
    """
    site, inclination = encounter.above, math.radians(encounter.inclination_deg)
    at_ns = debris.epoch_ns + round(encounter.highest_s * SECOND)
    longitude = math.radians(site.longitude_deg) + float(sidereal_time(np.array([at_ns]))[0])
    along = math.asin(math.sin(math.radians(site.latitude_deg)) / math.sin(inclination))
    larger = (encounter.mean_motion_rev_day / mean_motion) ** (2 / 3)
    return replace(
        debris,
        mean_motion_rev_day=mean_motion,
        eccentricity=1 - (1 - _DEBRIS_ECCENTRICITY) / larger,
        inclination_deg=encounter.inclination_deg,
        raan_deg=math.degrees(_node(longitude, inclination, along)) % 360,
        argument_of_perigee_deg=math.degrees(along) % 360,
        mean_anomaly_deg=-360 * mean_motion * encounter.highest_s / 86_400 % 360,
    )


def _meeting(encounter: Encounter, ours: Elements, debris: Elements) -> Elements:
    """An orbit of ours whose perigee is where the debris is at that time, higher by the miss distance.

    Its period differs from that of the debris, so the two do not meet again at the next node.
    """
    at_ns = debris.epoch_ns + round(encounter.closest_s * SECOND)
    there, velocity = Propagator([debris]).state(0, at_ns)
    distance, inclination = float(np.linalg.norm(there)), math.radians(encounter.our_inclination_deg)
    northward = math.asin(there[2] / distance / math.sin(inclination))
    along = northward if velocity[2] > 0 else math.pi - northward  # both go the same way
    mean_motion = encounter.mean_motion_rev_day * (1 - _OUR_ECCENTRICITY) ** 1.5
    guess = replace(
        ours,
        mean_motion_rev_day=mean_motion,
        eccentricity=_OUR_ECCENTRICITY,
        inclination_deg=encounter.our_inclination_deg,
        raan_deg=math.degrees(_node(math.atan2(there[1], there[0]), inclination, along)) % 360,
        argument_of_perigee_deg=math.degrees(along) % 360,
        mean_anomaly_deg=-360 * mean_motion * encounter.closest_s / 86_400 % 360,
    )
    return _leading_to(guess, there * (1 + encounter.miss_m / distance), at_ns)


def _node(longitude: float, inclination: float, along: float) -> float:
    """The right ascension of the ascending node of an orbit, from that of a place so far behind the node."""
    return longitude - math.atan2(math.cos(inclination) * math.sin(along), math.cos(along))


def _leading_to(guess: Elements, wanted: Floats, at_ns: int) -> Elements:
    """The same orbit, turned and sized by Newton's method until it leads through a place at a time."""
    steps = np.array([1e-4, 1e-4, 1e-6])
    for _ in range(_MOST_STEPS):
        off = _place(guess, np.zeros(3), at_ns) - wanted
        if float(np.linalg.norm(off)) < _SOLVED_M:
            return guess
        slopes = [(_place(guess, np.diag(steps)[axis], at_ns) - wanted - off) / steps[axis] for axis in range(3)]
        guess = _changed(guess, -np.linalg.solve(np.array(slopes).T, off))
    message = "no orbit leads there"
    raise AssertionError(message)


def _place(elements: Elements, change: Floats, at_ns: int) -> Floats:
    return Propagator([_changed(elements, change)]).state(0, at_ns)[0]


def _changed(elements: Elements, change: Floats) -> Elements:
    node, anomaly, motion = change.tolist()
    return replace(
        elements,
        raan_deg=(elements.raan_deg + node) % 360,
        mean_anomaly_deg=(elements.mean_anomaly_deg + anomaly) % 360,
        mean_motion_rev_day=elements.mean_motion_rev_day + motion,
    )
