"""What matches what: by the time of sensors alone, as far off as their clocks may be, and under one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH
from tests.support.straight_sky import StraightSky

from meridian.fusion.correlator import Correlator
from meridian.fusion.emissions import Meeting
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Integers
from meridian.fusion.judging import Astronomer
from meridian.fusion.resolution import NOBODY, Resolution
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.spark import observations_in
from meridian.fusion.state import Seen
from meridian.fusion.watermarks import Watermarks
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.sites import look
from meridian.sensors import ClockKind, ObservationColumns

PAIRS = Pairs(count=1)
PARTS = PAIRS()
SKY = PAIRS.watched
RESOLVING = replace(PARTS.contributions, resolution=Resolution(SKY.references))
WINDOWS = Windows()
GPS, NTP, NOBODY_KNOWS = ClockKind.GPS_LOCKED, ClockKind.NTP_SYNCED, ClockKind.UNKNOWN
UNNAMED = partial(pa.nulls, type=pa.string())
FIRST = EPOCH // WINDOWS.size + 1
TIMES = FIRST * WINDOWS.size + np.repeat(np.arange(1, 26), 2) * SECOND
"""Both objects at once, each second of a slice."""


@dataclass(frozen=True)
class Called(StraightSky):
    """A sky whose objects have these names."""

    called: tuple[str, ...] = ()

    def names(self, objects: Integers) -> Sequence[str]:
        return [self.called[number] for number in objects.tolist()]


def beacons(*, clocks: tuple[ClockKind, ClockKind], off_s: tuple[float, float] = (0, 0)) -> ObservationColumns:
    """What both objects say of themselves, by clocks of these kinds that are off by so much."""
    seen = SKY.seen(TIMES, np.tile([0, 1], len(TIMES) // 2), only="isl")
    records = seen.records.copy()
    for object_, (clock, off) in enumerate(zip(clocks, off_s, strict=True)):
        records["clock"][object_::2] = clock
        records["sensor_ts_ns"][object_::2] += round(off * SECOND)
    return ObservationColumns(records, seen.source_ids, seen.object_ids)


def told(seen: ObservationColumns) -> list[ConjunctionRisk]:
    """What is said of the pair in the window of their slice."""
    evidence = PARTS.contributions.evidence(observations_in(seen))
    _, news = PARTS.before_anything.after(Seen(evidence))
    return [word.finding for word in news.words if word.meeting.window == FIRST]


def spread(seen: ObservationColumns) -> float:
    (risk,) = told(seen)
    return risk.spread[0] + risk.spread[1]


@pytest.mark.req("EVT-01")
def test_when_observations_arrived_does_not_show_in_what_they_say() -> None:
    seen = beacons(clocks=(GPS, GPS))
    late = ObservationColumns(seen.records.copy(), seen.source_ids, seen.object_ids)
    late.records["ingest_ts_ns"] += np.random.default_rng(1).integers(0, 10**12, len(late))
    first, second = (PARTS.contributions.evidence(each) for each in (seen, late))
    assert second.slices.tolist() == first.slices.tolist() == [FIRST] * 2
    assert second.sums.whole.tobytes() == first.sums.whole.tobytes()
    assert second.sums.part.tobytes() == first.sums.part.tobytes()
    assert told(late) == told(seen)


@pytest.mark.req("EVT-01")
def test_observations_that_arrive_together_go_to_the_windows_of_their_own_times() -> None:
    seen = beacons(clocks=(GPS, GPS))
    seen.records["sensor_ts_ns"][::2] -= WINDOWS.size
    seen.records["ingest_ts_ns"] = EPOCH + 100 * SECOND
    assert PARTS.contributions.evidence(seen).slices.tolist() == [FIRST - 1, FIRST]


@pytest.mark.req("EVT-03")
@pytest.mark.parametrize(
    ("off_s", "clocks"),
    [((3.0, 0.0), (NOBODY_KNOWS, GPS)), ((0.0, -3.0), (GPS, NOBODY_KNOWS))],
    ids=["the first is off", "the second is off"],
)
def test_a_pair_is_not_lost_to_a_clock_that_is_off_and_says_that_it_may_be(
    off_s: tuple[float, float], clocks: tuple[ClockKind, ClockKind]
) -> None:
    assert told(beacons(clocks=(GPS, GPS), off_s=off_s)) == [], "believed, three seconds have the pair apart"
    assert len(told(beacons(clocks=clocks, off_s=off_s))) == 1


@pytest.mark.req("EVT-03")
def test_of_two_clocks_the_worse_one_rules() -> None:
    both_good, middling = spread(beacons(clocks=(GPS, GPS))), spread(beacons(clocks=(GPS, NTP)))
    one_bad = [spread(beacons(clocks=clocks)) for clocks in ((GPS, NOBODY_KNOWS), (NOBODY_KNOWS, GPS))]
    both_bad = spread(beacons(clocks=(NOBODY_KNOWS, NOBODY_KNOWS)))
    assert both_good < middling
    assert 2 * middling < min(one_bad), "a good clock of the other makes up for nothing"
    assert both_bad < 2 * max(one_bad)


@pytest.mark.req("EVT-03")
def test_a_direction_is_matched_to_an_object_that_is_as_far_off_as_the_clock_may_be() -> None:
    assert matched(GPS, off_s=0) == {0}
    assert matched(GPS, off_s=3) == {NOBODY}
    assert matched(NTP, off_s=3) == {NOBODY}
    assert matched(NOBODY_KNOWS, off_s=3) == {0}


def matched(clock: ClockKind, *, off_s: int) -> set[int]:
    """What a telescope under the first object takes it for, by a clock that is off by so much."""
    times, seen = overhead()
    records = seen.records.copy()
    records["clock"], records["sensor_ts_ns"] = clock, times + off_s * SECOND
    return set(RESOLVING.numbers(ObservationColumns(records, seen.source_ids, UNNAMED(len(times)))).tolist())


def overhead() -> tuple[Integers, ObservationColumns]:
    """Directions to the first object while it stands above a telescope."""
    times = EPOCH + np.arange(0, 6000, 4) * SECOND
    seen = SKY.seen(times, np.zeros(len(times), np.int64), only="optical")
    sites, states = PARTS.contributions.sites, SKY.references.states(np.zeros(len(times), np.int64), times)
    places = [sites[sites.names.index(name)] for name in seen.source_ids.to_pylist()]
    looks = [
        look(site, state[None, :3], state[None, 3:], times[row : row + 1])
        for row, (site, state) in enumerate(zip(places, states, strict=True))
    ]
    high = np.array([float(each.elevation_rad[0]) > 0.2 for each in looks])
    return times[high], seen.where(high)


@pytest.mark.req("COR-01")
@pytest.mark.parametrize("names", [("b", "a"), ("a", "b")], ids=["numbered against the alphabet", "with it"])
def test_a_pair_has_one_key_whichever_of_its_objects_comes_first(names: tuple[str, str]) -> None:
    sky = Called(np.array([[-7e6, 0, 0, 7000, 0, 0], [0, -7e6, 400, 0, 7000, 0]], np.float64), called=names)
    times, objects = np.array([10.0, 10.0, 20.0, 20.0]), np.array([0, 1, 1, 0])
    places = sky.states[objects, :3] + times[:, None] * sky.states[objects, 3:]
    found = Astronomer(sky, 1000.0).findings(0, sky.evidence(times, objects, places, 5.0))
    assert list(found) == [Meeting(0, "a", "b")]
    with pytest.raises(ValueError, match="in order"):
        Meeting(0, "b", "a")


@pytest.mark.req("COR-01")
def test_the_slices_of_windows_are_thirty_seconds_long() -> None:
    assert Windows().size == 30 * SECOND
    assert [Meeting.of(window, "b", "a").alert_id for window in (0, 1)] != [Meeting(0, "a", "b").alert_id] * 2
    assert Meeting.of(0, "b", "a").alert_id == Meeting(0, "a", "b").alert_id


@pytest.mark.req("WIN-02")
@given(st.integers(0, 10**6))
def test_an_observation_is_looked_at_in_two_windows(seconds: int) -> None:
    judge = Asked()
    correlator: Correlator[ConjunctionRisk] = Correlator(WINDOWS, Watermarks({"radar": 0}), Evidence.nothing(1), judge)
    time = np.array([seconds * SECOND])
    seen = Evidence.of(WINDOWS.slices(time), np.array([0]), np.ones((1, 1)), np.ones(1, np.uint64), time)
    correlator.after(seen, {})
    assert judge.windows == [seconds // 30, seconds // 30 + 1]
    within = [w for w in range(seconds // 30 - 2, seconds // 30 + 4) if WINDOWS.end(w - 2) <= time[0] < WINDOWS.end(w)]
    assert judge.windows == within, "two slices of which one is new: size by step is two"


class Asked:
    """A judge that finds nothing and remembers what it was asked about."""

    def __init__(self) -> None:
        self.windows: list[int] = []

    def findings(self, window: int, evidence: Evidence) -> dict[Meeting, ConjunctionRisk]:
        assert len(evidence.since(window - 1)) == 1, "the observation is in the window"
        self.windows.append(window)
        return {}

    def still(self, before: ConjunctionRisk, now: ConjunctionRisk) -> bool:
        return True

    def settled(self, evidence: Evidence) -> Asked:
        return self
