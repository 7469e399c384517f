"""The radar frame: its bytes, what they become, and that no bytes make the decoder raise."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.sensors import ClockQuality, RangeRate, Screen, Uncertainty, standard_rules, to_observations
from meridian.sensors.radar_frame import FRAME_SIZE, RadarFrame, decode, is_whole
from meridian.sensors.screening import ErrorKind, Screened
from meridian.sensors.validation import Catalog

AT = 1_760_000_000_123_456_789
NOW = AT + 40_000_000
LAYOUT = struct.Struct("<IIQddddff8s")
"""As docs/reference/wire-formats.md draws it, written down a second time."""


def packed(
    array: int = 7,
    track: int = 25544,
    at: int = AT,
    range_m: float = 912_345.25,
    rate: float = -6_021.5,
    azimuth: float = 1.25,
    elevation: float = 0.5,
    sigma: float = 12.5,
    sigma_rate: float = 0.25,
    reserved: bytes = bytes(8),
) -> bytes:
    return LAYOUT.pack(array, track, at, range_m, rate, azimuth, elevation, sigma, sigma_rate, reserved)


def screened(data: bytes, catalog: Catalog | None = None) -> Screened:
    return Screen(standard_rules(catalog or Catalog()))(decode(data, NOW))


@pytest.mark.req("ING-01", "ENV-02", "ENV-09", "ENV-06")
def test_a_known_frame_becomes_exactly_these_values() -> None:
    (seen,) = to_observations(screened(packed()).good)
    assert seen.target == RangeRate(912_345.25, -6_021.5, 1.25, 0.5)
    assert seen.uncertainty == Uncertainty(12.5)
    assert (seen.source_id, seen.source_kind, seen.target_object_id) == ("radar-7", "Radar", "25544")
    assert (seen.sensor_ts_ns, seen.ingest_ts_ns) == (AT, NOW)
    assert seen.clock_quality == ClockQuality("GpsLocked")


@pytest.mark.req("ING-01")
def test_a_datagram_of_several_targets_is_an_observation_for_each() -> None:
    good = screened(packed(track=1) + packed(track=2) + packed(track=3)).good
    assert [seen.target_object_id for seen in to_observations(good)] == ["1", "2", "3"]


def test_a_frame_of_no_known_object_names_none() -> None:
    (seen,) = to_observations(screened(packed(track=0), Catalog(known=frozenset({5}))).good)
    assert seen.target_object_id is None


@pytest.mark.req("ENV-05")
def test_the_same_frame_has_the_same_id_and_another_frame_another() -> None:
    one, again, other = to_observations(screened(packed() + packed() + packed(at=AT + 1)).good)
    assert one.observation_id == again.observation_id != other.observation_id


def test_senders_write_the_layout_that_is_documented() -> None:
    frame = RadarFrame(
        array_id=7,
        target_track_id=25544,
        timestamp_ns=AT,
        range_m=912_345.25,
        range_rate_m_s=-6_021.5,
        azimuth_rad=1.25,
        elevation_rad=0.5,
        sigma_range_m=12.5,
        sigma_rate_m_s=0.25,
    )
    assert frame.to_bytes() == packed()


@pytest.mark.req("ING-02")
@pytest.mark.parametrize(
    ("size", "whole"), [(0, False), (60, False), (63, False), (64, True), (65, False), (1472, True), (1536, False)]
)
def test_a_datagram_is_whole_frames_up_to_the_mtu(size: int, whole: bool) -> None:
    assert is_whole(size) is whole


@pytest.mark.req("DLQ-04")
@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packed(reserved=b"firmware"), "reserved bytes"),
        (packed(at=0), "time of the frame"),
        (packed(at=2**63), "time of the frame"),
        (packed(range_m=float("nan")), "range_m is not a number"),
        (packed(elevation=float("inf")), "elevation_rad is not a number"),
        (packed(sigma_rate=float("nan")), "sigma_rate_m_s is not a number"),
    ],
)
def test_a_frame_that_means_nothing_is_refused_with_its_bytes(frame: bytes, reason: str) -> None:
    result = screened(packed() + frame)
    assert len(result.good) == 1
    (refusal,) = result.refused
    assert (refusal.kind, refusal.payload) == (ErrorKind.DESERIALIZATION, frame)
    assert reason in refusal.reason


@given(st.binary(max_size=40 * FRAME_SIZE).map(lambda data: data[: len(data) // FRAME_SIZE * FRAME_SIZE]))
def test_any_bytes_are_observations_or_refusals_and_never_an_error(data: bytes) -> None:
    result = screened(data, Catalog(known=frozenset({1, 2}), decommissioned=frozenset({3})))
    assert len(result.good) + len(result.refused) == len(data) // FRAME_SIZE
    assert len(to_observations(result.good)) == len(result.good)
