"""The probability of collision with the orbits' curvature and the velocities' uncertainty, for slow encounters too.

It is the expected number of times that the second object enters the sphere around the first (Coppola 2012, Hall 2021),
the inward flow through the sphere, integrated over the sphere and over the encounter. For an encounter that happens
once that number is the probability. Motion is two-body, which is good for the minutes around an encounter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import simpson
from scipy.special import erfc

from meridian.orbit import equinoctial
from meridian.orbit.frames import Floats
from meridian.orbit.pc.encounter import SIGMA_FLOOR, Encounter, remedied
from meridian.orbit.pc.overlap import Orbit, Overlap, at_the_mean, orbits_of, overlap
from meridian.orbit.pc.quadrature import gauss

Indices = NDArray[np.intp]

_LATITUDES = 64
_FEWEST_LONGITUDES = 128
_MOST_LONGITUDES = 512
_SIGMAS = 8.5
_NEGLIGIBLE = 80.0
"""In squared sigmas: e to the minus half of it is below 1e-17."""
_SCAN = 257
_TIMES = 129
_MOST_TIMES = 1025
_CONVERGED = 1e-4
_MOST_ZOOMS = 20


@dataclass(frozen=True, slots=True)
class CurvedProbability:
    """The expected number of collisions, which is the probability of a single encounter, and when they would happen."""

    probability: float
    mean_time_s: float
    spread_s: float
    complete: bool
    """Whether the overlap was found at every time that counts."""


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
    middle, width = _straight_time(encounter)
    whole = within or _between_the_farthest(first, second, middle)
    radius_m = encounter.hard_body_radius_m
    times, seen = _scanned(first, second, radius_m, whole, Span(middle - width, middle + width))
    counting = _counting(seen) if within else _of_this_encounter(_counting(seen), times, middle)
    window = _zoomed(first, second, radius_m, _around(times, counting))
    return _integrated(first, second, encounter.hard_body_radius_m, window)


def _straight_time(encounter: Encounter) -> tuple[float, float]:
    """When and for how long a straight passage would count."""
    position, velocity = encounter.position_m, encounter.velocity_m_s
    found = remedied(encounter.covariance[:3, :3], encounter.hard_body_radius_m)
    at, going = found.vectors.T @ position / found.sigma_m, found.vectors.T @ velocity / found.sigma_m
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        return 0.0, math.inf
    middle = -float(at @ going) / float(going @ going)
    return middle, _SIGMAS / float(np.linalg.norm(going)) + encounter.hard_body_radius_m / speed


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
    return times, np.minimum(_nearness(bent, radius_m), _nearness(straight, radius_m))


def _counting(seen: Floats) -> Indices:
    """Where it is not negligible against the nearest."""
    return np.flatnonzero(seen <= seen.min() + _NEGLIGIBLE)


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
        inner = _around(times, _counting(_nearness(overlap(first, second, times), radius_m)))
        if inner.end_s - inner.start_s > 0.5 * (window.end_s - window.start_s):
            return inner
        window = inner
    return window


def _nearness(at: Overlap, radius_m: float) -> Floats:
    """A lower bound of the squared distance in sigmas from the mean to the sphere; infinite where nothing was found."""
    values, vectors = np.linalg.eigh(at.covariance[:, :3, :3])
    sigma = np.sqrt(np.maximum(values, (SIGMA_FLOOR * radius_m) ** 2))
    apart = np.linalg.norm(np.einsum("nji,nj->ni", vectors, at.mean[:, :3]) / sigma, axis=1)
    return np.where(at.found, np.maximum(apart - radius_m / sigma[:, 0], 0.0) ** 2, np.inf)


def _integrated(first: Orbit, second: Orbit, radius_m: float, window: Span) -> CurvedProbability:
    """By Simpson's rule on a grid that is halved until the sum stands still."""
    times = window.times(_TIMES)
    rates, complete = _rates(first, second, radius_m, times)
    before = float(simpson(rates, x=times))
    while True:
        middles = 0.5 * (times[1:] + times[:-1])
        added, found = _rates(first, second, radius_m, middles)
        times, rates = _woven(times, middles), _woven(rates, added)
        total, complete = float(simpson(rates, x=times)), complete and found
        if abs(total - before) <= _CONVERGED * total or len(times) >= _MOST_TIMES:
            break
        before = total
    if total <= 0.0:
        return CurvedProbability(0.0, 0.0, 0.0, complete)
    mean = float(np.trapezoid(rates * times, times)) / total
    spread = math.sqrt(float(np.trapezoid(rates * (times - mean) ** 2, times)) / total)
    return CurvedProbability(total, mean, spread, complete)


