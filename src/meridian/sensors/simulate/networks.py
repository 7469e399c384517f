"""What the three networks send in one second of a scenario: who is seen, how wrongly, and when it leaves. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meridian.orbit.sites import Looks, Site, directions, look
from meridian.sensors.isl_frame import Beacon
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import FRAME
from meridian.sensors.simulate.emission import Emission

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from meridian.sensors.simulate.archive import Record
    from meridian.sensors.simulate.scenario import Noise, Scenario

SECOND = 10**9
_TURN = 2 * np.pi
_ARCSECOND = _TURN / 1_296_000
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
        states = scenario.objects.at(scenario.start_ns + second * SECOND)
        return cls(scenario, second, np.random.default_rng([scenario.seed, second]), states)

    @property
    def start_ns(self) -> int:
        """When it begins."""
        return self.scenario.start_ns + self.second * SECOND

    def emissions(self) -> Iterator[Emission]:
        """What is seen in this second, by whom, in no order of leaving."""
        for array, site in self.scenario.radars.items():
            yield from self._radar(array, site)
        for name, site in self.scenario.telescopes.items():
            yield from self._optical(name, site)
        yield from self._beacons()

    def _radar(self, array: int, site: Site) -> Iterator[Emission]:
        scenario = self.scenario
        factor = next((burst.factor for burst in scenario.bursts if self.second in burst.span), 1.0)
        seen = self._sightings(site, int(scenario.radar_rate * factor))
        if self._outage_end_ns(SourceKind.RADAR) is not None:
            return
        frames = _frames(seen, _look(site, seen.states, seen.times), scenario.noise, self.rng)
        frames["array_id"], frames["target_track_id"] = array, scenario.objects.numbers[seen.places]
        for start in range(0, len(frames), scenario.frames_per_datagram):
            together = slice(start, min(start + scenario.frames_per_datagram, len(frames)))
            at_ns = self._late(int(seen.times[together.stop - 1]), scenario.radar_delay_s)
            yield from self._doubled(Emission(at_ns, SourceKind.RADAR, frames[together].tobytes()))

    def _optical(self, name: str, site: Site) -> Iterator[Emission]:
        noise, rng = self.scenario.noise, self.rng
        seen = self._sightings(site, self.scenario.optical_rate)
        view = directions(site, seen.states[:, :3], seen.times)
        off = rng.normal(0, noise.optical_arcsec * _ARCSECOND, (2, len(seen.times)))
        right_ascension = np.mod(view.right_ascension_rad + off[0], _TURN)
        declination = np.clip(view.declination_rad + off[1], -_TURN / 4, _TURN / 4)
        stamps = seen.times + rng.normal(0, noise.optical_clock_ns, len(seen.times)).astype(np.int64)
        for place, time_ns in enumerate(seen.times.tolist()):
            record: Record = {
                "obs_id": f"{self.start_ns}-{place:04d}",
                "timestamp_ns": int(stamps[place]),
                "ra_rad": float(right_ascension[place]),
                "dec_rad": float(declination[place]),
                "sigma_arcsec": max(noise.optical_arcsec, 1e-3),
                "site_id": name,
            }
            at_ns = self._late(time_ns, self.scenario.optical_delay_s)
            yield Emission(max(at_ns, self._outage_end_ns(SourceKind.OPTICAL) or 0), SourceKind.OPTICAL, record=record)

    def _beacons(self) -> Iterator[Emission]:
        scenario, kind = self.scenario, SourceKind.INTER_SATELLITE_LINK
        ours = np.flatnonzero(scenario.objects.numbers[: scenario.satellites])
        seen = self._seen(ours, self.start_ns + self.rng.integers(0, SECOND, len(ours)))
        for time_ns, beacon in zip(seen.times.tolist(), self._told(seen), strict=True):
            at_ns = max(self._late(time_ns, scenario.isl_delay_s), self._outage_end_ns(kind) or 0)
            yield from self._doubled(Emission(at_ns, kind, beacon.to_bytes()))

    def _told(self, seen: Sightings) -> list[Beacon]:
        """What satellites say of themselves."""
        noise, rng, count = self.scenario.noise, self.rng, len(seen.times)
        numbers = self.scenario.objects.numbers[seen.places].tolist()
        states = seen.states + rng.normal(0, np.repeat([noise.position_m, noise.speed_m_s], 3), (count, 6))
        since_sync = (self.second + seen.places) % _SYNC_EVERY_S
        clocks = seen.times + (rng.uniform(-1, 1, count) * _DRIFT_NS_PER_S * since_sync).astype(np.int64)
        return [
            Beacon(
                satellite_id=number,
                beacon=self.second,
                timestamp_ns=clock,
                position_m=_triple(state[:3]),
                velocity_m_s=_triple(state[3:]),
                sigma_m=max(noise.position_m, 1e-3),
                time_since_sync_s=age,
            )
            for number, clock, age, state in zip(numbers, clocks.tolist(), since_sync.tolist(), states, strict=True)
        ]

    def _sightings(self, site: Site, count: int) -> Sightings:
        elevation = _look(site, self.states, np.array([self.start_ns])).elevation_rad
        visible = np.flatnonzero(elevation > self.scenario.min_elevation_rad)
        count = count if len(visible) else 0
        times = self.start_ns + np.sort(self.rng.integers(0, SECOND, count))
        return self._seen(self.rng.choice(visible, count) if count else visible[:0], times)

    def _seen(self, places: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> Sightings:
        """These objects at these times, as far as they are still there."""
        states = self.scenario.objects.states(places, times)
        is_there = np.isfinite(states).all(axis=1)
        return Sightings(times[is_there], places[is_there], states[is_there])

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


def _look(site: Site, states: npt.NDArray[np.float64], times: npt.NDArray[np.int64]) -> Looks:
    return look(site, states[:, :3], states[:, 3:], times)


def _frames(seen: Sightings, view: Looks, noise: Noise, rng: np.random.Generator) -> npt.NDArray[np.void]:
    """What an array says of what it sees; who it is, and of whom, is still open."""
    count = len(seen.times)
    frames = np.zeros(count, FRAME)
    frames["timestamp_ns"] = seen.times + rng.normal(0, noise.radar_clock_ns, count).astype(np.int64)
    frames["range_m"] = view.range_m + rng.normal(0, noise.range_m, count)
    frames["range_rate_m_s"] = view.range_rate_m_s + rng.normal(0, noise.rate_m_s, count)
    frames["azimuth_rad"] = np.mod(view.azimuth_rad + rng.normal(0, noise.angle_rad, count), _TURN)
    frames["elevation_rad"] = np.minimum(view.elevation_rad + rng.normal(0, noise.angle_rad, count), _TURN / 4)
    frames["sigma_range_m"], frames["sigma_rate_m_s"] = max(noise.range_m, 1e-3), max(noise.rate_m_s, 1e-6)
    return frames


def _triple(vector: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
