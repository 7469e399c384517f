"""The event log: every observation of an edge on exactly one line of JSON, whatever ends the process that writes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.event_log_process import made, run

from holdfast.log import Inbox
from holdfast.model.errors import InvalidPush
from holdfast.sinks import Files
from meridian.sensors import Observation, SourceKind, events_of, from_observations, heartbeat
from meridian.sensors.auditing import probes
from meridian.sensors.columns import to_observations
from meridian.sensors.event_log import ROTATE_AT, event_log, lines, observation_of
from meridian.sensors.observation import Angular, ClockQuality, RangeRate, StateVector, Uncertainty

AT = 1_760_000_000_123_456_789
LOGS = {SourceKind.RADAR: "obs.radar-1", SourceKind.OPTICAL: "obs.optical", SourceKind.INTER_SATELLITE_LINK: "obs.isl"}
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def observed(kind: SourceKind, count: int) -> list[Observation]:
    """So many different observations of a kind."""
    (like, *_), chance = to_observations(probes(kind)), random.Random(int(kind))
    return [
        replace(
            like,
            observation_id=f"{number:08x}-000{int(kind)}-5000-8000-000000000000",
            sensor_ts_ns=AT + number,
            target_object_id=None if number % 3 else str(25544 + number),
            uncertainty=Uncertainty(chance.random()),
        )
        for number in range(count)
    ]


def take_in(directory: Path, kind: SourceKind, observations: list[Observation], *, at_once: int = 50) -> None:
    """Put observations into the log of their kind as an edge does, with heartbeats between them."""
    log = LOGS[kind]
    with Inbox.open(directory / log, name=log, epoch=1, flush_interval=0.0) as inbox:
        for start in range(0, len(observations), at_once):
            inbox.push(events_of(from_observations(observations[start : start + at_once]), log)).result()
            beat = heartbeat(kind, log.removeprefix("obs."), through_ns=AT, now_ns=AT)
            inbox.push(events_of(beat, log)).result()


def files(directory: Path) -> list[Path]:
    """The files that have their names."""
    return sorted(path for path in (directory / "events").glob("*") if not path.name.startswith("."))


def read(directory: Path) -> list[Observation]:
    """The observations of all files; every line has to be whole."""
    texts = [path.read_text() for path in files(directory)]
    assert all(text.endswith("\n") for text in texts)
    return [observation_of(line) for text in texts for line in text.splitlines()]


def by_id(observations: list[Observation]) -> list[Observation]:
    return sorted(observations, key=lambda each: each.observation_id)


@pytest.mark.req("ING-12", "ENV-01")
def test_every_observation_is_on_one_line_and_no_heartbeat_is(tmp_path: Path) -> None:
    given_in = [each for kind in LOGS for each in observed(kind, 200)]
    for kind in LOGS:
        take_in(tmp_path / "edge", kind, observed(kind, 200))
    run(made(tmp_path / "edge", tmp_path, *LOGS.values()))
    assert by_id(read(tmp_path)) == by_id(given_in)


@pytest.mark.timeout(300)
@pytest.mark.req("ING-12")
def test_killed_in_the_middle_again_and_again_every_observation_is_on_one_line(tmp_path: Path) -> None:
    given_in = [each for kind in LOGS for each in observed(kind, 3000)]
    for kind in LOGS:
        take_in(tmp_path / "edge", kind, observed(kind, 3000))
    command = [
        sys.executable, "-m", "tests.support.event_log_process", str(tmp_path / "edge"), str(tmp_path), *LOGS.values(),
    ]  # fmt: skip
    for kill in range(3):
        before = len(files(tmp_path))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            while len(files(tmp_path)) < before + 3 and process.poll() is None:
                time.sleep(0.001)
            assert process.poll() is None, f"it had ended before kill {kill}"
            process.kill()
    assert 0 < len(read(tmp_path)) < len(given_in)
    subprocess.run(command, check=True, stdout=subprocess.PIPE)
    assert by_id(read(tmp_path)) == by_id(given_in)


@pytest.mark.req("ING-12")
def test_a_file_that_is_full_is_followed_by_another_and_no_line_is_cut(tmp_path: Path) -> None:
    given_in = observed(SourceKind.RADAR, 40_000)
    take_in(tmp_path / "edge", SourceKind.RADAR, given_in, at_once=40_000)
    run(made(tmp_path / "edge", tmp_path, LOGS[SourceKind.RADAR], batch=100_000))
    names = [path.name.rpartition("-")[2] for path in files(tmp_path)]
    assert names[:3] == ["0000.jsonl", "0001.jsonl", "0002.jsonl"]
    ids = [json.loads(line)["observation_id"] for path in files(tmp_path) for line in path.read_text().splitlines()]
    assert ids == [each.observation_id for each in given_in]


@pytest.mark.req("ING-12")
def test_a_file_is_full_at_64_mebibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Noted(Files):
        def __init__(self, *given: object, rotate_at: int, **named: object) -> None:
            sizes.append(rotate_at)
            super().__init__(*given, rotate_at=rotate_at, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("meridian.sensors.event_log.Files", Noted)
    event_log(tmp_path)
    assert sizes == [ROTATE_AT] == [64 * 1024 * 1024]


def line_of(observation: Observation) -> str:
    """The line, as the sink writes it."""
    from holdfast.sinks.columns.jsontext import json_lines

    (text,) = json_lines(lines(events_of(from_observations([observation]), "obs"))).to_pylist()
    return str(text)


@pytest.mark.req("ING-12", "ENV-01", "ENV-07")
@given(a=FLOATS, b=FLOATS, c=FLOATS, nanoseconds=st.integers(0, 2**63 - 1), age=st.integers(0, 2**32 - 1))
def test_a_line_gives_back_what_was_observed(a: float, b: float, c: float, nanoseconds: int, age: int) -> None:
    targets = {
        SourceKind.RADAR: RangeRate(a, b, c, a),
        SourceKind.OPTICAL: Angular(a, b),
        SourceKind.INTER_SATELLITE_LINK: StateVector((a, b, c), (c, b, a)),
    }
    for kind, target in targets.items():
        (like,) = observed(kind, 1)
        observation = replace(
            like,
            target=target,
            sensor_ts_ns=nanoseconds,
            ingest_ts_ns=nanoseconds,
            uncertainty=Uncertainty(b),
            clock_quality=ClockQuality("NtpSynced", age),
        )
        assert observation_of(line_of(observation)) == observation


def test_a_line_can_be_read_by_people() -> None:
    (like,) = observed(SourceKind.OPTICAL, 1)
    told = json.loads(line_of(replace(like, uncertainty=Uncertainty(0.25))))
    assert told == {
        "observation_id": "00000000-0002-5000-8000-000000000000",
        "source_id": "optical-1",
        "source_kind": "Optical",
        "target_object_id": "25544",
        "sensor_ts_ns": AT,
        "ingest_ts_ns": like.ingest_ts_ns,
        "target": {
            "kind": "Angular", "range_m": None, "range_rate_m_s": None, "az_rad": None, "el_rad": None, "ra_rad": 1.0,
            "dec_rad": 0.5, "position_m": None, "velocity_m_s": None,
        },
        "uncertainty": {"sigma": 0.25},
        "clock_quality": {"kind": "GpsLocked", "age_s": 0},
        "schema_version": 1,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["{", "[]", '{"target": 1}', '{"target": {"kind": "Angular"}}'])
def test_a_line_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidPush):
        observation_of(text)
