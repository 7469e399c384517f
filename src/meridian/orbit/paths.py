"""The ways of objects: curves through SGP4's positions, on which places and velocities belong together.

Time is cut into slices of one size from 1970 on, and a path is a curve through six of SGP4's positions for each slice.
So a slice costs one call for all objects, and a state a few multiplications. The velocity is the slope of the curve.
SGP4's own velocities are not: they are up to half a metre a second off the slopes of its positions, and no object moves
like that.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from meridian.orbit.frames import Floats
from meridian.orbit.propagation import Propagator
from meridian.orbit.time import NS_PER_SECOND, Times

Integers = NDArray[np.int64]

_NODES = np.linspace(-1 / 3, 4 / 3, 6)
"""When SGP4 is asked, in parts of a slice: also a little before and after it, where curves are worst."""
_CURVES = np.linalg.inv(np.vander(_NODES, increasing=True))
"""From positions at those times to the coefficients of the curve."""
_KEPT = 8
"""Slices whose curves are kept."""


class Paths:
    """The paths of a propagator's objects, by their numbers in its order. States are in TEME, metres and seconds.

    :param size: of a slice, in nanoseconds; half a minute is right to a millimetre in low orbits.
    """

    def __init__(self, propagator: Propagator, size: int = 30 * NS_PER_SECOND) -> None:
        self._propagator = propagator
        self._size = size
        self._node_times = np.rint(_NODES * size).astype(np.int64)
        self._curves: OrderedDict[int, Floats] = OrderedDict()

    def states(self, objects: Integers, times_ns: Times) -> Floats:
        """Each object at its time, n by 6; not-a-number where SGP4 has no state. Times should not lie far apart."""
        slices, parts = self._placed(times_ns)
        return self._on_curves(objects, slices, parts)

    def apart(self, objects: Integers, times_ns: Times) -> Floats:
        """The same for a few objects at times that lie far apart: SGP4 is asked for these alone."""
        found = np.empty((len(objects), 6))
        for number in np.unique(objects).tolist():
            rows = np.flatnonzero(objects == number)
            slices, parts = self._placed(times_ns[rows])
            asked = (slices[:, None] * self._size + self._node_times).ravel()
            places = self._propagator.of_one(number, asked).position_m.reshape(len(rows), len(_NODES), 3)
            found[rows] = self._on_curve(_CURVES @ places, parts[:, None])
        return found

    def at_end(self, objects: Integers, slices: Integers) -> Floats:
        """Each object at the end of its slice, n by 6."""
        return self._on_curves(objects, slices, np.ones(len(objects)))

    def _placed(self, times_ns: Times) -> tuple[Integers, Floats]:
        """The slice of each time, and how much of it has passed."""
        slices = np.floor_divide(times_ns, self._size)
        return slices, (times_ns - slices * self._size) / self._size

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
        return np.concatenate([place, slope * (NS_PER_SECOND / self._size)], axis=1)

    def _curves_of(self, slice_: int) -> Floats:
        """The curves of all objects in a slice, objects by 6 coefficients by 3."""
        if slice_ not in self._curves:
            times = slice_ * self._size + self._node_times
            self._curves[slice_] = _CURVES @ self._propagator.states(times).position_m
            while len(self._curves) > _KEPT:
                self._curves.popitem(last=False)
        return self._curves[slice_]
