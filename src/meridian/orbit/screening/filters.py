"""Objects that cannot come near any of those asked for, by their lowest and highest point alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from meridian.orbit.elements import Elements
from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.frames import Floats

_PAD_M = 50_000.0
"""What short-period terms, drag over a day and the difference of mean and true radius may amount to."""


def bands(elements: Sequence[Elements]) -> tuple[Floats, Floats]:
    """The lowest and highest distance from the Earth's centre of each object's mean orbit."""
    motion = np.array([each.mean_motion_rev_day for each in elements]) * (2.0 * np.pi / 86_400.0)
    eccentricity = np.array([each.eccentricity for each in elements])
    axis = np.cbrt(EARTH_MU / motion**2)
    return axis * (1.0 - eccentricity), axis * (1.0 + eccentricity)


def within_reach(elements: Sequence[Elements], primaries: Sequence[int], threshold_m: float) -> NDArray[np.intp]:
    """The objects whose band overlaps that of at least one other one that is asked for; the primaries among them."""
    low, high = bands(elements)
    reach = 0.5 * threshold_m + _PAD_M
    low, high = low - reach, high + reach
    asked = np.asarray(primaries, dtype=np.intp)
    begun = np.searchsorted(np.sort(low[asked]), high, side="right")
    ended = np.searchsorted(np.sort(high[asked]), low, side="left")
    others = begun - ended - np.isin(np.arange(len(low)), asked)
    return np.union1d(np.flatnonzero(others > 0), asked)
