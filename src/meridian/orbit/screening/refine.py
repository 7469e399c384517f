"""The time of closest approach of a pair, by SGP4 alone: where the distance stops falling and begins to rise.

It is found by the velocities and then polished by the positions: SGP4's velocity is not quite the change of its
position, which for two objects that fly around each other moves the time by tenths of a second.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meridian.orbit.propagation import METRES_PER_KM, Propagator
from meridian.orbit.screening.sweep import Candidates
from meridian.orbit.screening.values import Approach
from meridian.orbit.time import NS_PER_SECOND

_STILL_S = 1e-3
_BESIDE_NS = NS_PER_SECOND // 2
_MOST_STEPS = 40


def refined(propagator: Propagator, candidates: Candidates, half_s: float, threshold_m: float) -> Iterator[Approach]:
    """The approaches among candidates: a smallest distance within half a step of their time, below the threshold."""
    rows = zip(candidates.first.tolist(), candidates.second.tolist(), candidates.times_ns.tolist(), strict=True)
    for first, second, time_ns in rows:
        approach = _refine(propagator, first, second, time_ns, half_s)
        if approach is not None and approach.miss_m < threshold_m:
            yield approach


def _refine(propagator: Propagator, first: int, second: int, time_ns: int, half_s: float) -> Approach | None:
    """By false position (Illinois) on the rate of the squared distance, between the two ends of the step."""

    def closing(seconds: float) -> float:
        apart, speed = propagator.relative_km(first, second, time_ns + round(seconds * NS_PER_SECOND))
        return float(apart @ speed)

    low, high = -half_s, half_s
    at_low, at_high = closing(low), closing(high)
    if not at_low <= 0.0 < at_high:
        return None
    side, seconds = 0, low
    for _ in range(_MOST_STEPS):
        before, seconds = seconds, (low * at_high - high * at_low) / (at_high - at_low)
        rate = closing(seconds)
        if abs(seconds - before) < _STILL_S:
            break
        if rate > 0.0:
            high, at_high, at_low = seconds, rate, at_low * (0.5 if side > 0 else 1.0)
            side = 1
        else:
            low, at_low, at_high = seconds, rate, at_high * (0.5 if side < 0 else 1.0)
            side = -1
    tca_ns = _polished(propagator, first, second, time_ns + round(seconds * NS_PER_SECOND))
    miss, fast = (float(np.sqrt(each @ each)) * METRES_PER_KM for each in propagator.relative_km(first, second, tca_ns))
    return Approach(tca_ns, first, second, miss, fast)


def _polished(propagator: Propagator, first: int, second: int, time_ns: int) -> int:
    """The time at the bottom of the parabola through three squared distances, twice."""
    for _ in range(2):
        before, now, after = (
            float(apart @ apart)
            for apart, _ in (propagator.relative_km(first, second, time_ns + at * _BESIDE_NS) for at in (-1, 0, 1))
        )
        bend = before - 2.0 * now + after
        time_ns += round(_BESIDE_NS * 0.5 * (before - after) / bend) if bend > 0.0 else 0
    return time_ns


def merged(approaches: list[Approach]) -> list[Approach]:
    """In order of time, with what neighbouring steps both found said once."""
    kept: dict[tuple[int, int], Approach] = {}
    result: list[Approach] = []
    for approach in sorted(approaches):
        pair = (approach.first, approach.second)
        last = kept.get(pair)
        if last is None or approach.tca_ns - last.tca_ns > NS_PER_SECOND:
            result.append(approach)
            kept[pair] = approach
    return result
