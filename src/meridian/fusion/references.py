"""Where the catalog says objects are: the orbits that everything observed is a deviation from.

A reference is a curve through six of SGP4's positions for each slice, so a slice costs one call for all objects, and an
observation a few multiplications. Its velocity is the slope of the curve. SGP4's own velocities are not: they are up to
half a metre a second off the slopes of its positions, and no object moves like that.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import Estimates, drift
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.frames import rotated_covariance, rtn_basis
from meridian.orbit.kepler import moved
from meridian.orbit.propagation import Propagator

_NODES = np.linspace(-1 / 3, 4 / 3, 6)
"""When SGP4 is asked, in parts of a slice: also a little before and after it, where curves are worst."""
_CURVES = np.linalg.inv(np.vander(_NODES, increasing=True))
"""From positions at those times to the coefficients of the curve."""
_KEPT = 8
"""Slices whose curves are kept; more are never open at once."""
_DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class CatalogError:
    """How far catalogued orbits are off: standard deviations in metres along radius, track and normal.

    :param at_epoch: when the elements were made.
    :param a_day: what each day from then adds.
    """

    at_epoch: tuple[float, float, float] = (150.0, 500.0, 150.0)
    a_day: tuple[float, float, float] = (50.0, 1000.0, 50.0)

    def covariances(self, position: Floats, velocity: Floats, days: Floats) -> Floats:
        """Of states that are so many days from their epochs, n by 6 by 6."""
        sigma = np.array(self.at_epoch) + np.abs(days)[:, None] * np.array(self.a_day)
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
        self._propagator = propagator
        self._windows = windows
        self._error = error or CatalogError()
        self._density = density
        self._epochs = np.array([each.epoch_ns for each in propagator.elements], np.int64)
        self._curves: OrderedDict[int, Floats] = OrderedDict()

    def __len__(self) -> int:
        return len(self._epochs)

    def states(self, objects: Integers, times: Integers) -> Floats:
        """Each object at its time, n by 6; not-a-number where the catalog has no state."""
        slices = self._windows.slices(times)
        return self._on_curves(objects, slices, (times - slices * self._windows.size) / self._windows.size)

    def at_end(self, objects: Integers, slices: Integers) -> Floats:
        """Each object at the end of its slice, n by 6."""
        return self._on_curves(objects, slices, np.ones(len(objects)))

    def prior(self, objects: Integers, slices: Integers) -> Estimates:
        """What the catalog alone knows at the end of these slices."""
        states = self.at_end(objects, slices)
        days = ((slices + 1) * self._windows.size - self._epochs[objects]) / _DAY
        covariance = self._error.covariances(states[:, :3], states[:, 3:], days)
        return Estimates(np.zeros((len(objects), 6)), covariance)

    def moved(self, known: Estimates, objects: Integers, start: Integers, end: Integers) -> Estimates:
        """What is known at the end of other slices."""
        seconds = (end - start).astype(np.float64) * (self._windows.size / SECOND)
        return known.moved(self.transition(objects, start, seconds), drift(seconds, self._density))

    def transition(self, objects: Integers, slices: Integers, seconds: Floats) -> Floats:
        """What deviations at the end of these slices become so many seconds later, n by 6 by 6."""
        states = self.at_end(objects, slices)
        return moved(states[:, :3], states[:, 3:], seconds).transition

    def _on_curves(self, objects: Integers, slices: Integers, parts: Floats) -> Floats:
        found = np.empty((len(objects), 6))
        for slice_ in np.unique(slices).tolist():
            rows = np.flatnonzero(slices == slice_)
            found[rows] = self._on_curve(self._curves_of(slice_)[objects[rows]], parts[rows, None])
        return found

    def _on_curve(self, curves: Floats, part: Floats) -> Floats:
        """Horner's rule, for the place and its slope at once."""
        place, slope = curves[:, -1], np.zeros_like(curves[:, -1])
        for power in range(len(_NODES) - 2, -1, -1):
            slope = slope * part + place
            place = place * part + curves[:, power]
        return np.concatenate([place, slope * (SECOND / self._windows.size)], axis=1)

    def _curves_of(self, slice_: int) -> Floats:
        """The curves of all objects in a slice, objects by 6 coefficients by 3."""
        if slice_ not in self._curves:
            times = slice_ * self._windows.size + np.rint(_NODES * self._windows.size).astype(np.int64)
            self._curves[slice_] = _CURVES @ self._propagator.states(times).position_m
            while len(self._curves) > _KEPT:
                self._curves.popitem(last=False)
        return self._curves[slice_]
