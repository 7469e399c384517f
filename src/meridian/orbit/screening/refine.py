"""The time of closest approach of a pair, by SGP4 alone: where the distance stops falling and begins to rise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meridian.orbit.frames import Floats
from meridian.orbit.propagation import METRES_PER_KM, Propagator
from meridian.orbit.screening.sweep import Candidates
from meridian.orbit.screening.values import Approach
from meridian.orbit.time import NS_PER_SECOND

_STILL_S = 1e-5
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

    def closing(seconds: float) -> tuple[float, Floats, Floats]:
        apart, speed = propagator.relative_km(first, second, time_ns + round(seconds * NS_PER_SECOND))
        return float(apart @ speed), apart, speed

    low, high = -half_s, half_s
    at_low, at_high = closing(low)[0], closing(high)[0]
    if not at_low <= 0.0 < at_high:
        return None
    side, seconds = 0, low
    for _ in range(_MOST_STEPS):
        before, seconds = seconds, (low * at_high - high * at_low) / (at_high - at_low)
        rate, apart, speed = closing(seconds)
        if abs(seconds - before) < _STILL_S:
            break
        if rate > 0.0:
            high, at_high, at_low = seconds, rate, at_low * (0.5 if side > 0 else 1.0)
            side = 1
        else:
            low, at_low, at_high = seconds, rate, at_high * (0.5 if side < 0 else 1.0)
            side = -1
    miss, fast = (float(np.sqrt(each @ each)) * METRES_PER_KM for each in (apart, speed))
    return Approach(time_ns + round(seconds * NS_PER_SECOND), first, second, miss, fast)


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
