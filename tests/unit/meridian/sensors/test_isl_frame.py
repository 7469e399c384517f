"""The frame of the inter-satellite links: its bytes, where frames begin, and what is no frame."""

from __future__ import annotations

import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.sensors import ClockQuality, Screen, StateVector, Uncertainty, standard_rules, to_observations
from meridian.sensors.isl_frame import (
    FRAME_MAX,
    NEVER_SYNCED,
    Beacon,
    Oversized,
    Splitter,
    ack,
    acknowledged,
    decode,
    framed,
)
from meridian.sensors.screening import ErrorKind
from meridian.sensors.validation import Catalog

AT = 1_760_000_000_123_456_789
BEACON = Beacon(
    satellite_id=900,
    beacon=17,
    timestamp_ns=AT,
    position_m=(7e6, 1.5, -2.5),
    velocity_m_s=(0.25, 7.5e3, -1.0),
    sigma_m=2.5,
    time_since_sync_s=120,
)
LAYOUT = struct.Struct("<B3xIIQ3d3dfI")
"""As docs/reference/wire-formats.md draws it up to the checksum, written down a second time."""


def body(version: int = 1, at: int = AT, satellite: int = 900, x: float = 7e6, sigma: float = 2.5) -> bytes:
    checked = LAYOUT.pack(version, satellite, 17, at, x, 1.5, -2.5, 0.25, 7.5e3, -1.0, sigma, 120)
    return checked + struct.pack("<I", google_crc32c.value(checked))


def test_senders_write_the_layout_that_is_documented() -> None:
    assert BEACON.to_bytes() == struct.pack("<I", 80) + body()


def test_a_known_frame_becomes_exactly_these_values() -> None:
    (seen,) = to_observations(Screen(standard_rules(Catalog()))(decode([body()], AT + 5)).good)
    assert seen.target == StateVector((7e6, 1.5, -2.5), (0.25, 7.5e3, -1.0))
    assert (seen.source_id, seen.source_kind, seen.target_object_id) == ("isl-900", "InterSatelliteLink", "900")
    assert (seen.sensor_ts_ns, seen.ingest_ts_ns) == (AT, AT + 5)
    assert (seen.uncertainty, seen.clock_quality) == (Uncertainty(2.5), ClockQuality("OnboardDrift", 120))


def test_a_satellite_that_never_set_its_clock_has_one_that_nobody_knows() -> None:
    never = Beacon(**{name: getattr(BEACON, name) for name in BEACON.__slots__} | {"time_since_sync_s": NEVER_SYNCED})
    (seen,) = to_observations(Screen()(decode([never.to_bytes()[4:]], AT)).good)
    assert seen.clock_quality == ClockQuality("Unknown", 0)


@pytest.mark.req("ING-09", "DLQ-04")
@pytest.mark.parametrize(
    ("wrong", "kind", "reason"),
    [
        (body(version=2), ErrorKind.SCHEMA_MISMATCH, "version 2"),
        (body()[:-1], ErrorKind.DESERIALIZATION, "80 bytes, and this one 79"),
        (b"", ErrorKind.DESERIALIZATION, "this one 0"),
        (body()[:-1] + b"\xff", ErrorKind.DESERIALIZATION, "checksum"),
        (body(at=0), ErrorKind.DESERIALIZATION, "time of the frame"),
        (body(satellite=0), ErrorKind.DESERIALIZATION, "no satellite"),
        (body(x=float("nan")), ErrorKind.DESERIALIZATION, "position_m"),
        (body(sigma=float("inf")), ErrorKind.DESERIALIZATION, "sigma_m"),
    ],
)
def test_a_frame_that_means_nothing_is_refused_and_its_neighbours_are_not(
    wrong: bytes, kind: ErrorKind, reason: str
) -> None:
    result = Screen()(decode([body(), wrong, body(at=AT + 1)], AT))
    assert [seen.sensor_ts_ns for seen in to_observations(result.good)] == [AT, AT + 1]
    (refusal,) = result.refused
    assert (refusal.kind, refusal.payload) == (kind, wrong)
    assert reason in refusal.reason


@given(st.lists(st.binary(max_size=200), max_size=20), st.data())
def test_frames_are_found_however_the_bytes_are_cut(bodies: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(framed(each) for each in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    splitter, found = Splitter(), []
    for start, stop in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        complete, oversized = splitter.feed(wire[start:stop])
        assert oversized is None
        found += complete
    assert found == bodies


@pytest.mark.req("ING-09")
def test_a_length_that_no_frame_can_have_ends_the_search_behind_the_frames_before_it() -> None:
    largest = bytes(FRAME_MAX)
    bodies, oversized = Splitter().feed(framed(largest) + struct.pack("<I", FRAME_MAX + 1) + b"more")
    assert bodies == [largest]
    assert oversized == Oversized(FRAME_MAX + 1)


@given(st.lists(st.binary(max_size=100) | st.just(body()), max_size=10))
def test_any_frames_are_observations_or_refusals_and_never_an_error(bodies: list[bytes]) -> None:
    result = Screen(standard_rules(Catalog()))(decode(bodies, AT))
    assert len(result.good) + len(result.refused) == len(bodies)


@given(st.binary(max_size=3000))
def test_any_stream_is_frames_a_rest_or_an_oversized_length(data: bytes) -> None:
    bodies, _ = Splitter().feed(data)
    assert sum(4 + len(each) for each in bodies) <= len(data)


def test_an_answer_counts_what_is_settled() -> None:
    assert acknowledged(ack(2**40 + 3)) == 2**40 + 3
