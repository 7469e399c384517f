"""The probability of collision by drawing orbits: slow, with no approximation but two-body motion: an oracle.

Both objects are drawn from their Gaussian in equinoctial elements and followed through a span; a draw counts when they
come closer than the hard-body radius at any time of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from meridian.orbit import equinoctial
from meridian.orbit.frames import Floats
from meridian.orbit.pc.encounter import Encounter
from meridian.orbit.pc.entries import Span
from meridian.orbit.pc.overlap import Orbit, orbits_of

_REFINEMENTS = 4
_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class SampledProbability:
    """How many draws collided, and an interval that holds the probability with the given confidence."""

    hits: int
    draws: int
    low: float
    high: float

    @property
    def probability(self) -> float:
        """The share of the draws that collided."""
        return self.hits / self.draws

    def holds(self, probability: float) -> bool:
        """Whether a probability is within the interval."""
        return self.low <= probability <= self.high


def monte_carlo(
    encounter: Encounter, within: Span, draws: int, random: np.random.Generator, *, times: int = 65,
    confidence: float = 0.999,
) -> SampledProbability:  # fmt: skip
    """Draw pairs of orbits; `times` is how finely the span is searched before each approach is refined."""
    first, second = orbits_of(encounter)
    hits = 0
    for start in range(0, draws, _CHUNK):
        count = min(_CHUNK, draws - start)
        nearest = _nearest(_drawn(first, count, random), _drawn(second, count, random), within.times(times))
        hits += int(np.sum(nearest < encounter.hard_body_radius_m))
    rest = 0.5 * (1.0 - confidence)
    low = float(beta.ppf(rest, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - rest, hits + 1, draws - hits)) if hits < draws else 1.0
    return SampledProbability(hits, draws, low, high)


def _drawn(orbit: Orbit, count: int, random: np.random.Generator) -> Floats:
    scale = np.sqrt(np.diag(orbit.covariance))
    values, vectors = np.linalg.eigh(orbit.covariance / np.outer(scale, scale))
    root = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    drawn: Floats = orbit.elements + random.standard_normal((count, 6)) @ root.T
    return drawn


def _nearest(first: Floats, second: Floats, times: Floats) -> Floats:
    """The least distance of each pair: at every local minimum on the grid, refined along the relative motion."""
    distance = np.stack(
        [np.linalg.norm(_relative(first, second, np.full(len(first), at))[:, :3], axis=1) for at in times]
    )
    nearest: Floats = distance.min(axis=0)
    padded = np.pad(distance, ((1, 1), (0, 0)), constant_values=np.inf)
    lowest = (distance <= padded[:-2]) & (distance <= padded[2:])
    step, pair = np.nonzero(lowest)
    at = times[step]
    low, high = times[np.maximum(step - 1, 0)], times[np.minimum(step + 1, len(times) - 1)]
    for _ in range(_REFINEMENTS):
        relative = _relative(first[pair], second[pair], at)
        np.minimum.at(nearest, pair, np.linalg.norm(relative[:, :3], axis=1))
        change = -np.sum(relative[:, :3] * relative[:, 3:], axis=1) / np.sum(relative[:, 3:] ** 2, axis=1)
        at = np.clip(at + change, low, high)
    np.minimum.at(nearest, pair, np.linalg.norm(_relative(first[pair], second[pair], at)[:, :3], axis=1))
    return nearest


def _relative(first: Floats, second: Floats, times: Floats) -> Floats:
    return equinoctial.to_cartesian(second, times) - equinoctial.to_cartesian(first, times)
