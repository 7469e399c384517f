"""Objects a little off their catalog, and what radars, telescopes and the objects themselves say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from meridian.fusion.contributions import Contributions
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.measurements import Noise, Sites
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.orbit.sites import Site, directions, look
from meridian.sensors import (
    Angular,
    ClockQuality,
    Observation,
    ObservationColumns,
    RangeRate,
    StateVector,
    Uncertainty,
    from_observations,
)

WINDOWS = Windows()
NOISE = Noise()
SITES = {
    f"{kind}-{number}": Site(f"{kind}-{number}", latitude, longitude, 100.0)
    for kind in ("radar", "optical")
    for number, (latitude, longitude) in enumerate([(64.3, 20.1), (20.7, -156.3), (-30.2, -70.8), (-35.3, 149.0)])
}
GPS = ClockQuality("GpsLocked")
RANGE, DIRECTION, PLACE = 15.0, 1e-5, 5.0
"""Standard deviations of ranges, directions, and places that satellites tell."""


class Truth(Protocol):
    """Where objects really are."""

    def states(self, objects: Integers, times: Integers) -> Floats: ...

    def at_end(self, objects: Integers, slices: Integers) -> Floats: ...


@dataclass
class AsUnsure:
    """Off the catalog by exactly what the catalog's error says, drawn at the end of a slice."""

    references: References
    slice_: int
    seed: int

    def __post_init__(self) -> None:
        count, random = len(self.references), np.random.default_rng(self.seed)
        self._slices = np.full(count, self.slice_)
        prior = self.references.prior(np.arange(count), self._slices)
        self._off = np.array([random.multivariate_normal(np.zeros(6), each) for each in prior.covariance])

    def states(self, objects: Integers, times: Integers) -> Floats:
        seconds = (times - WINDOWS.end(self.slice_)) / SECOND
        moved = self.references.transition(objects, self._slices[objects], seconds)
        off: Floats = (moved @ self._off[objects][:, :, None])[:, :, 0]
        return self.references.states(objects, times) + off

    def at_end(self, objects: Integers, slices: Integers) -> Floats:
        return self.states(objects, (slices + 1) * WINDOWS.size)


@dataclass
class WatchedSky:
    """A catalog, where its objects really are, and sensors."""

    references: References
    names: Sequence[str]
    real: Truth
    seed: int = 1

    @classmethod
    def off(cls, catalog: Sequence[Elements], truth: Sequence[Elements]) -> WatchedSky:
        """Objects that move by other elements than the catalog has."""
        references, real = (References(Propagator(each), WINDOWS) for each in (catalog, truth))
        return cls(references, [each.object_id for each in catalog], real)

    def __post_init__(self) -> None:
        self.contributions = Contributions(self.references, self.names, Sites(SITES), WINDOWS, NOISE)
        self._random = np.random.default_rng(self.seed)

    def seen(self, times: Integers, objects: Integers, *, only: str | None = None) -> ObservationColumns:
        """One observation of each object at its time, by a sensor of each kind in turn."""
        states = self.real.states(objects, times)
        kinds = [only or ("radar", "optical", "isl")[row % 3] for row in range(len(times))]
        rows = zip(kinds, states, times.tolist(), objects.tolist(), strict=True)
        return from_observations([self._observation(row, *each) for row, each in enumerate(rows)])

    def _observation(self, row: int, kind: str, state: Floats, time: int, number: int) -> Observation:
        made = {"radar": self._by_radar, "optical": self._by_telescope, "isl": self._by_beacon}[kind]
        sensor, target, label, sigma = made(row, state, time)
        return Observation(
            observation_id=str(np.random.default_rng([self.seed, time, number]).bytes(16).hex()),
            source_id=sensor if kind != "isl" else f"isl-{self.names[number]}",
            source_kind=label,
            sensor_ts_ns=time,
            ingest_ts_ns=time + 50_000_000,
            target=target,
            uncertainty=Uncertainty(sigma),
            clock_quality=GPS,
            target_object_id=self.names[number],
        )

    def _by_radar(self, row: int, state: Floats, time: int) -> tuple[str, RangeRate, str, float]:
        sensor = f"radar-{row % 4}"
        found = look(SITES[sensor], state[None, :3], state[None, 3:], np.array([time]))
        off = self._random.normal(size=4) * [RANGE, NOISE.radar_rate, NOISE.radar_angle, NOISE.radar_angle]
        elevation = float(found.elevation_rad[0])
        target = RangeRate(
            float(found.range_m[0] + off[0]),
            float(found.range_rate_m_s[0] + off[1]),
            float(found.azimuth_rad[0] + off[2] / np.cos(elevation)),
            elevation + float(off[3]),
        )
        return sensor, target, "Radar", RANGE

    def _by_telescope(self, row: int, state: Floats, time: int) -> tuple[str, Angular, str, float]:
        sensor = f"optical-{row % 4}"
        found = directions(SITES[sensor], state[None, :3], np.array([time]))
        off = self._random.normal(size=2) * DIRECTION
        declination = float(found.declination_rad[0])
        ascension = float(found.right_ascension_rad[0] + off[0] / np.cos(declination))
        return sensor, Angular(ascension, declination + float(off[1])), "Optical", DIRECTION

    def _by_beacon(self, row: int, state: Floats, time: int) -> tuple[str, StateVector, str, float]:
        place = state[:3] + self._random.normal(size=3) * PLACE
        velocity = state[3:] + self._random.normal(size=3) * NOISE.beacon_velocity
        return "", StateVector(tuple(place.tolist()), tuple(velocity.tolist())), "InterSatelliteLink", PLACE


def off_catalog(catalog: Sequence[Elements], seed: int) -> list[Elements]:
    """The same objects a few hundred metres from where the catalog has them."""
    random = np.random.default_rng(seed)
    return [
        replace(
            each,
            mean_anomaly_deg=each.mean_anomaly_deg + random.normal() * 0.003,
            raan_deg=each.raan_deg + random.normal() * 0.001,
            inclination_deg=each.inclination_deg + random.normal() * 0.001,
        )
        for each in catalog
    ]
