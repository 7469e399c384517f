"""What three sensor networks send, second by second, from a seed: the same seed gives the same bytes.

Bursts, lateness, clocks that are off, outages and duplicates are part of the scenario. Nothing is sent here: see
`playing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from meridian.sensors.isl_frame import Beacon
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import FRAME, FRAME_SIZE
from meridian.sensors.simulate.sites import RADARS, TELESCOPES, Site, optical_view, radar_view

if TYPE_CHECKING:
    import numpy.typing as npt

    from meridian.sensors.simulate.archive import Record
    from meridian.sensors.simulate.orbits import Objects

_SECOND = 10**9
_ARCSECOND = np.pi / 648_000


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds of a scenario, from one on and up to another."""

    start: float
    stop: float

    def __contains__(self, second: float) -> bool:
        return self.start <= second < self.stop


@dataclass(frozen=True, slots=True)
class Outage:
    """A network that cannot send: radar frames are lost, all else waits for its end."""

    kind: SourceKind
    span: Span


@dataclass(frozen=True, slots=True)
class Burst:
    """A time in which radar sees so many times more, as after a fragmentation."""

    span: Span
    factor: float = 10.0


@dataclass(frozen=True, slots=True)
class Noise:
    """How wrong sensors are: one standard deviation each. Nothing of it is more than the frames say."""

    range_m: float = 20.0
    rate_m_s: float = 0.5
    angle_rad: float = 1e-4
    optical_arcsec: float = 1.0
    position_m: float = 10.0
    speed_m_s: float = 0.01
    radar_clock_ns: float = 100.0
    optical_clock_ns: float = 5e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scenario:
    """Who sees what, how often, and what goes wrong."""

    objects: Objects
    start_ns: int
    seconds: int
    seed: int = 1
    radars: Sequence[Site] = RADARS
    radar_rate: int = 200
    """Frames a second of each array, while it sees anything."""
    frames_per_datagram: int = 1
    telescopes: Sequence[Site] = TELESCOPES
    optical_rate: int = 25
    """Records a second of each telescope."""
    satellites: int = 20
    """So many of the objects are ours, and send a beacon a second."""
    noise: Noise = field(default_factory=Noise)
    bursts: Sequence[Burst] = ()
    outages: Sequence[Outage] = ()
    duplicates: float = 0.0
    """The share of radar datagrams and beacons that come twice."""
    radar_delay_s: tuple[float, float] = (0.005, 0.05)
    optical_delay_s: tuple[float, float] = (1.0, 20.0)
    isl_delay_s: tuple[float, float] = (0.0, 5.0)
    min_elevation_rad: float = 0.05


@dataclass(frozen=True, slots=True)
class Emission:
    """Something that leaves a network."""

    at_ns: int
    """When it leaves; later than what it says by its lateness."""
    kind: SourceKind
    data: bytes = b""
    """A datagram or a frame with its length."""
    record: Record | None = None
    """Of the archive."""


def emissions(scenario: Scenario) -> Iterator[Emission]:
    """Everything that leaves the networks, in the order in which it does."""
    waiting: list[tuple[int, int, Emission]] = []
    count = 0
    for second in range(scenario.seconds):
        for emission in _second(scenario, second):
            count += 1
            heappush(waiting, (emission.at_ns, count, emission))
        end_ns = scenario.start_ns + (second + 1) * _SECOND
        while waiting and waiting[0][0] < end_ns:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]


def _second(scenario: Scenario, second: int) -> Iterator[Emission]:
    rng = np.random.default_rng([scenario.seed, second])
    states = scenario.objects.states(scenario.start_ns + second * _SECOND)
    for number, site in enumerate(scenario.radars, start=1):
        yield from _radar(scenario, second, rng, site, number, states)
    for site in scenario.telescopes:
        yield from _optical(scenario, second, rng, site, states)
    yield from _beacons(scenario, second, rng)


def _radar(
    scenario: Scenario,
    second: int,
    rng: np.random.Generator,
    site: Site,
    array: int,
    states: npt.NDArray[np.float64],
) -> Iterator[Emission]:
    factor = next((burst.factor for burst in scenario.bursts if second in burst.span), 1.0)
    count = int(scenario.radar_rate * factor)
    times, chosen, truth = _sightings(scenario, second, rng, site, count, states)
    if not len(times) or _outage(scenario, SourceKind.RADAR, second):
        return
    noise, view = scenario.noise, radar_view(site, times, truth)
    frames = np.zeros(len(times), FRAME)
    frames["array_id"], frames["target_track_id"] = array, scenario.objects.numbers[chosen]
    frames["timestamp_ns"] = times + rng.normal(0, noise.radar_clock_ns, len(times)).astype(np.int64)
    for name, column, sigma in zip(
        ("range_m", "range_rate_m_s", "azimuth_rad", "elevation_rad"),
        view.T,
        (noise.range_m, noise.rate_m_s, noise.angle_rad, noise.angle_rad),
        strict=True,
    ):
        frames[name] = column + rng.normal(0, sigma, len(times))
    frames["azimuth_rad"] = np.mod(frames["azimuth_rad"], 2 * np.pi)
    frames["sigma_range_m"], frames["sigma_rate_m_s"] = max(noise.range_m, 1e-3), max(noise.rate_m_s, 1e-6)
    data, step = frames.tobytes(), scenario.frames_per_datagram * FRAME_SIZE
    last = np.minimum(np.arange(0, len(times), scenario.frames_per_datagram) + scenario.frames_per_datagram, len(times))
    for start, through in zip(range(0, len(data), step), times[last - 1].tolist(), strict=True):
        emission = Emission(_late(rng, through, scenario.radar_delay_s), SourceKind.RADAR, data[start : start + step])
        yield from _doubled(scenario, rng, emission)


