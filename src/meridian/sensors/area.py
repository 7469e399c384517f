"""The area of interest: which observations anybody wants. Pure; what is left out is counted by whoever asks.

Each bound applies to the measurements that it can be judged from, and lets the others through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meridian.sensors.columns import Form

if TYPE_CHECKING:
    import numpy.typing as npt

    from meridian.sensors.columns import ObservationColumns


@dataclass(frozen=True, slots=True)
class Area:
    """What is of interest; a bound that is not given bounds nothing."""

    max_range_m: float = np.inf
    """Of radar measurements."""
    min_elevation_rad: float = -np.inf
    """Of radar measurements."""
    min_declination_rad: float = -np.inf
    max_declination_rad: float = np.inf
    """Of optical measurements."""
    max_radius_m: float = np.inf
    """Of state vectors, from the centre of the Earth."""

    def __call__(self, columns: ObservationColumns) -> npt.NDArray[np.bool_]:
        """Which observations lie inside."""
        values, form = columns.records["values"], columns.records["form"]
        in_reach = (values[:, 0] <= self.max_range_m) & (values[:, 3] >= self.min_elevation_rad)
        in_zone = (values[:, 1] >= self.min_declination_rad) & (values[:, 1] <= self.max_declination_rad)
        in_shell = np.linalg.norm(values[:, :3], axis=1) <= self.max_radius_m
        inside: npt.NDArray[np.bool_] = np.select(
            [form == Form.RANGE_RATE, form == Form.ANGULAR, form == Form.STATE_VECTOR],
            [in_reach, in_zone, in_shell],
            default=True,
        )
        return inside
