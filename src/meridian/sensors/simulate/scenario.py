"""What three sensor networks send, second by second, from a seed: the same seed gives the same bytes.

Bursts, lateness, clocks that are off, outages and duplicates are part of the scenario. What is seen in a second is made
in `networks`; nothing is sent here (see `playing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import MappingProxyType
from typing import TYPE_CHECKING

from meridian.orbit.sites import Site
from meridian.sensors.simulate.networks import SECOND, Moment

if TYPE_CHECKING:
    from meridian.sensors.observation import SourceKind
    from meridian.sensors.simulate.emission import Emission
    from meridian.sensors.simulate.objects import Objects

RADARS: Mapping[int, Site] = MappingProxyType(
    {
        1: Site("ascension", -7.97, -14.40, 30.0),
        2: Site("kwajalein", 9.40, 167.48, 10.0),
        3: Site("shetland", 60.30, -1.30, 60.0),
    }
)
TELESCOPES: Mapping[str, Site] = MappingProxyType(
    {"maui": Site("maui", 20.71, -156.26, 3050.0), "tenerife": Site("tenerife", 28.30, -16.51, 2390.0)}
)


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

    def hits(self, kind: SourceKind, second: int) -> bool:
        """Whether the network is in it at that second."""
        return kind is self.kind and second in self.span


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
    radars: Mapping[int, Site] = field(default_factory=lambda: RADARS)
    """Where the arrays stand, by their numbers: what array 7 sees comes from `radar-7`."""
    radar_rate: int = 200
    """Frames a second of each array, while it sees anything."""
    frames_per_datagram: int = 1
    telescopes: Mapping[str, Site] = field(default_factory=lambda: TELESCOPES)
    """Where they stand, by the site in their records: what `maui` sees comes from `optical-maui`."""
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


def emissions(scenario: Scenario) -> Iterator[Emission]:
    """Everything that leaves the networks, in the order in which it does."""
    waiting: list[tuple[int, int, Emission]] = []
    count = 0
    for second in range(scenario.seconds):
        for emission in Moment.of(scenario, second).emissions():
            count += 1
            heappush(waiting, (emission.at_ns, count, emission))
        end_ns = scenario.start_ns + (second + 1) * SECOND
        while waiting and waiting[0][0] < end_ns:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]
