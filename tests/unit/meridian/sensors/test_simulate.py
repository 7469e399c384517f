"""The simulated networks: true to the orbits, the same from the same seed, and with what goes wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.support import simulated
from tests.support.made_up_objects import EPOCH, made_up_objects

from meridian.orbit import Elements, parse_tle
from meridian.orbit.frames import Floats
from meridian.orbit.propagation import Propagator
from meridian.sensors import ObservationColumns, SourceKind
from meridian.sensors.simulate.emission import Emission
from meridian.sensors.simulate.objects import Objects, synthetic
from meridian.sensors.simulate.scenario import RADARS, TELESCOPES, Burst, Noise, Outage, Scenario, Span, emissions

START = EPOCH
SECOND = 10**9
EXACT = Noise(0, 0, 0, 0, 0, 0, 0, 0)
RADAR, OPTICAL, ISL = SourceKind
ELEMENTS = made_up_objects(300)
OBJECTS = Objects.of(ELEMENTS)
PLAIN = Scenario(objects=OBJECTS, start_ns=START, seconds=3, radar_rate=40, optical_rate=10, satellites=5)
TENTH = SECOND // 10

ISS = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)
"""The element set of the documentation of `sgp4`, which also tells where it is on 2019-12-09 at 20:42:09.072."""


def observed(given: list[Emission], kind: SourceKind, objects: Objects = OBJECTS) -> ObservationColumns:
    """What the edge would make of it; nothing may be refused."""
    return simulated.observed(given, kind, frozenset(objects.numbers.tolist()))


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


def test_made_up_objects_are_the_same_from_the_same_seed_and_stay_in_low_orbits() -> None:
    states = synthetic(seed=4, count=300, epoch_ns=START).at(START + 3600 * SECOND)
    assert np.array_equal(states, synthetic(seed=4, count=300, epoch_ns=START).at(START + 3600 * SECOND))
    assert not np.array_equal(states, synthetic(seed=5, count=300, epoch_ns=START).at(START + 3600 * SECOND))
    heights = np.linalg.norm(states[:, :3], axis=1) - 6_378_135
    assert heights.min() > 330_000
    assert heights.max() < 1_270_000


def test_a_real_element_set_is_where_it_is_known_to_be() -> None:
    ((x, y, z, *velocity),) = Objects.of([parse_tle(*ISS)]).at(1_575_924_129_072_000_000)
    assert (x, y, z) == pytest.approx((-6_102_443, -986_332, -2_820_313), abs=1.0)
    assert velocity == pytest.approx((-1_455, -5_525, 5_105), abs=5.0)


def test_a_radar_sees_the_object_it_names_where_the_catalog_has_it() -> None:
    columns = observed(list(emissions(replace(PLAIN, noise=EXACT))), RADAR)
    sites = {f"radar-{number}": site for number, site in RADARS.items()}
    found = simulated.positions_by_radar(columns, sites)
    assert found == pytest.approx(simulated.positions_by_catalog(columns, ELEMENTS), abs=0.01)
    assert set(columns.source_ids.to_pylist()) == set(sites)


def test_the_range_rate_is_how_fast_the_range_grows() -> None:
    columns = observed(list(emissions(replace(PLAIN, noise=EXACT))), RADAR)
    grown = ranges(columns, TENTH) - ranges(columns, -TENTH)
    assert columns.records["values"][:, 1] == pytest.approx(grown / 0.2, abs=0.02)


def ranges(columns: ObservationColumns, later_ns: int) -> Floats:
    """How far the objects are from the radars a little later, by the catalog."""
    times = columns.records["sensor_ts_ns"] + later_ns
    numbers = [int(source.removeprefix("radar-")) for source in columns.source_ids.to_pylist()]
    stood = [RADARS[number].states(np.array([time]))[0][0] for number, time in zip(numbers, times, strict=True)]
    found: Floats = np.linalg.norm(
        simulated.positions_by_catalog(columns, ELEMENTS, later_ns=later_ns) - np.array(stood), axis=1
    )
    return found


def test_a_telescope_looks_where_an_object_is() -> None:
    columns = observed(list(emissions(replace(PLAIN, noise=EXACT))), OPTICAL)
    assert set(columns.source_ids.to_pylist()) == {"optical-maui", "optical-tenerife"}
    assert columns.object_ids.null_count == len(columns)
    for source, row in zip(columns.source_ids.to_pylist(), columns.records, strict=True):
        time = np.array([row["sensor_ts_ns"]])
        site = TELESCOPES[source.removeprefix("optical-")]
        towards = Propagator(ELEMENTS).states(time).position_m[:, 0] - site.states(time)[0]
        unit = towards / np.linalg.norm(towards, axis=1)[:, None]
        right_ascension, declination = row["values"][:2]
        across = np.cos(declination)
        looked = [across * np.cos(right_ascension), across * np.sin(right_ascension), np.sin(declination)]
        assert np.linalg.norm(unit - looked, axis=1).min() < 1e-8


def test_a_beacon_says_where_the_catalog_has_its_satellite_and_how_fast_it_changes_place() -> None:
    on_time = replace(PLAIN, objects=OBJECTS, noise=EXACT, seconds=1, satellites=1)
    columns = observed(list(emissions(on_time)), ISL)
    assert columns.object_ids.to_pylist() == [ELEMENTS[0].object_id]
    assert columns.source_ids.to_pylist() == [f"isl-{ELEMENTS[0].object_id}"]
    now, before, after = (
        simulated.positions_by_catalog(columns, ELEMENTS, later_ns=later) for later in (0, -TENTH, TENTH)
    )
    assert columns.records["values"][:, :3] == pytest.approx(now, abs=0.01)
    assert columns.records["values"][:, 3:] == pytest.approx((after - before) / 0.2, abs=0.01)


@pytest.mark.parametrize("norad", [5, 25_544, 123_456, 799_500_001])
def test_an_observation_has_the_id_that_the_catalog_has(norad: int) -> None:
    one = replace(overhead(), norad=norad)
    given = list(emissions(replace(PLAIN, objects=Objects.of([one]))))
    for kind in (RADAR, ISL):
        assert set(observed(given, kind, Objects.of([one])).object_ids.to_pylist()) == {one.object_id}


def test_an_object_without_a_number_is_seen_by_radars_without_a_name_and_says_nothing() -> None:
    nameless = Objects.of([replace(overhead(), norad=None, designator="2026-001A")])
    given = list(emissions(replace(PLAIN, objects=nameless)))
    seen = observed(given, RADAR, nameless)
    assert seen.object_ids.null_count == len(seen) > 0
    assert not [each for each in given if each.kind is ISL]


def overhead() -> Elements:
    """An object that a radar sees when the scenario begins."""
    named = observed(list(emissions(PLAIN)), RADAR).object_ids[0].as_py()
    return next(each for each in ELEMENTS if each.object_id == named)


LOW = {"eccentricity": 1e-4, "mean_motion_rev_day": 17.3, "bstar": 0.0}
GONE = {"eccentricity": 1e-4, "mean_motion_rev_day": 16.8, "bstar": 0.1}


@pytest.mark.parametrize("change", [LOW, GONE], ids=["SGP4 tells where it would be", "SGP4 tells nothing"])
def test_an_object_that_has_come_down_is_neither_seen_nor_heard(change: dict[str, float]) -> None:
    fallen = Objects.of([replace(each, **change) for each in ELEMENTS])
    assert list(emissions(replace(PLAIN, objects=fallen, start_ns=START + 86_400 * SECOND))) == []


def test_records_of_a_telescope_have_other_ids_when_a_scenario_is_begun_anew() -> None:
    first, again = (
        {str(each.record["obs_id"]) for each in emissions(replace(PLAIN, start_ns=start)) if each.record}
        for start in (START, START + 10 * SECOND)
    )
    assert first
    assert not first & again


def test_arrays_and_telescopes_are_called_as_the_scenario_calls_them() -> None:
    renamed = replace(PLAIN, radars={7: RADARS[1], 14: RADARS[2]}, telescopes={"hill": TELESCOPES["maui"]})
    given = list(emissions(renamed))
    assert set(observed(given, RADAR).source_ids.to_pylist()) == {"radar-7", "radar-14"}
    assert set(observed(given, OPTICAL).source_ids.to_pylist()) == {"optical-hill"}


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


def test_networks_of_rate_zero_send_nothing() -> None:
    silent = replace(PLAIN, radar_rate=0, optical_rate=0, satellites=0)
    assert list(emissions(silent)) == []


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
