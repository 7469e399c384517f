"""The nodes and weights of Gauss's quadrature, which take long to find and never change."""

from __future__ import annotations

from functools import cache

import numpy as np

from meridian.orbit.frames import Floats


@cache
def _unit(nodes: int) -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return points, weights


def gauss(nodes: int, start: Floats | float, end: Floats | float) -> tuple[Floats, Floats]:
    """Where to take a function between two bounds, and with which weights to sum it; for columns of bounds, in rows."""
    points, weights = _unit(nodes)
    half = 0.5 * (end - start)
    return start + half * (points + 1.0), half * weights
