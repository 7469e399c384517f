"""Screening without any cleverness, as an oracle: every pair's distance every few seconds, each minimum refined."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from meridian.orbit.propagation import Propagator

SECOND_NS = 1_000_000_000
STEP_S = 4.0
REACH_KM_PER_S = 16.5


def brute_force(
    propagator: Propagator, start_ns: int, end_ns: int, threshold_m: float
) -> dict[tuple[int, int, int], tuple[int, float]]:
    """Time and distance of each smallest distance below the threshold, by pair and minute."""
    steps = int((end_ns - start_ns) / (STEP_S * SECOND_NS)) + 1
    reach = (threshold_m / 1000.0 + REACH_KM_PER_S * STEP_S / 2.0) ** 2
    found = {}
    before, now = _squares(propagator, _at(start_ns, -1)), _squares(propagator, start_ns)
    for step in range(steps + 1):
        after = _squares(propagator, _at(start_ns, step + 1))
        for first, second in zip(*np.nonzero((now < reach) & (now <= before) & (now <= after)), strict=True):
            if first < second:
                tca, miss = _refined(propagator, int(first), int(second), _at(start_ns, step))
                if miss < threshold_m and start_ns <= tca <= end_ns:
                    found[int(first), int(second), round(tca / (60 * SECOND_NS))] = (tca, miss)
        before, now = now, after
    return found


def _at(start_ns: int, step: int) -> int:
    return start_ns + round(step * STEP_S * SECOND_NS)


def _squares(propagator: Propagator, time_ns: int) -> np.ndarray:
    position = propagator.states_km(np.array([time_ns]))[1][:, 0].astype(np.float64)
    size = np.sum(position**2, axis=1)
    return size[:, None] + size[None, :] - 2.0 * (position @ position.T)


def _refined(propagator: Propagator, first: int, second: int, time_ns: int) -> tuple[int, float]:
    def distance(seconds: float) -> float:
        apart, _ = propagator.relative_km(first, second, time_ns + round(seconds * SECOND_NS))
        return float(np.linalg.norm(apart))

    best = minimize_scalar(distance, bounds=(-1.5 * STEP_S, 1.5 * STEP_S), method="bounded", options={"xatol": 1e-5})
    return time_ns + round(float(best.x) * SECOND_NS), float(best.fun) * 1000.0
