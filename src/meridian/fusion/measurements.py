"""How observations of each form become numbers a filter can take: residuals, how they change, what they weigh. Pure.

What a sensor would measure is the affair of `meridian.orbit.measurements`. Here is how sure each number is: angles
weigh by the arc they span in the sky, so nothing is special overhead or at the pole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meridian.fusion.exact import Floats, Integers
from meridian.orbit.measurements import Measurement, Optical, Radar, StateVector
from meridian.orbit.sites import Site
from meridian.sensors import Form


@dataclass(frozen=True, slots=True)
class Measured:
    """n observations of m numbers each.

    :param residual: by how much they are off what the reference foresees, n by m.
    :param design: how they change with place and velocity, n by m by 6.
    :param weight: one over the variance of each, n by m.
    """

    residual: Floats
    design: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations that observations do not say themselves.

    :param radar_angle: of azimuth and elevation, in radians.
    :param radar_rate: of the range rate, in metres a second.
    :param beacon_velocity: of the velocity a satellite says it has, in metres a second.
    """

    radar_angle: float = 3e-4
    radar_rate: float = 0.5
    beacon_velocity: float = 0.5

    def sigmas(self, form: Form, said: Floats, values: Floats) -> Floats:
        """The standard deviation of each number, n by m.

        :param said: what observations say themselves: of the range, the direction or the place.
        :param values: about what they are.
        """
        alike = np.ones(len(said))
        match form:
            case Form.RANGE_RATE:
                angle = self.radar_angle * alike
                return np.stack([said, self.radar_rate * alike, angle / np.cos(values[:, 3]), angle], axis=1)
            case Form.ANGULAR:
                return np.stack([said / np.cos(values[:, 1]), said], axis=1)
            case _:
                return np.repeat(np.stack([said, self.beacon_velocity * alike], axis=1), 3, axis=1)


_MODELS: Mapping[Form, tuple[Measurement, int]] = {
    Form.RANGE_RATE: (Radar(), 4),
    Form.ANGULAR: (Optical(), 2),
    Form.STATE_VECTOR: (StateVector(), 6),
}
MOST = 62
"""So many sensors can be told apart in a row."""
BEACONS = "isl"
"""What satellites that tell of themselves are called together."""
_NOWHERE = Site("nowhere", 0.0, 0.0)
"""Where a satellite stands that tells of itself: it does not matter."""


class Sites:
    """Where sensors stand, by the order of their names."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        if len(sites) > MOST:
            raise ValueError(f"{len(sites)} sensors are more than {MOST}: they would not fit into the bits of a row")
        self.names = sorted(sites)
        self._sites = [sites[name] for name in self.names]

    def __getitem__(self, sensor: int) -> Site:
        return self._sites[sensor]

    def bits(self, form: Form, sensors: Integers) -> Integers:
        """A bit for each sensor; satellites that tell of themselves share the last one."""
        numbers = np.full(len(sensors), MOST) if form is Form.STATE_VECTOR else sensors
        return np.left_shift(np.int64(1), numbers)

    def named(self, bits: int) -> list[str]:
        """The sensors of these bits."""
        told = [name for number, name in enumerate(self.names) if bits >> number & 1]
        return [*told, BEACONS] if bits >> MOST & 1 else told

    def measured(
        self,
        form: Form,
        sensors: Integers,
        states: Floats,
        times: Integers,
        values: Floats,
        sigma: Floats,
        noise: Noise,
    ) -> Measured:
        """Observations of one form by these sensors, with objects on their references.

        :param sensors: by number; of satellites that tell of themselves it does not matter.
        :param states: of the references, n by 6.
        :param values: what was measured, the first numbers of each row.
        :param sigma: what each observation says of itself.
        """
        model, numbers = _MODELS[form]
        foreseen, design = np.empty((len(states), numbers)), np.empty((len(states), numbers, 6))
        for sensor in np.unique(sensors).tolist():
            rows = np.flatnonzero(sensors == sensor)
            site = _NOWHERE if form is Form.STATE_VECTOR else self._sites[sensor]
            predicted = model.predict(states[rows], site, times[rows])
            foreseen[rows], design[rows] = predicted.values, predicted.jacobian
        residual = model.residuals(values[:, :numbers].copy(), foreseen)
        return Measured(residual, design, noise.sigmas(form, sigma, foreseen) ** -2.0)
