"""The probability of collision with the orbits' curvature and the velocities' uncertainty, for slow encounters too.

It is the expected number of times that the second object enters the sphere around the first (Coppola 2012, Hall 2021),
the inward flow through the sphere, integrated over the sphere and over the encounter. For an encounter that happens
once that number is the probability. Motion is two-body, which is good for the minutes around an encounter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import simpson

from meridian.orbit import equinoctial
from meridian.orbit.frames import Floats
from meridian.orbit.pc.encounter import Encounter, remedied
from meridian.orbit.pc.inflow import REACH_SIGMAS, Indices, counting_times, nearness, rates_of
from meridian.orbit.pc.overlap import Orbit, at_the_mean, orbits_of, overlap

_SCAN = 257
_TIMES = 129
_MOST_TIMES = 1025
_CONVERGED = 1e-4
_MOST_ZOOMS = 20
_NOTHING = 1e-3
"""A rate of entries that is none, against the highest."""
_STARTED_INSIDE = 1e-2
"""The largest chance to be inside from the beginning, against the one to enter."""


@dataclass(frozen=True, slots=True)
class CurvedProbability:
    """The expected number of collisions, which is the probability of a single encounter, and when they would happen."""

    probability: float
    mean_time_s: float
    spread_s: float
    complete: bool
    """Whether the figure is whole.

    The overlap was found at every time that counts, the sums stand still, the sphere is resolved, and the pair is not
    already inside the sphere when the span begins.
    """


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds from the time of the encounter."""

    start_s: float
    end_s: float

    def times(self, count: int) -> Floats:
        """Evenly over the span."""
        return np.linspace(self.start_s, self.end_s, count)


def curved(encounter: Encounter, within: Span | None = None) -> CurvedProbability:
    """The probability of one encounter: of the whole of it, or only within a span."""
    first, second = orbits_of(encounter)
    middle, width = straight_passage(encounter)
    whole = within or _between_the_farthest(first, second, middle)
    radius_m = encounter.hard_body_radius_m
    times, seen = _scanned(first, second, radius_m, whole, Span(middle - width, middle + width))
    counting = counting_times(seen) if within else _of_this_encounter(counting_times(seen), times, middle)
    window = _zoomed(first, second, radius_m, _around(times, counting))
    found, is_cut = _integrated(first, second, radius_m, window)
    return replace(found, complete=found.complete and (within is not None or not is_cut))


def straight_passage(encounter: Encounter) -> tuple[float, float]:
    """When a straight passage would count, and for how long before and after."""
    position, velocity = encounter.position_m, encounter.velocity_m_s
    found = remedied(encounter.covariance[:3, :3], encounter.hard_body_radius_m)
    at, going = found.vectors.T @ position / found.sigma_m, found.vectors.T @ velocity / found.sigma_m
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        return 0.0, math.inf
    middle = -float(at @ going) / float(going @ going)
    return middle, REACH_SIGMAS / float(np.linalg.norm(going)) + encounter.hard_body_radius_m / speed


def _between_the_farthest(first: Orbit, second: Orbit, middle: float) -> Span:
    """From when the mean orbits are farthest apart to when they are so again.

    Where they are not, a quarter of a revolution each way: equal orbits cross again after half of one.
    """
    periods = sorted((first.period_s, second.period_s))
    reach = min(1.1 * periods[1], 2.2 * periods[0])
    times = np.linspace(-reach, reach, 401)
    paths = [equinoctial.to_cartesian(np.tile(orbit.elements, (401, 1)), times)[:, :3] for orbit in (first, second)]
    distance = np.linalg.norm(paths[1] - paths[0], axis=1)
    farthest = times[1:-1][(distance[1:-1] > distance[:-2]) & (distance[1:-1] >= distance[2:])]
    before, after = farthest[farthest < min(0.0, middle)], farthest[farthest > max(0.0, middle)]
    if not len(before) or not len(after):
        return Span(-0.25 * periods[0], 0.25 * periods[0])
    return Span(float(before[-1]), float(after[0]))


def _scanned(first: Orbit, second: Orbit, radius_m: float, whole: Span, passage: Span) -> tuple[Floats, Floats]:
    """How near the sphere comes, in squared sigmas, over the whole span and more finely over a straight passage."""
    near = Span(max(whole.start_s, passage.start_s), min(whole.end_s, passage.end_s))
    times = np.unique(np.concatenate([whole.times(_SCAN), near.times(_TIMES) if near.end_s > near.start_s else []]))
    bent, straight = overlap(first, second, times), at_the_mean(first, second, times)
    return times, np.minimum(nearness(bent, radius_m), nearness(straight, radius_m))


def _nearest_known(first: Orbit, second: Orbit, radius_m: float, times: Floats) -> Floats:
    """How near the sphere comes, by the mean orbits at times at which the overlap was not found."""
    bent = overlap(first, second, times)
    straight = at_the_mean(first, second, times)
    return np.where(bent.found, nearness(bent, radius_m), nearness(straight, radius_m))


def _of_this_encounter(counting: Indices, times: Floats, middle: float) -> Indices:
    """Without what only begins at the end of the span, which belongs to the encounter before or after."""
    parts = np.split(counting, np.flatnonzero(np.diff(counting) > 1) + 1)
    own = [
        part
        for part in parts
        if (part[0] > 0 and part[-1] < len(times) - 1) or times[part[0]] <= middle <= times[part[-1]]
    ]
    return np.concatenate(own or parts)


def _around(times: Floats, counting: Indices) -> Span:
    """From the time before the first that counts to the time after the last."""
    return Span(float(times[max(counting[0] - 1, 0)]), float(times[min(counting[-1] + 1, len(times) - 1)]))


def _zoomed(first: Orbit, second: Orbit, radius_m: float, window: Span) -> Span:
    """The part of a window that counts, looked at more and more closely."""
    for _ in range(_MOST_ZOOMS):
        times = window.times(_TIMES)
        inner = _around(times, counting_times(_nearest_known(first, second, radius_m, times)))
        if inner.end_s - inner.start_s > 0.5 * (window.end_s - window.start_s):
            return inner
        window = inner
    return window


def _integrated(first: Orbit, second: Orbit, radius_m: float, window: Span) -> tuple[CurvedProbability, bool]:
    """By Simpson's rule on a grid that is halved until the sum stands still, and whether it ends too early.

    It does when entries still count at one of its ends: then the objects have not parted there.
    """
    times = window.times(_TIMES)
    at = rates_of(first, second, radius_m, times)
    rates, complete = at.inflow, at.complete
    before = float(simpson(rates, x=times))
    while True:
        middles = 0.5 * (times[1:] + times[:-1])
        added = rates_of(first, second, radius_m, middles)
        times, rates = _woven(times, middles), _woven(rates, added.inflow)
        total, complete = float(simpson(rates, x=times)), complete and added.complete
        stands_still = abs(total - before) <= _CONVERGED * total
        if stands_still or len(times) >= _MOST_TIMES:
            break
        before = total
    complete = complete and stands_still and at.inside_at_first <= _STARTED_INSIDE * total
    if total <= 0.0:
        return CurvedProbability(0.0, 0.0, 0.0, complete), False
    mean = float(np.trapezoid(rates * times, times)) / total
    spread = math.sqrt(float(np.trapezoid(rates * (times - mean) ** 2, times)) / total)
    is_cut = bool(max(rates[0], rates[-1]) > _NOTHING * rates.max())
    return CurvedProbability(total, mean, spread, complete), is_cut


def _woven(ends: Floats, between: Floats) -> Floats:
    both = np.empty(len(ends) + len(between))
    both[::2], both[1::2] = ends, between
    return both
