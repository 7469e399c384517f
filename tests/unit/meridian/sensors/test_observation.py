"""The envelope: what it holds, that it comes back as it was, and that its id follows from the sensor's bytes."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.log import Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import InvalidPush, UnknownFormat
from meridian.sensors import (
    NAMESPACE,
    Angular,
    ClockQuality,
    Observation,
    RangeRate,
    SourceKind,
    StateVector,
    Uncertainty,
    columns_of,
    events_of,
    from_json,
    from_observations,
    max_skews_ns,
    observation_ids,
    to_arrow,
    to_observations,
)
from meridian.sensors.auditing import probes
from meridian.sensors.event_log import observation_of
from meridian.sensors.identity import id_texts

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VECTORS = st.tuples(FLOATS, FLOATS, FLOATS)
TARGETS = {
    "Radar": st.builds(RangeRate, FLOATS, FLOATS, FLOATS, FLOATS),
    "Optical": st.builds(Angular, FLOATS, FLOATS),
    "InterSatelliteLink": st.builds(StateVector, VECTORS, VECTORS),
}
PREFIXES = {"Radar": "radar-", "Optical": "optical-", "InterSatelliteLink": "isl-"}


def observations_of(kind: str) -> st.SearchStrategy[Observation]:
    return st.builds(
        Observation,
        observation_id=st.uuids().map(str),
        source_id=st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True).map(PREFIXES[kind].__add__),
        source_kind=st.just(kind),
        sensor_ts_ns=st.integers(0, 2**63 - 1),
        ingest_ts_ns=st.integers(0, 2**63 - 1),
        target=TARGETS[kind],
        uncertainty=st.builds(Uncertainty, FLOATS),
        clock_quality=st.builds(
            ClockQuality,
            st.sampled_from(["Unknown", "GpsLocked", "NtpSynced", "OnboardDrift"]),
            st.integers(0, 2**32 - 1),
        ),
        target_object_id=st.none() | st.text(max_size=9),
    )


OBSERVATIONS = st.sampled_from(sorted(TARGETS)).flatmap(observations_of)

SEEN = Observation(
    observation_id="5b0c3c4e-6d0f-5d43-9a35-0b4f5f4d2f01",
    source_id="radar-7",
    source_kind="Radar",
    sensor_ts_ns=1_760_000_000_123_456_789,
    ingest_ts_ns=1_760_000_000_223_456_789,
    target=RangeRate(912_345.25, -6_021.5, 1.25, 0.5),
    uncertainty=Uncertainty(12.5),
    clock_quality=ClockQuality("GpsLocked"),
    target_object_id="25544",
)


@pytest.mark.req("ENV-01")
@given(OBSERVATIONS)
def test_json_gives_back_what_was_written(observation: Observation) -> None:
    assert from_json(observation.to_json()) == observation


@pytest.mark.req("ENV-01")
def test_the_envelope_has_the_fields_that_are_promised() -> None:
    assert json.loads(SEEN.to_json()) == {
        "observation_id": "5b0c3c4e-6d0f-5d43-9a35-0b4f5f4d2f01",
        "source_id": "radar-7",
        "source_kind": "Radar",
        "target_object_id": "25544",
        "sensor_ts_ns": 1760000000123456789,
        "ingest_ts_ns": 1760000000223456789,
        "target": {
            "kind": "RangeRate",
            "range_m": 912345.25,
            "range_rate_m_s": -6021.5,
            "az_rad": 1.25,
            "el_rad": 0.5,
        },
        "uncertainty": {"sigma": 12.5},
        "clock_quality": {"kind": "GpsLocked", "age_s": 0},
        "schema_version": 1,
    }


@pytest.mark.req("ENV-03")
@given(st.lists(OBSERVATIONS, max_size=5))
def test_columns_keep_every_form_as_it_was_measured(observations: list[Observation]) -> None:
    assert to_observations(from_observations(observations)) == observations


@pytest.mark.req("ENV-03", "ENV-07")
@given(st.lists(OBSERVATIONS, min_size=1, max_size=5))
def test_events_of_a_log_give_back_the_observations(observations: list[Observation]) -> None:
    events = events_of(from_observations(observations), "obs.radar")
    assert events.schema.equals(CAPTURED)
    assert to_observations(columns_of(events.slice(len(observations) // 2))) == observations[len(observations) // 2 :]


def test_an_event_names_the_sensor_the_object_and_the_time() -> None:
    (event,) = events_of(from_observations([SEEN]), "obs.radar").to_pylist()
    assert (event["source"], event["table"], event["key"]) == ("obs.radar", "radar-7", "25544")
    assert (event["event_id"], event["position"]) == (SEEN.observation_id, "1760000000123456789")
    assert event["event_time"].microsecond == 123456


@pytest.mark.req("ENV-07")
def test_nanoseconds_survive_the_log(tmp_path: Path) -> None:
    columns = from_observations([SEEN])
    with Inbox.open(tmp_path, name="obs.radar", epoch=1) as inbox:
        inbox.push(events_of(columns, "obs.radar"), keys=columns.keys()).result()
    with InboxReader.open(tmp_path) as reader:
        (batch,) = reader.read(0)
    assert to_observations(columns_of(batch.select(CAPTURED.names))) == [SEEN]


@pytest.mark.req("ENV-05")
def test_a_log_takes_an_observation_once(tmp_path: Path) -> None:
    columns = from_observations([SEEN])
    with Inbox.open(tmp_path, name="obs.radar", epoch=1) as inbox:
        for _ in range(2):
            inbox.push(events_of(columns, "obs.radar"), keys=columns.keys()).result()
        assert inbox.end() == 1


def test_typed_columns_hold_the_same_numbers() -> None:
    (row,) = to_arrow(from_observations([SEEN])).to_pylist()
    assert row["observation_id"] == SEEN.observation_id
    assert row["source_kind"] == "Radar"
    assert row["sensor_ts_ns"] == SEEN.sensor_ts_ns
    assert [row[f"value_{place}"] for place in range(6)] == [912_345.25, -6_021.5, 1.25, 0.5, 0.0, 0.0]
    assert (row["sigma"], row["target_object_id"]) == (12.5, "25544")


def test_payloads_that_are_no_records_are_refused() -> None:
    events = events_of(from_observations([SEEN]), "obs.radar")
    place = CAPTURED.get_field_index("payload")
    short = events.set_column(place, "payload", pa.array([b"short"]))
    with pytest.raises(UnknownFormat, match="another size"):
        columns_of(short)
    newer = bytearray(events["payload"][0].as_py())
    newer[0] = 2
    with pytest.raises(UnknownFormat, match="version 2"):
        columns_of(events.set_column(place, "payload", pa.array([bytes(newer)])))


@pytest.mark.req("ENV-05")
@given(st.lists(st.binary(max_size=80), max_size=6), st.sampled_from(SourceKind))
def test_an_id_is_a_version_5_uuid_of_the_kind_and_the_bytes(natives: list[bytes], kind: SourceKind) -> None:
    expected = [
        str(
            uuid.UUID(
                bytes=hashlib.sha1(NAMESPACE.bytes + kind.label.encode() + b"\n" + native).digest()[:16], version=5
            )
        )
        for native in natives
    ]
    assert id_texts(observation_ids(kind, natives)).to_pylist() == expected


@pytest.mark.req("ENV-05")
def test_an_id_never_changes() -> None:
    ids = observation_ids(SourceKind.OPTICAL, [b"maui\n0001"])
    assert str(uuid.UUID(bytes=ids[0].tobytes())) == "95180e6b-70f7-5e4b-9ea0-f30b6ce9e226"


@pytest.mark.req("ENV-02")
@pytest.mark.parametrize(
    ("kind", "sensor"), [("Radar", "optical-1"), ("Optical", "maui"), ("InterSatelliteLink", "isl-")]
)
def test_a_sensor_is_named_by_its_kind(kind: str, sensor: str) -> None:
    text = SEEN.to_json().replace('"Radar"', f'"{kind}"').replace('"radar-7"', f'"{sensor}"')
    with pytest.raises(InvalidPush, match="no sensor of the kind"):
        from_json(text)


@pytest.mark.req("ENV-02")
def test_a_kind_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidPush, match="source_kind"):
        from_json(SEEN.to_json().replace('"Radar"', '"Sonar"'))


@pytest.mark.parametrize("text", ["", "{}", "[]", SEEN.to_json()[:-1] + ', "more": 1}', "null"])
def test_a_text_that_is_no_observation_is_refused(text: str) -> None:
    with pytest.raises(InvalidPush):
        from_json(text)


@pytest.mark.req("EVT-02")
@pytest.mark.parametrize(
    ("clock", "skew"),
    [
        (ClockQuality("GpsLocked", 999), 1_000),
        (ClockQuality("NtpSynced", 59), 10_000_000),
        (ClockQuality("NtpSynced", 60), 11_000_000),
        (ClockQuality("NtpSynced", 600), 20_000_000),
        (ClockQuality("OnboardDrift", 120), 12_000_000),
        (ClockQuality("OnboardDrift", 3600), 360_000_000),
        (ClockQuality("Unknown", 5), 5_000_000_000),
    ],
)
def test_a_clock_may_be_off_by_so_much(clock: ClockQuality, skew: int) -> None:
    assert clock.max_skew_ns == skew
    records = from_observations([SEEN]).records.copy()
    records["clock"] = ["Unknown", "GpsLocked", "NtpSynced", "OnboardDrift"].index(clock.kind)
    records["clock_age_s"] = clock.age_s
    assert max_skews_ns(records).tolist() == [skew]


def test_the_largest_age_of_a_clock_does_not_overflow() -> None:
    records = np.repeat(from_observations([SEEN]).records, 1)
    records["clock"], records["clock_age_s"] = 3, 2**32 - 1
    assert max_skews_ns(records).tolist() == [100_000 * (2**32 - 1)]


@pytest.mark.parametrize(
    "change",
    [
        ('"observation_id"', '"observation_id":"other","observation_id"'),
        ('"sigma"', '"sigma":2.5,"sigma"'),
        ('"sensor_ts_ns":', f'"sensor_ts_ns":{"9" * 5_000}'),
        ('"target":', '"target":' + "[" * 100_000),
    ],
)
def test_a_line_with_a_key_twice_or_that_json_cannot_convert_is_refused(change: tuple[str, str]) -> None:
    line = to_observations(probes(SourceKind.RADAR))[0].to_json()
    assert observation_of(line).source_kind == "Radar"
    with pytest.raises(InvalidPush, match="This is no observation"):
        observation_of(line.replace(*change, 1))
