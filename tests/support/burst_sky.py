"""A sky in which much is going on: pairs that are going to pass closely, and many objects that pass nobody.

Everything is a twentieth of what a real radar network sees, so that minutes of it are made and fused in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from meridian.fusion.exact import Integers
from meridian.fusion.windows import SECOND
from meridian.orbit.elements import Elements
from meridian.orbit.sites import look
from meridian.sensors import ClockKind, Form, ObservationColumns, SourceKind
from meridian.sensors.columns import new_records
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH, made_up
from tests.support.watched_sky import NOISE, RANGE, SITES, WatchedSky

NOMINAL, PEAK = 250, 2_500
"""Observations a second."""
SELDOM = 7
"""Seconds between two samples of an object that is seen so seldom that each of them is news."""
_RADARS = 4


@dataclass(frozen=True)
class Crowd(Pairs):
    """Pairs, and objects that pass nobody: some that are seen seldom, and some that are seen all the time."""

    count: int = 10
    seldom: int = 140
    often: int = 30

    @property
    def elements(self) -> list[Elements]:
        random = Random(self.seed)
        alone = [made_up(95_000 + number, random) for number in range(self.seldom + self.often)]
        return [*super().elements, *alone]

    @property
    def always_there(self) -> range:
        """The objects of the pairs that are seen before the burst, too."""
        return range(self.count)

    @property
    def only_in_burst(self) -> range:
        """The objects of the other pairs."""
        return range(self.count, 2 * self.count)

    def chosen(self, second: int, *, is_burst: bool, random: np.random.Generator) -> Integers:
        """Whom radars look at in a second."""
        first_alone = 2 * self.count
        seldom = [first_alone + each for each in range(self.seldom) if (second + each) % SELDOM == 0]
        pairs = [*self.always_there, *self.only_in_burst] * 5 if is_burst else [*self.always_there]
        rest = (PEAK if is_burst else NOMINAL) - len(seldom) - len(pairs)
        often = first_alone + self.seldom + random.integers(0, self.often, rest)
        return random.permutation(np.concatenate([seldom, pairs, often]).astype(np.int64))


class Radars:
    """What radars say of the crowd, second by second; the same each time it is asked."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.sky: WatchedSky = crowd.watched
        self._names = pa.array(self.sky.names, pa.string())

    @property
    def names(self) -> Sequence[str]:
        return self.sky.names

    def seen(self, second: int, *, is_burst: bool) -> ObservationColumns:
        """All observations of a second, in the order of their times."""
        random = np.random.default_rng([self.crowd.seed, second])
        objects = self.crowd.chosen(second, is_burst=is_burst, random=random)
        times = EPOCH + second * SECOND + np.sort(random.integers(0, SECOND, len(objects)))
        records = new_records(len(objects), SourceKind.RADAR, Form.RANGE_RATE, ClockKind.GPS_LOCKED)
        records["observation_id"] = random.integers(0, 256, (len(objects), 16), np.uint8)
        records["sensor_ts_ns"], records["ingest_ts_ns"] = times, times + SECOND // 20
        radars = np.arange(len(objects)) % _RADARS
        records["values"][:, :4], records["sigma"] = self._measured(objects, times, radars, random), RANGE
        sensors = pa.array([f"radar-{radar}" for radar in range(_RADARS)]).take(pa.array(radars))
        return ObservationColumns(records, sensors, self._names.take(pa.array(objects)))

    def _measured(
        self, objects: Integers, times: Integers, radars: Integers, random: np.random.Generator
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        states = self.sky.real.states(objects, times)
        values = np.empty((len(objects), 4))
        for radar in range(_RADARS):
            of = radars == radar
            found = look(SITES[f"radar-{radar}"], states[of, :3], states[of, 3:], times[of])
            values[of] = np.stack([found.range_m, found.range_rate_m_s, found.azimuth_rad, found.elevation_rad], axis=1)
        off = random.normal(size=values.shape) * [RANGE, NOISE.radar_rate, NOISE.radar_angle, NOISE.radar_angle]
        off[:, 2] /= np.cos(values[:, 3])
        return values + off
