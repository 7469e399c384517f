"""The sky as a catalog knows it: its objects' references, and the passages between them that it foresees.

Passages are found beforehand, by screening the catalog, for as long ahead as is wanted. Here they are only looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import STATE, Estimates, drift
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.geometry import Passages
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.frames import rtn_basis
from meridian.orbit.kepler import moved
from meridian.orbit.screening import Approach


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Passages of pairs by the catalog alone, by time; `first` and `second` are numbers in the catalog.

    :param times: of the closest approach, in nanoseconds.
    :param first_states: of the first object then, n by 6.
    :param radii: of both together, in metres.
    """

    times: Integers
    first: Integers
    second: Integers
    first_states: Floats
    second_states: Floats
    radii: Floats

    @classmethod
    def of(cls, references: References, times: Integers, first: Integers, second: Integers, radii: Floats) -> Foreseen:
        """Passages at these times, in any order."""
        order = np.lexsort((second, first, times))
        times, first, second = times[order], first[order], second[order]
        return cls(
            times, first, second, references.states(first, times), references.states(second, times), radii[order]
        )

    @classmethod
    def screened(cls, references: References, approaches: Sequence[Approach], radii: Floats) -> Foreseen:
        """What a screening of the catalog found.

        :param radii: of the catalog's objects, by number.
        """
        found = [(approach.tca_ns, approach.first, approach.second) for approach in approaches]
        times, first, second = np.array(found, np.int64).reshape(-1, 3).T
        return cls.of(references, times, first, second, radii[first] + radii[second])

    def __len__(self) -> int:
        return len(self.times)

    def between(self, start: int, end: int, objects: Integers) -> Integers:
        """The rows of those behind one time and up to another, both of whose objects are among these (in order)."""
        rows = np.arange(*np.searchsorted(self.times, [start, end], side="right"))
        return rows[_among(self.first[rows], objects) & _among(self.second[rows], objects)]


@dataclass(frozen=True)
class CatalogSky:
    """The sky of one catalog.

    :param names: of its objects, by number.
    :param horizon: for how long ahead passages are judged, in nanoseconds.
    :param density: of the accelerations that no model knows, in square metres by cubic seconds.
    """

    references: References
    foreseen: Foreseen
    objects: Sequence[str]
    windows: Windows
    horizon: int
    density: float = 1e-9

    def prior(self, objects: Integers, slices: Integers) -> Estimates:
        """What the catalog alone knows."""
        return self.references.prior(objects, slices)

    def moved(self, known: Estimates, objects: Integers, start: Integers, end: Integers) -> Estimates:
        """What is known at the end of other slices."""
        return self.references.moved(known, objects, start, end)

    def names(self, objects: Integers) -> Sequence[str]:
        """What the objects are called in alerts."""
        return [self.objects[number] for number in objects.tolist()]

    def passages(self, window: int, objects: Integers) -> Passages:
        """Those between these objects that are still to come at the end of a window, within the horizon."""
        end = self.windows.end(window)
        rows = self.foreseen.between(end, end + self.horizon, objects)
        seen = self.foreseen
        first, second, times = seen.first[rows], seen.second[rows], seen.times[rows]
        seconds = (times - end) / SECOND
        return Passages(
            first,
            second,
            times,
            seen.second_states[rows] - seen.first_states[rows],
            self._transition(first, window, seconds, seen.first_states[rows]),
            self._transition(second, window, seconds, seen.second_states[rows]),
            drift(seconds, 2 * self.density),
            seen.radii[rows],
        )

    def _transition(self, objects: Integers, window: int, seconds: Floats, arrived: Floats) -> Floats:
        """What deviations at the end of a window become at the passage, along the axes of the orbit as it is then.

        On an ellipse an object would be elsewhere by then, but as far ahead of or below where it should be.
        """
        start = self.references.at_end(objects, np.full(len(objects), window))
        ideal = moved(start[:, :3], start[:, 3:], seconds)
        turn = rtn_basis(arrived[:, :3], arrived[:, 3:]).swapaxes(1, 2) @ rtn_basis(
            ideal.position_m, ideal.velocity_m_s
        )
        both = np.zeros((len(objects), STATE, STATE))
        both[:, :3, :3] = both[:, 3:, 3:] = turn
        transition: Floats = both @ ideal.transition
        return transition


def _among(numbers: Integers, objects: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(objects):
        return np.zeros(len(numbers), np.bool_)
    nearest = objects[np.minimum(np.searchsorted(objects, numbers), len(objects) - 1)]
    return np.equal(nearest, numbers)
