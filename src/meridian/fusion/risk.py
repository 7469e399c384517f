"""What is found of a pair in a window: when, how near and how probably it meets. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from meridian.fusion.windows import SECOND


@dataclass(frozen=True, slots=True)
class ConjunctionRisk:
    """Two objects that come closer than the threshold.

    :param encounter: which passage is meant: its time by the catalog alone, in nanoseconds since 1970.
    :param closest: the time of the closest approach, by all that is known.
    :param miss: how far they are apart then, in metres.
    :param speed: of one past the other, in metres a second.
    :param plane: where the second passes the first in the plane across the speed, in metres.
    :param spread: the covariance of that: along, across, and both, in square metres.
    :param radius: of both together, in metres.
    :param probability: that they touch.
    :param observed: how many observations of the first and of the second this is from.
    :param digests: which ones.
    :param newest: the time of the newest of them, by the clock of its sensor, in nanoseconds since 1970.
    """

    encounter: int
    closest: int
    miss: float
    speed: float
    plane: tuple[float, float]
    spread: tuple[float, float, float]
    radius: float
    probability: float
    observed: tuple[int, int]
    digests: tuple[int, int]
    newest: int


@dataclass(frozen=True, slots=True)
class Significance:
    """By how much a finding must change before an open window is corrected.

    :param probability: by this factor, if either is above `negligible`.
    :param miss: by this part of itself.
    :param moment: the time of the closest approach by so many nanoseconds.
    """

    probability: float = 2.0
    negligible: float = 1e-7
    miss: float = 0.1
    moment: int = SECOND

    def still(self, before: ConjunctionRisk, now: ConjunctionRisk) -> bool:
        """Whether what was said may stand."""
        return (
            before.encounter == now.encounter
            and abs(now.closest - before.closest) < self.moment
            and abs(now.miss - before.miss) < self.miss * before.miss
            and self._is_as_probable(before.probability, now.probability)
        )

    def _is_as_probable(self, before: float, now: float) -> bool:
        low, high = sorted((before, now))
        return high < self.negligible or high < self.probability * low
