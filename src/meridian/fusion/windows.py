"""When a window is open, closed, kept for late comers, and gone: decided by the watermark alone, in the time of events.

Time is cut into slices of one size from 1970 on, in nanoseconds. Window `w` looks at slice `w` and at the one before
it, so two observations that are no further apart than a slice always meet in a window, wherever a border lies between
them. Where a slice is spoken of by its number, so is the window that ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

SECOND = 1_000_000_000
Integers = npt.NDArray[np.int64]


class Tier(Enum):
    """Where a window stands."""

    ACTIVE = "active"
    """The watermark has not passed its end: what is said of it may still change by what is not late at all."""
    RETAINED = "retained"
    """It was closed, and is kept for late observations."""
    GONE = "gone"
    """It was let go of; what comes for it is too late."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The rules of windows.

    :param size: of a slice, in nanoseconds.
    :param lateness: how long a closed window is kept for late observations.
    """

    size: int = 30 * SECOND
    lateness: int = 5 * SECOND

    def slices(self, times: Integers) -> Integers:
        """The slice of each time: half open, so a border belongs to the later one."""
        return np.floor_divide(times, self.size)

    def end(self, window: int) -> int:
        """The first time after a window."""
        return (window + 1) * self.size

    def tier(self, window: int, watermark: int) -> Tier:
        """Where a window stands when the watermark has come so far."""
        if watermark < self.end(window):
            return Tier.ACTIVE
        return Tier.RETAINED if watermark < self.end(window) + self.lateness else Tier.GONE

    def first_active(self, watermark: int) -> int:
        """The earliest window that is still open."""
        return watermark // self.size

    def first_kept(self, watermark: int) -> int:
        """The earliest window that is open or kept; the slice before it is needed for it, and no earlier one."""
        return (watermark - self.lateness) // self.size
