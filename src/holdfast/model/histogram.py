"""A histogram of durations with fixed buckets, so that any two can be compared or added up.

The bounds grow by a fourth root of two from one microsecond to more than an hour: a percentile read from it is never
below the true one and at most `GROWTH` times it. Memory is constant; recording costs one binary search.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import ceil

GROWTH = 2 ** (1 / 4)
SMALLEST = 1e-6
BOUNDS = tuple(SMALLEST * 2 ** (step / 4) for step in range(129))
"""The upper bound of each bucket in seconds; one more bucket takes everything above the last."""

COARSE_BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Bounds for what is told to metrics systems, which take every bucket for a series of its own."""


class DurationHistogram:
    """Counts durations in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._total = 0.0
        self._longest = 0.0

    @property
    def count(self) -> int:
        """How many durations were recorded."""
        return sum(self._counts)

    @property
    def total(self) -> float:
        """Their sum in seconds."""
        return self._total

    @property
    def longest(self) -> float:
        """The longest of them."""
        return self._longest

    def record(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._total += seconds
        self._longest = max(self._longest, seconds)

    def percentile(self, percent: float) -> float:
        """The duration that `percent` of a hundred did not exceed, by nearest rank; 0 when there is none yet."""
        if not self.count:
            return 0.0
        rank = max(1, ceil(self.count * percent / 100))
        bucket = next(index for index, below in enumerate(accumulate(self._counts)) if below >= rank)
        return min(BOUNDS[bucket], self._longest) if bucket < len(BOUNDS) else self._longest

    @property
    def p50(self) -> float:
        """The median."""
        return self.percentile(50)

    @property
    def p99(self) -> float:
        """The duration that 99 of a hundred did not exceed."""
        return self.percentile(99)

    def cumulative(self) -> list[tuple[float, int]]:
        """(upper bound, how many were not longer) of every bucket, as metrics systems want it."""
        return list(zip((*BOUNDS, float("inf")), accumulate(self._counts), strict=True))
