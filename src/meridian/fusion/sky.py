"""The sky as a catalog knows it: its objects' references, and the passages between them that it foresees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import STATE, Estimates, drift
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.foreseen import Foresight
from meridian.fusion.geometry import Passages
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.frames import rtn_basis
from meridian.orbit.kepler import moved


@dataclass(frozen=True)
class CatalogSky:
    """The sky of one catalog.

    :param names: of its objects, by number.
    :param horizon: for how long ahead passages are judged, in nanoseconds.
    :param density: of the accelerations that no model knows, in square metres by cubic seconds.
    """

    references: References
    foreseen: Foresight
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
        seen = self.foreseen.within(end, end + self.horizon, objects)
        seconds = (seen.times - end) / SECOND
        return Passages(
            seen.first,
            seen.second,
            seen.times,
            seen.second_states - seen.first_states,
            self._transition(seen.first, window, seconds, seen.first_states),
            self._transition(seen.second, window, seconds, seen.second_states),
            drift(seconds, 2 * self.density),
            seen.radii,
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
