"""Objects in orbit, by SGP4: a made-up catalog from a seed, or a real one from element sets. Metres, in TEME.

Reading element sets strictly is the affair of the orbit tools; here they are given as lines that are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sgp4.api import WGS72, Satrec, SatrecArray

if TYPE_CHECKING:
    import numpy.typing as npt

NS_PER_DAY = 86_400 * 10**9
UNIX_EPOCH_JD = 2_440_587.5
_SGP4_EPOCH_JD = 2_433_281.5
_FIRST_NUMBER = 80_000
"""Made-up objects are numbered from here on, where the real catalog leaves room for analysts."""


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects whose orbits are known."""

    satellites: Sequence[Satrec]
    numbers: npt.NDArray[np.uint32]
    """In the catalog, one for each."""

    def __len__(self) -> int:
        return len(self.satellites)

    def states(self, time_ns: int) -> npt.NDArray[np.float64]:
        """Position and velocity of every object at one time, a row of six each; NaN where SGP4 has none."""
        day, fraction = julian(np.array([time_ns]))
        errors, position, velocity = SatrecArray(list(self.satellites)).sgp4(day, fraction)
        return _metres(errors, position, velocity)[:, 0]

    def states_of(self, place: int, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Position and velocity of one object at many times."""
        return _metres(*self.satellites[place].sgp4_array(*julian(times_ns)))


def synthetic(seed: int, count: int, epoch_ns: int) -> Objects:
    """Objects in low orbits, as they could be: near-circular, at 400 to 1,200 km, of all inclinations."""
    rng = np.random.default_rng([seed, count])
    altitude_km = rng.uniform(400, 1200, count)
    motion = np.sqrt(398_600.8 / (6_378.135 + altitude_km) ** 3) * 60  # radians a minute
    eccentricity = rng.uniform(1e-4, 5e-3, count)
    inclination = rng.uniform(np.radians(28), np.radians(99), count)
    angles = rng.uniform(0, 2 * np.pi, (3, count))
    epoch = UNIX_EPOCH_JD - _SGP4_EPOCH_JD + epoch_ns / NS_PER_DAY
    numbers = np.arange(_FIRST_NUMBER, _FIRST_NUMBER + count, dtype=np.uint32)
    satellites = []
    for place in range(count):
        satellite = Satrec()
        node, perigee, anomaly = (float(angle) for angle in angles[:, place])
        satellite.sgp4init(
            WGS72, "i", int(numbers[place]), epoch, 1e-5, 0.0, 0.0, float(eccentricity[place]), perigee,
            float(inclination[place]), anomaly, float(motion[place]), node,
        )  # fmt: skip
        satellites.append(satellite)
    return Objects(satellites, numbers)


def from_tle(pairs: Sequence[tuple[str, str]]) -> Objects:
    """The objects of real element sets."""
    satellites = [Satrec.twoline2rv(first, second) for first, second in pairs]
    return Objects(satellites, np.array([satellite.satnum for satellite in satellites], np.uint32))


def julian(times_ns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Times as Julian days and fractions, without losing a microsecond."""
    day, rest = np.divmod(times_ns, NS_PER_DAY)
    return day + UNIX_EPOCH_JD, rest / NS_PER_DAY


def _metres(
    errors: npt.NDArray[np.uint8], position: npt.NDArray[np.float64], velocity: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    states = np.concatenate([position, velocity], axis=-1) * 1000.0
    states[errors != 0] = np.nan
    return states