def _woven(ends: Floats, between: Floats) -> Floats:
    both = np.empty(len(ends) + len(between))
    both[::2], both[1::2] = ends, between
    return both


def _rates(first: Orbit, second: Orbit, radius_m: float, times: Floats) -> tuple[Floats, bool]:
    """The inflow at each time, nothing where it is negligible, and whether the overlap was found wherever it counts."""
    at = overlap(first, second, times)
    seen = _nearness(at, radius_m)
    rates = np.zeros(len(times))
    for index in _counting(seen):
        rates[index] = _inflow(at, int(index), radius_m) if at.found[index] else 0.0
    return rates, bool(at.found.all())


def _inflow(at: Overlap, index: int, radius_m: float) -> float:
    """The expected number of entries into the sphere per second, at one time.

    The sphere's pole is the axis of the smallest sigma, and only the latitudes within reach of it are summed.
    """
    covariance = at.covariance[index]
    found = remedied(covariance[:3, :3], radius_m)
    axes, sigma = found.vectors, found.sigma_m
    mean, velocity = axes.T @ at.mean[index, :3], axes.T @ at.mean[index, 3:]
    across, spread = axes.T @ covariance[3:, :3] @ axes, axes.T @ covariance[3:, 3:] @ axes
    normals, weights = _sphere(mean[0] / radius_m, sigma / radius_m)
    if not len(weights):
        return 0.0
    offset = radius_m * normals - mean
    density = np.exp(-0.5 * np.sum((offset / sigma) ** 2, axis=1)) / ((2.0 * np.pi) ** 1.5 * np.prod(sigma))
    gain = across / sigma**2
    outward = np.sum(normals * (velocity + offset @ gain.T), axis=1)
    variance = np.sum((normals @ (spread - gain @ across.T)) * normals, axis=1)
    return float(radius_m**2 * np.sum(weights * density * _inward(outward, np.sqrt(np.maximum(variance, 1e-30)))))


def _inward(mean: Floats, sigma: Floats) -> Floats:
    """The mean of what is negative of a normal number, as a positive amount."""
    ratio = mean / sigma
    result: Floats = sigma * np.exp(-0.5 * ratio**2) / math.sqrt(2.0 * math.pi) - mean * 0.5 * erfc(
        ratio / math.sqrt(2.0)
    )
    return result


def _sphere(pole_mean: float, sigma: Floats) -> tuple[Floats, Floats]:
    """Unit vectors (n, 3) and weights over the part of the unit sphere that is within reach along its pole."""
    low, high = max(-1.0, pole_mean - _SIGMAS * sigma[0]), min(1.0, pole_mean + _SIGMAS * sigma[0])
    if high <= low:
        return np.zeros((0, 3)), np.zeros(0)
    heights, weights = gauss(_LATITUDES, low, high)
    longitudes = int(np.clip(12.0 / sigma[1], _FEWEST_LONGITUDES, _MOST_LONGITUDES))
    angles = np.arange(longitudes) * (2.0 * np.pi / longitudes)
    ring = np.sqrt(1.0 - heights**2)[:, None]
    normals = np.stack(
        [np.repeat(heights[:, None], longitudes, axis=1), ring * np.cos(angles), ring * np.sin(angles)], axis=-1
    )
    return normals.reshape(-1, 3), np.repeat(weights * 2.0 * np.pi / longitudes, longitudes)
