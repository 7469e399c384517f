"""What simulated sensors see: objects that move along the paths of their elements, real ones or made up from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meridian.orbit.elements import Elements
from meridian.orbit.paths import Paths
from meridian.orbit.propagation import Propagator

if TYPE_CHECKING:
    import numpy.typing as npt

_FIRST_NUMBER = 80_000
"""Made-up objects are numbered from here on, where the real catalog leaves room for analysts."""
_EARTH_MU_KM3_S2 = 398_600.8
_EARTH_RADIUS_KM = 6_378.135
"""As SGP4 has them."""


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects whose orbits are known."""

    numbers: npt.NDArray[np.uint32]
    """In the catalog, one for each; 0 when it has none, as radars say it."""
    paths: Paths

    @classmethod
    def of(cls, elements: Sequence[Elements]) -> Objects:
        """The objects of these elements, in their order."""
        numbers = np.array([each.norad or 0 for each in elements], np.uint32)
        return cls(numbers, Paths(Propagator(elements)))

    def __len__(self) -> int:
        return len(self.numbers)

    def states(self, places: npt.NDArray[np.int64], times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Position and velocity of each of these at its time, a row of six; not-a-number where there is nothing."""
        return self.paths.states(places, times_ns)

    def at(self, time_ns: int) -> npt.NDArray[np.float64]:
        """The states of all of them at one time."""
        return self.states(np.arange(len(self)), np.full(len(self), time_ns))


def synthetic(seed: int, count: int, epoch_ns: int) -> Objects:
    """Objects in low orbits, as they could be: near-circular, at 400 to 1,200 km, of all inclinations."""
    return Objects.of(list(_made_up(np.random.default_rng([seed, count]), count, epoch_ns)))


def _made_up(rng: np.random.Generator, count: int, epoch_ns: int) -> Iterator[Elements]:
    radius_km = _EARTH_RADIUS_KM + rng.uniform(400, 1200, count)
    motion = np.sqrt(_EARTH_MU_KM3_S2 / radius_km**3) * 86_400 / (2 * np.pi)
    eccentricity = rng.uniform(1e-4, 5e-3, count)
    inclination = rng.uniform(28, 99, count)
    node, perigee, anomaly = rng.uniform(0, 360, (3, count))
    for place in range(count):
        yield Elements(
            norad=_FIRST_NUMBER + place,
            designator=None,
            name=f"SYNTHETIC {place + 1}",
            epoch_ns=epoch_ns,
            inclination_deg=float(inclination[place]),
            raan_deg=float(node[place]),
            eccentricity=float(eccentricity[place]),
            argument_of_perigee_deg=float(perigee[place]),
            mean_anomaly_deg=float(anomaly[place]),
            mean_motion_rev_day=float(motion[place]),
            bstar=1e-5,
        )
