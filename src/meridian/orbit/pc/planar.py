"""Probabilities of collision of fast encounters, in the encounter plane: Foster, Alfano's maximum, Chan.

All three take the relative motion to be straight and the velocities to be known while the objects pass, and are wrong
where that is not so: `meridian.orbit.pc.assessment` says where.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erf, erfc, gammainc

from meridian.orbit.frames import Floats
from meridian.orbit.pc.encounter import EncounterPlane
from meridian.orbit.pc.quadrature import gauss

_NODES = 64
_MOST_NODES = 1024
_BLOCK = 2048
"""So many encounters are integrated at once: 25 MB of nodes."""
_CONVERGED = 1e-12
_ROOT_2 = math.sqrt(2.0)
_REACH_SIGMAS = 39.0
"""Where a Gaussian ends in double precision."""
_SIZES = 49


def foster(plane: EncounterPlane) -> float:
    """The Gaussian over the disc of the hard body, by direct quadrature (Foster and Estes 1992)."""
    return float(fosters(np.array([plane.miss_m]), np.array([plane.sigma_m]), np.array([plane.radius_m]))[0])


def fosters(miss_m: Floats, sigma_m: Floats, radius_m: Floats) -> Floats:
    """The same of many encounters, one a row, each for itself.

    Across the ellipse the integral is a difference of error functions, along it a sum over an angle, whose nodes are
    doubled until it stands still.

    :param miss_m: along the long axis of the ellipse and along the short one, n by 2.
    :param sigma_m: of the ellipse, the long one first, n by 2.
    """
    blocks = range(0, len(radius_m), _BLOCK)
    found = [_converged(*(each[start : start + _BLOCK] for each in (miss_m, sigma_m, radius_m))) for start in blocks]
    return np.concatenate(found) if found else np.empty(0)


def _converged(miss_m: Floats, sigma_m: Floats, radius_m: Floats) -> Floats:
    found, nodes = _discs(miss_m, sigma_m, radius_m, _NODES), _NODES
    moving = np.arange(len(found))
    while len(moving) and nodes < _MOST_NODES:
        nodes *= 2
        value = _discs(miss_m[moving], sigma_m[moving], radius_m[moving], nodes)
        is_moving = np.abs(value - found[moving]) > _CONVERGED * value
        found[moving] = value
        moving = moving[is_moving]
    return found


def _discs(miss_m: Floats, sigma_m: Floats, radius_m: Floats, nodes: int) -> Floats:
    (right, up), (long, short), radius = np.hsplit(miss_m, 2), np.hsplit(sigma_m, 2), radius_m[:, None]
    angles, weights = gauss(nodes, *_angles_within_reach(right, long, radius))
    along, across = radius * np.cos(angles), radius * np.sin(angles)
    density = np.exp(-0.5 * ((along - right) / long) ** 2) / (math.sqrt(2.0 * math.pi) * long)
    chance = _between((-across - up) / short, (across - up) / short)
    discs: Floats = np.sum(weights * density * chance * across, axis=1)
    return discs


def _angles_within_reach(right: Floats, long: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """Which part of the half circle is near enough along the ellipse to count; a body may be many sigmas wide."""
    low, high = (np.clip((right + side * _REACH_SIGMAS * long) / radius, -1.0, 1.0) for side in (-1.0, 1.0))
    return np.arccos(high), np.arccos(low)


def _between(low: Floats, high: Floats) -> Floats:
    """The chance of a normal number between two bounds, also far from zero, where erf has no digits left."""
    mirrored = low + high < 0.0
    near, far = np.where(mirrored, -high, low) / _ROOT_2, np.where(mirrored, -low, high) / _ROOT_2
    in_the_tail = erfc(np.abs(near)) - erfc(np.abs(far))
    result: Floats = 0.5 * np.where(near > 0.0, in_the_tail, erf(far) - erf(near))
    return result


@dataclass(frozen=True, slots=True)
class MaximumProbability:
    """The largest probability that a covariance of this shape could give, and how much larger it would have to be.

    A scale below one means dilution: the covariance is so large that better knowledge could *raise* the probability.
    """

    probability: float
    scale: float

    @property
    def diluted(self) -> bool:
        """Whether the covariance is larger than the one that gives the maximum."""
        return self.scale < 1.0


def maximum(plane: EncounterPlane) -> MaximumProbability:
    """Alfano's maximum: the shape and direction of the ellipse are kept, its size is taken as unknown."""
    gap = math.hypot(*plane.miss_m) - plane.radius_m
    if gap <= 0.0:
        return MaximumProbability(1.0, 0.0)
    farthest = math.hypot(*(miss / sigma for miss, sigma in zip(plane.miss_m, plane.sigma_m, strict=True)))
    sizes = np.linspace(math.log(0.1 * gap / plane.sigma_m[0]), math.log(2.0 * farthest), _SIZES)
    ellipses, same = np.exp(sizes)[:, None] * plane.sigma_m, np.ones(_SIZES)
    best = int(np.argmax(fosters(same[:, None] * plane.miss_m, ellipses, same * plane.radius_m)))
    around = float(sizes[max(best - 1, 0)]), float(sizes[min(best + 1, _SIZES - 1)])
    found = minimize_scalar(
        lambda size: -foster(plane.scaled(math.exp(size))), bounds=around, options={"xatol": 1e-7}, method="bounded"
    )
    return MaximumProbability(float(-found.fun), math.exp(float(found.x)))


def maximum_without_covariance(miss_m: float, radius_m: float, aspect: float = 3.0) -> MaximumProbability:
    """The same when nothing but the miss distance is known, for an ellipse of an aspect ratio along it.

    SOCRATES publishes this figure, with an aspect of 3. The scale is then the short axis in metres.
    """
    return maximum(EncounterPlane((miss_m, 0.0), (aspect, 1.0), radius_m))


@dataclass(frozen=True, slots=True)
class ChanProbability:
    """Chan's series, cut after some terms, and a bound on what was cut off.

    The bound says nothing of the method's own approximation, a circle of equal area for the ellipse: that grows with
    the radius over sigma and with the aspect ratio, and is a tenth of a percent for radii of a fifth of sigma.
    """

    probability: float
    truncation_bound: float
    terms: int


def chan(plane: EncounterPlane, terms: int = 60) -> ChanProbability:
    """Chan 1997. The term m is a Poisson chance times a Poisson tail, so the rest is below the product of two tails."""
    area = 0.5 * plane.radius_m**2 / (plane.sigma_m[0] * plane.sigma_m[1])
    miss = 0.5 * sum((m / s) ** 2 for m, s in zip(plane.miss_m, plane.sigma_m, strict=True))
    order = np.arange(terms)
    logs = order * math.log(miss) - np.cumsum(np.log(np.maximum(order, 1))) - miss if miss > 0.0 else np.zeros(1)
    tails = gammainc(order[: len(logs)] + 1.0, area)
    rest = float(gammainc(terms + 1.0, area) * (gammainc(terms, miss) if miss > 0.0 else 0.0))
    return ChanProbability(float(np.sum(np.exp(logs) * tails)), rest, terms)
