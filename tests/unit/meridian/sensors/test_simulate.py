"""The simulated networks: true to the orbits, the same from the same seed, and with what goes wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from meridian.sensors import Catalog, ObservationColumns, Screen, SourceKind, isl_frame, optical_record, radar_frame
from meridian.sensors import standard_rules as rules
from meridian.sensors.columns import joined
from meridian.sensors.screening import Candidates
from meridian.sensors.simulate.emission import Emission
from meridian.sensors.simulate.orbits import from_tle, synthetic
from meridian.sensors.simulate.scenario import Burst, Noise, Outage, Scenario, Span, emissions
from meridian.sensors.simulate.sites import Site, optical_view, radar_view

START = 1_760_000_000_000_000_000
SECOND = 10**9
EXACT = Noise(0, 0, 0, 0, 0, 0, 0, 0)
RADAR, OPTICAL, ISL = SourceKind
OBJECTS = synthetic(seed=4, count=300, epoch_ns=START)
PLAIN = Scenario(objects=OBJECTS, start_ns=START, seconds=3, radar_rate=40, optical_rate=10, satellites=5)

ISS = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)
"""The element set of the documentation of `sgp4`, which also tells where it is on 2019-12-09 at 20:42:09.072."""


def observed(given: list[Emission], kind: SourceKind) -> ObservationColumns:
    """What the edge would make of it; nothing may be refused."""
    screen = Screen(rules(Catalog(known=frozenset(OBJECTS.numbers.tolist()))))
    chosen = [each for each in given if each.kind is kind]
    decoded: list[Candidates] = []
    for each in chosen:
        if each.record is not None:
            found = optical_record.decode(json.dumps([each.record]).encode(), each.at_ns)
            assert isinstance(found, Candidates)
            decoded.append(found)
        elif kind is RADAR:
            decoded.append(radar_frame.decode(each.data, each.at_ns))
        else:
            decoded.append(isl_frame.decode([each.data[4:]], each.at_ns))
    screened = [screen(each) for each in decoded]
    assert not [refusal for each in screened for refusal in each.refused]
    return joined([each.good for each in screened])


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    assert list(emissions(PLAIN)) == list(emissions(PLAIN))
    assert list(emissions(PLAIN)) != list(emissions(replace(PLAIN, seed=2)))


def test_all_networks_send_what_the_edge_takes_in_order_of_leaving() -> None:
    given = list(emissions(PLAIN))
    assert all(one.at_ns <= other.at_ns for one, other in pairwise(given))
    for kind in (RADAR, OPTICAL, ISL):
        columns = observed(given, kind)
        assert len(columns) > 10
        assert len({each.tobytes() for each in columns.records["observation_id"]}) == len(columns)
    assert len(observed(given, ISL)) == 15


def test_a_real_element_set_is_where_it_is_known_to_be() -> None:
    ((x, y, z, *velocity),) = from_tle([ISS]).states(1_575_924_129_072_000_000)
    assert (x, y, z) == pytest.approx((-6_102_443, -986_332, -2_820_313), abs=1.0)
    assert velocity == pytest.approx((-1_455, -5_525, 5_105), abs=5.0)


def test_a_radar_sees_the_object_where_sgp4_has_it() -> None:
    site = Site.at("here", 10.0, 20.0, 100.0)
    times = START + np.arange(5) * SECOND
    truth = OBJECTS.states_of(7, times)
    distance, _, azimuth, elevation = radar_view(site, times, truth).T
    east, north, up = np.moveaxis(site.horizon(times), 1, 0)
    direction = (
        (np.cos(elevation) * np.sin(azimuth))[:, None] * east
        + (np.cos(elevation) * np.cos(azimuth))[:, None] * north
        + np.sin(elevation)[:, None] * up
    )
    assert site.states(times)[:, :3] + distance[:, None] * direction == pytest.approx(truth[:, :3], abs=0.01)


def test_the_range_rate_is_how_fast_the_range_grows() -> None:
    site = Site.at("here", 10.0, 20.0)
    times = START + np.array([0, SECOND // 2, SECOND])
    view = radar_view(site, times, OBJECTS.states_of(7, times))
    assert view[2, 0] - view[0, 0] == pytest.approx(view[1, 1], rel=1e-5)


def test_a_telescope_looks_where_the_object_is() -> None:
    site = Site.at("here", -30.0, 100.0)
    times = START + np.arange(3) * SECOND
    truth = OBJECTS.states_of(9, times)
    right_ascension, declination = optical_view(site, times, truth).T
    towards = truth[:, :3] - site.states(times)[:, :3]
    unit = towards / np.linalg.norm(towards, axis=1)[:, None]
    looked = np.stack(
        [
            np.cos(declination) * np.cos(right_ascension),
            np.cos(declination) * np.sin(right_ascension),
            np.sin(declination),
        ],
        axis=1,
    )
    assert looked == pytest.approx(unit, abs=1e-12)


def test_the_site_turns_with_the_earth() -> None:
    site = Site.at("here", 10.0, 20.0)
    before, now, after = site.states(START + np.array([-SECOND, 0, SECOND]))
    assert (after[:3] - before[:3]) / 2 == pytest.approx(now[3:], abs=1e-3)
    sidereal_day = site.states(np.array([START, START + 86_164_090_530_833]))
    assert sidereal_day[0] == pytest.approx(sidereal_day[1], abs=0.1)


def test_a_beacon_without_noise_is_the_state_of_its_satellite() -> None:
    columns = observed(list(emissions(replace(PLAIN, noise=EXACT, seconds=1))), ISL)
    first = columns.records[columns.records["values"][:, 0].argsort()][0]
    number = int(columns.object_ids[int(columns.records["values"][:, 0].argmin())].as_py())
    place = OBJECTS.numbers.tolist().index(number)
    (truth,) = OBJECTS.states_of(place, np.array([first["sensor_ts_ns"]]))
    assert first["values"] == pytest.approx(truth, abs=20.0)  # the clock of the satellite is off by up to a millisecond


def test_sensors_see_only_what_is_above_their_horizon() -> None:
    columns = observed(list(emissions(replace(PLAIN, noise=EXACT))), RADAR)
    assert columns.records["values"][:, 3].min() > 0.03
    assert set(columns.object_ids.to_pylist()) <= {str(number) for number in OBJECTS.numbers.tolist()}


def test_in_a_burst_radar_sees_ten_times_as_much() -> None:
    def frames(second: int, scenario: Scenario) -> int:
        times = observed(list(emissions(scenario)), RADAR).records["sensor_ts_ns"]
        return int(np.count_nonzero((times - START) // SECOND == second))

    burst = replace(PLAIN, noise=EXACT, bursts=[Burst(Span(1, 2))])
    assert frames(1, burst) == 10 * frames(1, replace(PLAIN, noise=EXACT))
    assert frames(2, burst) == frames(2, replace(PLAIN, noise=EXACT))


def test_in_an_outage_radar_is_lost_and_all_else_comes_at_its_end() -> None:
    outages = [Outage(kind, Span(1, 2)) for kind in (RADAR, OPTICAL, ISL)]
    quick = replace(PLAIN, outages=outages, noise=EXACT, optical_delay_s=(0.0, 0.001), isl_delay_s=(0.0, 0.001))
    given = list(emissions(quick))
    times = observed(given, RADAR).records["sensor_ts_ns"]
    assert not np.any((times - START) // SECOND == 1)
    for kind in (OPTICAL, ISL):
        leaving = [each.at_ns for each in given if each.kind is kind]
        assert not [at for at in leaving if START + 1.01 * SECOND <= at < START + 2 * SECOND]
        assert leaving.count(START + 2 * SECOND) >= 5


def test_duplicates_are_the_same_bytes_a_little_later() -> None:
    given = [each for each in emissions(replace(PLAIN, duplicates=1.0)) if each.kind is not OPTICAL]
    data = [each.data for each in given]
    assert len(data) == 2 * len(set(data))


def test_several_frames_go_into_one_datagram() -> None:
    packed = [each for each in emissions(replace(PLAIN, frames_per_datagram=23)) if each.kind is RADAR]
    assert {len(each.data) for each in packed} == {23 * 64, 17 * 64}
    assert len(observed(packed, RADAR)) == len(observed(list(emissions(PLAIN)), RADAR))


def test_nothing_is_later_than_its_network_allows() -> None:
    given = list(emissions(PLAIN))
    for kind, most in ((RADAR, 0.1), (OPTICAL, 30.0), (ISL, 10.0)):
        records = observed(given, kind).records
        assert (records["ingest_ts_ns"] - records["sensor_ts_ns"]).max() < most * SECOND