def _optical(
    scenario: Scenario, second: int, rng: np.random.Generator, site: Site, states: npt.NDArray[np.float64]
) -> Iterator[Emission]:
    times, _, truth = _sightings(scenario, second, rng, site, scenario.optical_rate, states)
    if not len(times):
        return
    noise = scenario.noise
    view = optical_view(site, times, truth) + rng.normal(0, noise.optical_arcsec * _ARCSECOND, (len(times), 2))
    clock = rng.normal(0, noise.optical_clock_ns, len(times)).astype(np.int64)
    end = _outage(scenario, SourceKind.OPTICAL, second)
    for place, time_ns in enumerate(times.tolist()):
        record: Record = {
            "obs_id": f"{second:06d}-{place:04d}",
            "timestamp_ns": time_ns + int(clock[place]),
            "ra_rad": float(np.mod(view[place, 0], 2 * np.pi)),
            "dec_rad": float(np.clip(view[place, 1], -np.pi / 2, np.pi / 2)),
            "sigma_arcsec": max(noise.optical_arcsec, 1e-3),
            "site_id": site.name,
        }
        at_ns = max(_late(rng, time_ns, scenario.optical_delay_s), end or 0)
        yield Emission(at_ns, SourceKind.OPTICAL, record=record)


def _beacons(scenario: Scenario, second: int, rng: np.random.Generator) -> Iterator[Emission]:
    noise, kind = scenario.noise, SourceKind.INTER_SATELLITE_LINK
    end = _outage(scenario, kind, second)
    for place in range(min(scenario.satellites, len(scenario.objects))):
        time_ns = scenario.start_ns + second * _SECOND + int(rng.integers(_SECOND))
        (state,) = scenario.objects.states_of(place, np.array([time_ns]))
        position = state[:3] + rng.normal(0, noise.position_m, 3)
        velocity = state[3:] + rng.normal(0, noise.speed_m_s, 3)
        since_sync = second % 600 + place
        skew = int(rng.uniform(-1, 1) * 100_000 * since_sync)
        if not np.isfinite(state).all():
            continue
        beacon = Beacon(
            satellite_id=int(scenario.objects.numbers[place]),
            beacon=second,
            timestamp_ns=time_ns + skew,
            position_m=_triple(position),
            velocity_m_s=_triple(velocity),
            sigma_m=max(noise.position_m, 1e-3),
            time_since_sync_s=since_sync,
        )
        at_ns = max(_late(rng, time_ns, scenario.isl_delay_s), end or 0)
        yield from _doubled(scenario, rng, Emission(at_ns, kind, beacon.to_bytes()))


def _sightings(
    scenario: Scenario,
    second: int,
    rng: np.random.Generator,
    site: Site,
    count: int,
    states: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """When a site sees which object, and where that truly is: times in order, places of objects, states."""
    start_ns = scenario.start_ns + second * _SECOND
    when = np.full(len(states), start_ns)
    with np.errstate(invalid="ignore"):
        visible = np.flatnonzero(radar_view(site, when, states)[:, 3] > scenario.min_elevation_rad)
    if not len(visible):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 6))
    times = start_ns + np.sort(rng.integers(0, _SECOND, count))
    chosen = rng.choice(visible, count)
    truth = np.empty((count, 6))
    for place in np.unique(chosen):
        truth[chosen == place] = scenario.objects.states_of(int(place), times[chosen == place])
    return times, chosen, truth


def _outage(scenario: Scenario, kind: SourceKind, second: int) -> int | None:
    """When the outage ends that the network is in; None when it is in none."""
    spans = [outage.span for outage in scenario.outages if outage.kind is kind and second in outage.span]
    return scenario.start_ns + int(max(span.stop for span in spans) * _SECOND) if spans else None


def _late(rng: np.random.Generator, time_ns: int, delay_s: tuple[float, float]) -> int:
    return time_ns + int(rng.uniform(*delay_s) * _SECOND)


def _doubled(scenario: Scenario, rng: np.random.Generator, emission: Emission) -> Iterator[Emission]:
    yield emission
    if rng.random() < scenario.duplicates:
        yield Emission(emission.at_ns + _SECOND // 100, emission.kind, emission.data)


def _triple(vector: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
