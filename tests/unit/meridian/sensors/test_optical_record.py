"""The records of the optical archive: what they become, and that no answer makes the decoder raise."""

from __future__ import annotations

import json
from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.sensors import Angular, ClockQuality, Screen, standard_rules, to_observations
from meridian.sensors.optical_record import Unreadable, decode
from meridian.sensors.screening import Candidates, ErrorKind, Screened
from meridian.sensors.validation import Catalog

AT = 1_760_000_000_123_456_789
RECORD = {
    "obs_id": "0001", "timestamp_ns": AT, "ra_rad": 1.25, "dec_rad": -0.5, "sigma_arcsec": 2.0, "site_id": "maui",
}  # fmt: skip


def screened(records: list[object]) -> Screened:
    decoded = decode(json.dumps(records).encode(), AT + 5)
    assert isinstance(decoded, Candidates)
    return Screen(standard_rules(Catalog()))(decoded)


@pytest.mark.req("ENV-02", "ENV-09")
def test_a_known_record_becomes_exactly_these_values() -> None:
    (seen,) = to_observations(screened([RECORD]).good)
    assert seen.target == Angular(1.25, -0.5)
    assert seen.uncertainty.sigma == pytest.approx(2.0 * pi / 648_000, rel=1e-15)
    assert (seen.source_id, seen.source_kind, seen.target_object_id) == ("optical-maui", "Optical", None)
    assert (seen.sensor_ts_ns, seen.ingest_ts_ns) == (AT, AT + 5)
    assert seen.clock_quality == ClockQuality("NtpSynced", 0)


def test_a_site_may_say_how_old_its_time_is() -> None:
    (seen,) = to_observations(screened([RECORD | {"sync_age_s": 600}]).good)
    assert seen.clock_quality == ClockQuality("NtpSynced", 600)


@pytest.mark.req("ENV-05")
def test_a_record_is_the_same_whatever_else_it_says() -> None:
    one, mended, elsewhere = to_observations(
        screened([RECORD, RECORD | {"ra_rad": 1.26}, RECORD | {"site_id": "rota"}]).good
    )
    assert one.observation_id == mended.observation_id != elsewhere.observation_id


@pytest.mark.req("ING-04")
def test_the_order_of_the_answer_is_kept() -> None:
    records: list[object] = [RECORD | {"obs_id": str(number)} for number in range(50)]
    ids = screened(records).good.records["observation_id"]
    assert ids.tolist() == [screened([record]).good.records["observation_id"][0].tolist() for record in records]


@pytest.mark.parametrize(
    ("record", "kind", "reason"),
    [
        ({"obs_id": "1"}, ErrorKind.SCHEMA_MISMATCH, "timestamp_ns: Field required"),
        (RECORD | {"right_ascension": 1.0}, ErrorKind.SCHEMA_MISMATCH, "right_ascension"),
        (RECORD | {"timestamp_ns": "now"}, ErrorKind.SCHEMA_MISMATCH, "timestamp_ns"),
        ("text", ErrorKind.SCHEMA_MISMATCH, "the record"),
        (RECORD | {"timestamp_ns": 0}, ErrorKind.DESERIALIZATION, "timestamp_ns"),
        (RECORD | {"ra_rad": float("nan")}, ErrorKind.DESERIALIZATION, "ra_rad"),
        (RECORD | {"dec_rad": 1.6}, ErrorKind.VALIDATION_FAILED, "the declination"),
        (RECORD | {"ra_rad": 7.0}, ErrorKind.VALIDATION_FAILED, "the right ascension"),
        (RECORD | {"sigma_arcsec": 0.0}, ErrorKind.VALIDATION_FAILED, "the uncertainty"),
    ],
)
def test_a_wrong_record_is_refused_and_its_neighbours_are_not(record: object, kind: ErrorKind, reason: str) -> None:
    result = screened([RECORD, record, RECORD | {"obs_id": "2"}])
    assert len(result.good) == 2
    (refusal,) = result.refused
    assert refusal.kind is kind
    assert refusal.reason.startswith(reason)
    assert refusal.payload == json.dumps(record, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"<html>", ErrorKind.DESERIALIZATION),
        (b"[" * 100_000, ErrorKind.DESERIALIZATION),
        (b"\xff", ErrorKind.DESERIALIZATION),
        (b'{"records": []}', ErrorKind.SCHEMA_MISMATCH),
        (b"null", ErrorKind.SCHEMA_MISMATCH),
    ],
)
def test_an_answer_that_is_no_array_is_refused_as_a_whole(answer: bytes, kind: ErrorKind) -> None:
    decoded = decode(answer, AT)
    assert isinstance(decoded, Unreadable)
    assert (decoded.refusal.kind, decoded.refusal.payload) == (kind, answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*RECORD, "more"]), inner, max_size=7),
    max_leaves=20,
)
ODD_RECORDS = st.fixed_dictionaries({name: JSON | st.just(value) for name, value in RECORD.items()})


@given(st.lists(ODD_RECORDS | JSON, max_size=6))
def test_any_array_is_observations_and_refusals_and_never_an_error(records: list[object]) -> None:
    result = screened(records)
    assert len(result.good) + len(result.refused) == len(records)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(body: bytes) -> None:
    assert isinstance(decode(body, AT), Candidates | Unreadable)


LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("before", "odd", "reason", "kept"),
    [
        ('"obs_id":"1"', '"obs_id":"1","obs_id":"2"', "the record: a key comes twice", '["obs_id","2"]'),
        (f'"timestamp_ns":{AT}', f'"timestamp_ns":{LONG}', "timestamp_ns: ", f'"timestamp_ns":"{LONG}"'),
        ('"ra_rad":1.25', f'"ra_rad":-{LONG}', "ra_rad: ", f'"ra_rad":"-{LONG}"'),
        ('"obs_id":"1"', f'"obs_id":{LONG}', "obs_id: ", f'"obs_id":"{LONG}"'),
        ('"site_id":"maui"', '"site_id":{"a":1,"a":2}', "site_id: ", '"site_id":[["a",1],["a",2]]'),
    ],
)
def test_what_json_allows_and_no_field_takes_costs_one_record(before: str, odd: str, reason: str, kept: str) -> None:
    """A number of 5,000 digits made the whole answer unreadable, and of a key that came twice the second won."""
    good = json.dumps(RECORD, separators=(",", ":"))
    first = json.dumps(RECORD | {"obs_id": "1"}, separators=(",", ":"))
    assert before in first
    decoded = decode(f"[{first.replace(before, odd)},{good}]".encode(), AT)
    assert isinstance(decoded, Candidates)
    assert len(decoded.raw) == 1
    (refusal,) = decoded.refused
    assert refusal.kind is ErrorKind.SCHEMA_MISMATCH
    assert refusal.reason.startswith(reason)
    assert kept in refusal.payload.decode()
