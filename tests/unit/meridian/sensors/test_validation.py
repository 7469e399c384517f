"""What cannot be is refused with its reason: physics, objects and sensors; and what nobody wants is counted."""

from __future__ import annotations

from math import pi

import pytest

from meridian.sensors import (
    Area,
    Bounds,
    Catalog,
    Screen,
    Sensors,
    UnknownObjects,
    isl_frame,
    radar_frame,
    standard_rules,
)
from meridian.sensors.isl_frame import Beacon
from meridian.sensors.radar_frame import RadarFrame
from meridian.sensors.screening import ErrorKind, Refusal, Screened

NOW = 1_760_000_000_000_000_000


def radar(**changes: float) -> bytes:
    values: dict[str, float] = {
        "array_id": 7, "target_track_id": 25544, "timestamp_ns": NOW, "range_m": 9e5, "range_rate_m_s": -6e3,
        "azimuth_rad": 1.0, "elevation_rad": 0.5, "sigma_range_m": 10.0, "sigma_rate_m_s": 0.1,
    }  # fmt: skip
    return RadarFrame(**{**values, **changes}).to_bytes()  # type: ignore[arg-type]


def beacon(position: float = 7e6, speed: float = 7.5e3, satellite: int = 900) -> bytes:
    frame = Beacon(
        satellite_id=satellite, beacon=1, timestamp_ns=NOW,
        position_m=(position, 0.0, 0.0), velocity_m_s=(0.0, speed, 0.0), sigma_m=5.0,
    ).to_bytes()  # fmt: skip
    return frame[4:]


def of_radar(data: bytes, screen: Screen) -> Screened:
    return screen(radar_frame.decode(data, NOW))


def of_satellite(body: bytes, screen: Screen) -> Screened:
    return screen(isl_frame.decode([body], NOW))


def only_refusal(result: Screened) -> Refusal:
    assert len(result.good) == 0
    (refusal,) = result.refused
    assert refusal.kind is ErrorKind.VALIDATION_FAILED
    return refusal


STANDARD = Screen(standard_rules(Catalog()))


@pytest.mark.req("ING-18", "DLQ-04")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"range_m": 0.0}, "the range is out of bounds: 0.0"),
        ({"range_m": -1.0}, "the range is out of bounds"),
        ({"range_m": 1.1e9}, "the range is out of bounds"),
        ({"range_rate_m_s": 15_001.0}, "the range rate is out of bounds: 15001.0"),
        ({"range_rate_m_s": -15_001.0}, "the range rate is out of bounds"),
        ({"azimuth_rad": 6.3}, "the azimuth"),
        ({"elevation_rad": 1.6}, "the elevation"),
        ({"sigma_range_m": 0.0}, "the uncertainty"),
        ({"sigma_range_m": -1.0}, "the uncertainty"),
    ],
)
def test_a_radar_measurement_that_cannot_be_is_refused(changes: dict[str, float], reason: str) -> None:
    frame = radar(**changes)
    refusal = only_refusal(of_radar(frame, STANDARD))
    assert refusal.reason.startswith(reason)
    assert refusal.payload == frame


@pytest.mark.req("DLQ-04")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (beacon(position=6_356_000.0), "below the surface of the Earth"),
        (beacon(speed=299_792_458.0), "not below that of light"),
        (beacon(position=1e200, speed=1e200), "not below that of light"),
    ],
)
def test_a_state_that_cannot_be_is_refused_with_its_bytes(body: bytes, reason: str) -> None:
    refusal = only_refusal(of_satellite(body, STANDARD))
    assert reason in refusal.reason
    assert refusal.payload == body


@pytest.mark.parametrize(
    "frame",
    [radar(range_rate_m_s=15_000.0), radar(range_m=1e9), radar(elevation_rad=pi / 2), radar(azimuth_rad=2 * pi)],
)
def test_a_measurement_at_its_bound_is_taken(frame: bytes) -> None:
    assert len(of_radar(frame, STANDARD).good) == 1


def test_bounds_can_be_set() -> None:
    narrow = Screen(standard_rules(Catalog(), bounds=Bounds(max_range_rate_m_s=5_000.0)))
    assert "range rate" in only_refusal(of_radar(radar(), narrow)).reason


def test_an_object_out_of_service_is_refused() -> None:
    catalog = Catalog(decommissioned=frozenset({900}))
    assert "decommissioned: 900" in only_refusal(of_satellite(beacon(), Screen(standard_rules(catalog)))).reason


def test_an_object_that_nobody_knows_is_refused_unless_it_is_to_be_accepted() -> None:
    known = frozenset({1, 2})
    refuse = Screen(standard_rules(Catalog(known)))
    accept = Screen(standard_rules(Catalog(known, unknown=UnknownObjects.ACCEPT)))
    assert "not in the catalog: 25544" in only_refusal(of_radar(radar(), refuse)).reason
    assert len(of_radar(radar(), accept).good) == 1
    assert len(of_radar(radar(target_track_id=2), refuse).good) == 1


def test_a_sensor_that_nobody_knows_is_refused() -> None:
    screen = Screen(standard_rules(Catalog(), Sensors(frozenset({"radar-1", "radar-2"}))))
    assert "sensor is not known: radar-7" in only_refusal(of_radar(radar(), screen)).reason
    assert len(of_radar(radar(array_id=2), screen).good) == 1


def test_what_lies_outside_of_the_area_of_interest_is_left_out_and_counted() -> None:
    screen = Screen(standard_rules(Catalog()), Area(max_range_m=1e6, min_elevation_rad=0.2))
    result = of_radar(radar() + radar(range_m=2e6) + radar(elevation_rad=0.1), screen)
    assert (len(result.good), result.refused, result.outside) == (1, (), 2)


def test_each_bound_of_an_area_judges_its_own_measurements_only() -> None:
    shell = Screen((), Area(max_radius_m=6.9e6, max_declination_rad=0.1))
    assert of_satellite(beacon(position=7e6), shell).outside == 1
    assert of_satellite(beacon(position=6.8e6), shell).outside == 0
    assert of_radar(radar(), shell).outside == 0


def test_the_first_fault_of_a_row_is_its_reason_and_it_is_refused_once() -> None:
    (refusal,) = of_radar(radar(range_m=-1.0, range_rate_m_s=1e9), STANDARD).refused
    assert "the range is" in refusal.reason
