"""Where the catalog says objects are: the orbits that everything observed is a deviation from.

A reference is the path of an object through SGP4's positions, slice by slice as windows have them, so an observation
costs a few multiplications.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import Estimates, drift
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.frames import rotated_covariance, rtn_basis
from meridian.orbit.kepler import moved
from meridian.orbit.paths import Paths
from meridian.orbit.propagation import Propagator

_DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class CatalogError:
    """How far catalogued orbits are off: standard deviations in metres along radius, track and normal.

    :param at_epoch: when the elements were made.
    :param a_day: what each day from then adds.
    """

    at_epoch: tuple[float, float, float] = (150.0, 500.0, 150.0)
    a_day: tuple[float, float, float] = (50.0, 1000.0, 50.0)

    def sigmas(self, days: Floats) -> Floats:
        """Of states that are so many days from their epochs, n by 3."""
        sigmas: Floats = np.array(self.at_epoch) + np.abs(days)[:, None] * np.array(self.a_day)
        return sigmas

    def covariances(self, position: Floats, velocity: Floats, days: Floats) -> Floats:
        """Of states that are so many days from their epochs, n by 6 by 6."""
        sigma = self.sigmas(days)
        rate = np.linalg.norm(velocity, axis=1) / np.linalg.norm(position, axis=1)
        own = np.zeros((len(days), 6, 6))
        for axis, other in enumerate((1, 0, 2)):  # who is ahead falls, who is high lags: the rates go crosswise
            own[:, axis, axis] = sigma[:, axis] ** 2
            own[:, axis + 3, axis + 3] = (rate * sigma[:, other]) ** 2
        return rotated_covariance(own, rtn_basis(position, velocity).swapaxes(1, 2))


class References:
    """The orbits of a catalog, by the numbers of its objects. It moves what is known of them, too.

    :param density: of the accelerations that no model knows, in square metres by cubic seconds.
    """

    def __init__(
        self,
        propagator: Propagator,
        windows: Windows,
        *,
        error: CatalogError | None = None,
        density: float = 1e-9,
    ) -> None:
        self._paths = Paths(propagator, windows.size)
        self._windows = windows
        self._error = error or CatalogError()
        self.density = density
        self._epochs = np.array([each.epoch_ns for each in propagator.elements], np.int64)

    def __len__(self) -> int:
        return len(self._epochs)

    def states(self, objects: Integers, times: Integers) -> Floats:
        """Each object at its time, n by 6; not-a-number where the catalog has no state."""
        return self._paths.states(objects, times)

    def apart(self, objects: Integers, times: Integers) -> Floats:
        """The same for a few objects at times that lie far apart: SGP4 is asked for these alone."""
        return self._paths.apart(objects, times)

    def at_end(self, objects: Integers, slices: Integers) -> Floats:
        """Each object at the end of its slice, n by 6."""
        return self._paths.at_end(objects, slices)

    def prior(self, objects: Integers, slices: Integers) -> Estimates:
        """What the catalog alone knows at the end of these slices."""
        covariance = self._covariance(objects, self.at_end(objects, slices), (slices + 1) * self._windows.size)
        return Estimates(np.zeros((len(objects), 6)), covariance)

    def catalog_covariance(self, objects: Integers, times: Integers) -> Floats:
        """How surely the catalog alone knows a few objects at times that lie far apart, n by 6 by 6."""
        return self._covariance(objects, self.apart(objects, times), times)

    def _covariance(self, objects: Integers, states: Floats, times: Integers) -> Floats:
        return self._error.covariances(states[:, :3], states[:, 3:], self._days(objects, times))

    def spread(self, objects: Integers, times: Integers) -> Floats:
        """How far each object may be off the catalog at its time: one standard deviation, in metres, all ways."""
        spread: Floats = np.sqrt((self._error.sigmas(self._days(objects, times)) ** 2).sum(axis=1))
        return spread

    def moved(self, known: Estimates, objects: Integers, start: Integers, end: Integers) -> Estimates:
        """What is known at the end of other slices."""
        seconds = (end - start).astype(np.float64) * (self._windows.size / SECOND)
        return known.moved(self.transition(objects, start, seconds), drift(seconds, self.density))

    def transition(self, objects: Integers, slices: Integers, seconds: Floats) -> Floats:
        """What deviations at the end of these slices become so many seconds later, n by 6 by 6."""
        states = self.at_end(objects, slices)
        return moved(states[:, :3], states[:, 3:], seconds).transition

    def _days(self, objects: Integers, times: Integers) -> Floats:
        """From the epoch of each object to its time."""
        days: Floats = (times - self._epochs[objects]) / _DAY
        return days
