"""How often the second object enters the sphere around the first, per second, at given times.

The expected inflow through the sphere, from the Gaussian of the relative state at each time. Which times are looked at
and how they are summed is the matter of `entries`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from meridian.orbit.frames import Floats
from meridian.orbit.pc.encounter import SIGMA_FLOOR, remedied
from meridian.orbit.pc.overlap import Orbit, Overlap, overlap
from meridian.orbit.pc.quadrature import gauss

Indices = NDArray[np.intp]

_LATITUDES = 64
_FEWEST_LONGITUDES = 128
_MOST_LONGITUDES = 512
_RESOLVED = 0.01
"""The least middle sigma, in radii, that the longitudes of the sphere still resolve."""
REACH_SIGMAS = 8.5
_NEGLIGIBLE = 80.0
"""In squared sigmas: e to the minus half of it is below 1e-17."""


def counting_times(seen: Floats) -> Indices:
    """Where it is not negligible against the nearest."""
    return np.flatnonzero(seen <= seen.min() + _NEGLIGIBLE)


def nearness(at: Overlap, radius_m: float) -> Floats:
    """A lower bound of the squared distance in sigmas from the mean to the sphere; infinite where nothing was found."""
    values, vectors = np.linalg.eigh(at.covariance[:, :3, :3])
    sigma = np.sqrt(np.maximum(values, (SIGMA_FLOOR * radius_m) ** 2))
    apart = np.linalg.norm(np.einsum("nji,nj->ni", vectors, at.mean[:, :3]) / sigma, axis=1)
    return np.where(at.found, np.maximum(apart - radius_m / sigma[:, 0], 0.0) ** 2, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """The inflow at each time, nothing where it is negligible.

    `complete` says that the overlap was found and resolved wherever it counts, `inside_at_first` bounds the chance to
    be inside the sphere at the first of the times.
    """

    inflow: Floats
    complete: bool
    inside_at_first: float


def rates_of(first: Orbit, second: Orbit, radius_m: float, times: Floats) -> Rates:
    """The rates at these times."""
    at = overlap(first, second, times)
    seen = nearness(at, radius_m)
    rates = np.zeros(len(times))
    counting = counting_times(seen) if at.found.any() else np.zeros(0, dtype=np.intp)
    for index in counting:
        rates[index] = _inflow(at, int(index), radius_m) if at.found[index] else 0.0
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(at.covariance[:, :3, :3]), (SIGMA_FLOOR * radius_m) ** 2)) / radius_m
    resolved = bool((sigma[counting, 1] >= _RESOLVED).all())
    densest = math.exp(-0.5 * seen[0]) / ((2.0 * math.pi) ** 1.5 * float(np.prod(sigma[0])))
    return Rates(rates, bool(at.found.all()) and resolved, min(1.0, 4.0 / 3.0 * math.pi * densest))


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
    low, high = max(-1.0, pole_mean - REACH_SIGMAS * sigma[0]), min(1.0, pole_mean + REACH_SIGMAS * sigma[0])
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
