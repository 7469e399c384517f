"""Where objects are at which times, by SGP4 (the `sgp4` package, WGS-72), many objects and times at once.

States are in TEME, in metres and metres per second. Whether an element set is too old for the question is not decided
here: SGP4 answers for any time until the object has decayed by its own account.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sgp4.api import SGP4_ERRORS, WGS72, Satrec, SatrecArray

from meridian.orbit.elements import Elements
from meridian.orbit.errors import PropagationFailed
from meridian.orbit.time import JULIAN_UNIX_EPOCH, NS_PER_DAY, Times, format_ccsds, julian

Floats = NDArray[np.float64]

METRES_PER_KM = 1000.0
_DAYS_1949_JULIAN = 2_433_281.5
_RADIANS_PER_MINUTE = math.pi / 720.0
_HIGHEST_NUMBER_OF_SGP4 = 339_999


@dataclass(frozen=True, slots=True)
class States:
    """n objects at m times in TEME: positions and velocities (n, m, 3), and SGP4's codes (n, m), 0 where it is good."""

    position_m: Floats
    velocity_m_s: Floats
    codes: NDArray[np.uint8]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which of them are states at all; the others are not numbers."""
        return np.equal(self.codes, 0)


class Propagator:
    """SGP4 for a list of objects, in the order of their elements."""

    def __init__(self, elements: Sequence[Elements]) -> None:
        self._elements = tuple(elements)
        self._records = [_record(each) for each in self._elements]
        self._array = SatrecArray(self._records)

    def __len__(self) -> int:
        return len(self._elements)

    @property
    def elements(self) -> tuple[Elements, ...]:
        """What it was made from."""
        return self._elements

    def states(self, times_ns: Times) -> States:
        """Every object at every time."""
        return _states(*self._array.sgp4(*julian(times_ns)))

    def states_km(self, times_ns: Times) -> tuple[NDArray[np.uint8], Floats, Floats]:
        """The same as SGP4 gives it, codes and kilometres, for inner loops."""
        codes, position, velocity = self._array.sgp4(*julian(times_ns))
        return codes, position, velocity

    def relative_km(self, first: int, second: int, time_ns: int) -> tuple[Floats, Floats]:
        """Position and velocity of one object seen from another, for inner loops; not numbers where there are none."""
        day, rest = divmod(time_ns, NS_PER_DAY)
        date = day + JULIAN_UNIX_EPOCH, rest / NS_PER_DAY
        _, position, velocity = self._records[first].sgp4(*date)
        _, other_position, other_velocity = self._records[second].sgp4(*date)
        return np.subtract(other_position, position), np.subtract(other_velocity, velocity)

    def of_one(self, index: int, times_ns: Times) -> States:
        """One object at many times; the first axis has length 1."""
        codes, position, velocity = self._records[index].sgp4_array(*julian(times_ns))
        return _states(codes[None], position[None], velocity[None])

    def state(self, index: int, time_ns: int) -> tuple[Floats, Floats]:
        """Position and velocity of one object at one time; an error where there are none."""
        found = self.of_one(index, np.array([time_ns]))
        if code := int(found.codes[0, 0]):
            name = self._elements[index].object_id
            raise PropagationFailed(
                f"SGP4 has no state of {name} at {format_ccsds(time_ns)}: {SGP4_ERRORS[code]}.",
                remedy="Use newer elements of the object, or take it as decayed.",
                object_id=name,
                time_ns=time_ns,
                sgp4_code=code,
            )
        return found.position_m[0, 0], found.velocity_m_s[0, 0]


def _states(codes: NDArray[np.uint8], position_km: Floats, velocity_km_s: Floats) -> States:
    is_bad = codes != 0
    if is_bad.any():  # of what has decayed SGP4 still tells where it would be
        position_km[is_bad], velocity_km_s[is_bad] = np.nan, np.nan
    return States(position_km * METRES_PER_KM, velocity_km_s * METRES_PER_KM, codes)


def _record(elements: Elements) -> Satrec:
    whole, fraction = (float(part[0]) for part in julian(np.array([elements.epoch_ns])))
    record = Satrec()
    days_as_the_reference_rounds_them = (whole + fraction) - _DAYS_1949_JULIAN
    record.sgp4init(
        WGS72,
        "i",
        min(elements.norad or 0, _HIGHEST_NUMBER_OF_SGP4),
        days_as_the_reference_rounds_them,
        elements.bstar,
        0.0,
        0.0,
        elements.eccentricity,
        math.radians(elements.argument_of_perigee_deg),
        math.radians(elements.inclination_deg),
        math.radians(elements.mean_anomaly_deg),
        elements.mean_motion_rev_day * _RADIANS_PER_MINUTE,
        math.radians(elements.raan_deg),
    )
    record.jdsatepoch, record.jdsatepochF = whole, fraction
    return record
