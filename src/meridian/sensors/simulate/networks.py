"""What the three networks send in one second of a scenario: who is seen, how wrongly, and when it leaves. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meridian.sensors.isl_frame import Beacon
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import FRAME
from meridian.sensors.simulate.emission import Emission
from meridian.sensors.simulate.sites import optical_view, radar_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from meridian.sensors.simulate.archive import Record
    from meridian.sensors.simulate.scenario import Noise, Scenario
    from meridian.sensors.simulate.sites import Site

SECOND = 10**9
_ARCSECOND = np.pi / 648_000
_SYNC_EVERY_S = 600
"""The clock of a satellite is set so often, and drifts in between."""
_DRIFT_NS_PER_S = 100_000
_DUPLICATE_AFTER_NS = SECOND // 100


class Sightings(NamedTuple):
    """What a site sees, and where that truly is."""

    times: npt.NDArray[np.int64]
    """In order."""
    places: npt.NDArray[np.int64]
    """Of the objects."""
    states: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One second of a scenario, with its own dice: it is the same whatever was made before it."""

    scenario: Scenario
    second: int
    rng: np.random.Generator
    states: npt.NDArray[np.float64]
    """Of all objects, when it begins."""

    @classmethod
    def of(cls, scenario: Scenario, second: int) -> Moment:
        """That second."""
        states = scenario.objects.states(scenario.start_ns + second * SECOND)
        return cls(scenario, second, np.random.default_rng([scenario.seed, second]), states)

    @property
    def start_ns(self) -> int:
        """When it begins."""
        return self.scenario.start_ns + self.second * SECOND

    def emissions(self) -> Iterator[Emission]:
        """What is seen in this second, by whom, in no order of leaving."""
        for number, site in enumerate(self.scenario.radars, start=1):
            yield from self._radar(site, number)
        for site in self.scenario.telescopes:
            yield from self._optical(site)
        for place in range(min(self.scenario.satellites, len(self.scenario.objects))):
            yield from self._beacon(place)

    def _radar(self, site: Site, array: int) -> Iterator[Emission]:
        scenario = self.scenario
        factor = next((burst.factor for burst in scenario.bursts if self.second in burst.span), 1.0)
        seen = self._sightings(site, int(scenario.radar_rate * factor))
        if self._outage_end_ns(SourceKind.RADAR) is not None:
            return
        frames = _frames(seen, radar_view(site, seen.times, seen.states), scenario.noise, self.rng)
        frames["array_id"], frames["target_track_id"] = array, scenario.objects.numbers[seen.places]
        for start in range(0, len(frames), scenario.frames_per_datagram):
            together = slice(start, min(start + scenario.frames_per_datagram, len(frames)))
            at_ns = self._late(int(seen.times[together.stop - 1]), scenario.radar_delay_s)
            yield from self._doubled(Emission(at_ns, SourceKind.RADAR, frames[together].tobytes()))

    def _optical(self, site: Site) -> Iterator[Emission]:
        noise, rng = self.scenario.noise, self.rng
        seen = self._sightings(site, self.scenario.optical_rate)
        view = optical_view(site, seen.times, seen.states)
        view = view + rng.normal(0, noise.optical_arcsec * _ARCSECOND, view.shape)
        clock = rng.normal(0, noise.optical_clock_ns, len(view)).astype(np.int64)
        for place, (time_ns, (right_ascension, declination)) in enumerate(zip(seen.times.tolist(), view, strict=True)):
            record: Record = {
                "obs_id": f"{self.second:06d}-{place:04d}",
                "timestamp_ns": time_ns + int(clock[place]),
                "ra_rad": float(np.mod(right_ascension, 2 * np.pi)),
                "dec_rad": float(np.clip(declination, -np.pi / 2, np.pi / 2)),
                "sigma_arcsec": max(noise.optical_arcsec, 1e-3),
                "site_id": site.name,
            }
            at_ns = self._late(time_ns, self.scenario.optical_delay_s)
            yield Emission(max(at_ns, self._outage_end_ns(SourceKind.OPTICAL) or 0), SourceKind.OPTICAL, record=record)

    def _beacon(self, place: int) -> Iterator[Emission]:
        scenario, noise, rng = self.scenario, self.scenario.noise, self.rng
        time_ns = self.start_ns + int(rng.integers(SECOND))
        (state,) = scenario.objects.states_of(place, np.array([time_ns]))
        if not np.isfinite(state).all():
            return
        since_sync = (self.second + place) % _SYNC_EVERY_S
        beacon = Beacon(
            satellite_id=int(scenario.objects.numbers[place]),
            beacon=self.second,
            timestamp_ns=time_ns + int(rng.uniform(-1, 1) * _DRIFT_NS_PER_S * since_sync),
            position_m=_triple(state[:3] + rng.normal(0, noise.position_m, 3)),
            velocity_m_s=_triple(state[3:] + rng.normal(0, noise.speed_m_s, 3)),
            sigma_m=max(noise.position_m, 1e-3),
            time_since_sync_s=since_sync,
        )
        kind = SourceKind.INTER_SATELLITE_LINK
        at_ns = max(self._late(time_ns, scenario.isl_delay_s), self._outage_end_ns(kind) or 0)
        yield from self._doubled(Emission(at_ns, kind, beacon.to_bytes()))

    def _sightings(self, site: Site, count: int) -> Sightings:
        with np.errstate(invalid="ignore"):
            view = radar_view(site, np.full(len(self.states), self.start_ns), self.states)
            visible = np.flatnonzero(view[:, 3] > self.scenario.min_elevation_rad)
        count = count if len(visible) else 0
        times = self.start_ns + np.sort(self.rng.integers(0, SECOND, count))
        places = self.rng.choice(visible, count) if count else np.empty(0, np.int64)
        states = np.empty((count, 6))
        for place in np.unique(places):
            states[places == place] = self.scenario.objects.states_of(int(place), times[places == place])
        return Sightings(times, places, states)

    def _outage_end_ns(self, kind: SourceKind) -> int | None:
        """When the outage ends that the network is in; None when it is in none."""
        ends = [outage.span.stop for outage in self.scenario.outages if outage.hits(kind, self.second)]
        return self.scenario.start_ns + int(max(ends) * SECOND) if ends else None

    def _late(self, time_ns: int, delay_s: tuple[float, float]) -> int:
        return time_ns + int(self.rng.uniform(*delay_s) * SECOND)

    def _doubled(self, emission: Emission) -> Iterator[Emission]:
        yield emission
        if self.rng.random() < self.scenario.duplicates:
            yield Emission(emission.at_ns + _DUPLICATE_AFTER_NS, emission.kind, emission.data)


def _frames(
    seen: Sightings, view: npt.NDArray[np.float64], noise: Noise, rng: np.random.Generator
) -> npt.NDArray[np.void]:
    """What an array says of what it sees; who it is, and of whom, is still open."""
    frames = np.zeros(len(view), FRAME)
    frames["timestamp_ns"] = seen.times + rng.normal(0, noise.radar_clock_ns, len(view)).astype(np.int64)
    sigmas = (noise.range_m, noise.rate_m_s, noise.angle_rad, noise.angle_rad)
    names = ("range_m", "range_rate_m_s", "azimuth_rad", "elevation_rad")
    for name, column, sigma in zip(names, view.T, sigmas, strict=True):
        frames[name] = column + rng.normal(0, sigma, len(view))
    frames["azimuth_rad"] = np.mod(frames["azimuth_rad"], 2 * np.pi)
    frames["sigma_range_m"], frames["sigma_rate_m_s"] = max(noise.range_m, 1e-3), max(noise.rate_m_s, 1e-6)
    return frames


def _triple(vector: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
