"""From columns of observations to evidence: what each one says of its object at the end of its slice.

Everything here is done where the observations are, in every task for itself; what leaves a task is one row for each
object and slice. An observation of an object that the catalog does not have, or has no state of, says nothing: such
rows are told apart beforehand with `known`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from meridian.fusion.estimates import COLUMNS, information
from meridian.fusion.evidence import Digests, Evidence
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.measurements import Noise, Sites
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.equinoctial import EARTH_MU
from meridian.sensors import Form, ObservationColumns

UNKNOWN = -1
"""In place of the number of an object or a sensor that is not known."""


@dataclass(frozen=True, slots=True)
class Contributions:
    """Turns observations into evidence.

    :param objects: the names of the catalog's objects, by their numbers.
    """

    references: References
    objects: Sequence[str]
    sites: Sites
    windows: Windows
    noise: Noise

    def known(self, seen: ObservationColumns) -> npt.NDArray[np.bool_]:
        """Which of these say something: their object has a state then, and it is known where their sensor stands."""
        objects, sensors = self._numbers(seen.object_ids), self._sensors(seen)
        has_both = (objects != UNKNOWN) & (sensors != UNKNOWN)
        has_state: npt.NDArray[np.bool_] = has_both.copy()
        times = seen.records["sensor_ts_ns"][has_both]
        has_state[has_both] = np.isfinite(self.references.states(objects[has_both], times)).all(axis=1)
        return has_state

    def evidence(self, seen: ObservationColumns) -> Evidence:
        """What these say together; all of them must be `known`."""
        total = Evidence.nothing(COLUMNS)
        for form in (Form.RANGE_RATE, Form.ANGULAR, Form.STATE_VECTOR):
            chosen = seen.records["form"] == form
            if chosen.any():
                total = total + self._of_form(form, seen.where(chosen))
        return total

    def _of_form(self, form: Form, seen: ObservationColumns) -> Evidence:
        records, objects = seen.records, self._numbers(seen.object_ids)
        times = records["sensor_ts_ns"].astype(np.int64)
        states = self.references.states(objects, times)
        slices = self.windows.slices(times)
        measured = self.sites.measured(
            form, self._sensors(seen), states, times, records["values"], records["sigma"], self.noise
        )
        seconds = (times - (slices + 1) * self.windows.size) / SECOND
        said = information(_from_end(measured.design, states, seconds), measured.residual, measured.weight)
        return Evidence.of(slices, objects, said, digests(seen), times)

    def _sensors(self, seen: ObservationColumns) -> Integers:
        """The numbers of the sensors; a satellite that tells of itself needs no place."""
        found = _numbers(seen.source_ids, self.sites.names)
        return np.where(seen.records["form"] == Form.STATE_VECTOR, 0, found)

    def _numbers(self, names: pa.StringArray) -> Integers:
        return _numbers(names, self.objects)


def digests(seen: ObservationColumns) -> Digests:
    """A number for each observation: the first half of its id."""
    ids = np.ascontiguousarray(seen.records["observation_id"])
    return ids.view("<u8").reshape(len(seen), 2)[:, 0]


def _numbers(names: pa.StringArray, known: Sequence[str]) -> Integers:
    places = pc.fill_null(pc.index_in(names, value_set=pa.array(known, pa.string())), UNKNOWN)
    numbers: Integers = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _from_end(design: Floats, states: Floats, seconds: Floats) -> Floats:
    """How measurements change with the deviation at the end of the slice, instead of at their own time.

    Over half a minute a deviation moves straight on, bent by how the pull of the Earth differs from place to place: the
    next term of the series is a hundred millionth.
    """
    place, velocity = design[:, :, :3], design[:, :, 3:]
    t = seconds[:, None, None]
    bent_place, bent_velocity = _bent(place, states), _bent(velocity, states)
    return np.concatenate(
        [
            place + bent_place * t**2 / 2 + bent_velocity * t,
            place * t + bent_place * t**3 / 6 + velocity + bent_velocity * t**2 / 2,
        ],
        axis=2,
    )


def _bent(rows: Floats, states: Floats) -> Floats:
    """Rows times the gradient of the Earth's pull."""
    distance = np.sqrt((states[:, :3] ** 2).sum(axis=1))
    up = (states[:, :3] / distance[:, None])[:, None, :]
    bent: Floats = (EARTH_MU / distance**3)[:, None, None] * (3 * (rows * up).sum(axis=2, keepdims=True) * up - rows)
    return bent
