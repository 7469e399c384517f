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
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.measurements import Measured, Noise, Sites
from meridian.fusion.references import References
from meridian.fusion.resolution import NOBODY, Resolution
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.equinoctial import EARTH_MU
from meridian.sensors import Form, ObservationColumns, max_skews_ns

UNKNOWN = NOBODY
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
    resolution: Resolution | None = None
    """Finds the objects of directions without a name; without it they are of nobody."""

    def known(self, seen: ObservationColumns) -> npt.NDArray[np.bool_]:
        """Which of these say something: their object has a state then, and it is known where their sensor stands."""
        objects, sensors = self.numbers(seen), self._sensors(seen)
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
        records, objects, sensors = seen.records, self.numbers(seen), self._sensors(seen)
        times = records["sensor_ts_ns"].astype(np.int64)
        states = self.references.states(objects, times)
        slices = self.windows.slices(times)
        measured = self.sites.measured(form, sensors, states, times, records["values"], records["sigma"], self.noise)
        weight = _less_sure(measured, states, max_skews_ns(records) / SECOND)
        seconds = (times - (slices + 1) * self.windows.size) / SECOND
        said = information(_from_end(measured.design, states, seconds), measured.residual, weight)
        received, sources = records["ingest_ts_ns"].astype(np.int64), self.sites.bits(form, sensors)
        return Evidence.of(slices, objects, said, seen.digests(), times, sources, received)

    def numbers(self, seen: ObservationColumns) -> Integers:
        """The numbers of the objects, also of those that nobody named."""
        numbers = _numbers(seen.object_ids, self.objects)
        nameless = seen.object_ids.is_null().to_numpy(zero_copy_only=False) & (seen.records["form"] == Form.ANGULAR)
        if self.resolution is not None and nameless.any():
            numbers[nameless] = self._resolved(self.resolution, seen.where(nameless))
        return numbers

    def _resolved(self, resolution: Resolution, seen: ObservationColumns) -> Integers:
        records, sensors, found = seen.records, self._sensors(seen), np.full(len(seen), UNKNOWN, np.int64)
        for sensor in np.unique(sensors[sensors != UNKNOWN]).tolist():
            rows = np.flatnonzero(sensors == sensor)
            of = records[rows]
            found[rows] = resolution.objects(
                self.sites[sensor],
                of["sensor_ts_ns"].astype(np.int64),
                of["values"][:, :2],
                of["sigma"],
                max_skews_ns(of) / SECOND,
            )
        return found

    def _sensors(self, seen: ObservationColumns) -> Integers:
        """The numbers of the sensors; a satellite that tells of itself needs no place."""
        found = _numbers(seen.source_ids, self.sites.names)
        return np.where(seen.records["form"] == Form.STATE_VECTOR, 0, found)


def _less_sure(measured: Measured, states: Floats, skew_s: Floats) -> Floats:
    """The weights, when the clocks of sensors may be off by so much: half of it is taken for a standard deviation."""
    fall = -EARTH_MU * states[:, :3] / (np.sqrt((states[:, :3] ** 2).sum(axis=1)) ** 3)[:, None]
    rate = (measured.design @ np.concatenate([states[:, 3:], fall], axis=1)[:, :, None])[:, :, 0]
    off: Floats = rate * skew_s[:, None] / 2
    less: Floats = measured.weight / (1 + measured.weight * off**2)
    return less


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
