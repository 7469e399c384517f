"""The edge as a process: three networks at once, a gentle end, a kill, and what it tells meanwhile."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.edge_process import EdgeProcess, edge_process

from holdfast.log import Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from meridian.sensors import (
    Angular,
    Observation,
    RangeRate,
    SourceKind,
    StateVector,
    columns_of,
    to_observations,
)
from meridian.sensors.consumers import Consumer, declare
from meridian.sensors.radar_frame import RadarFrame, decode
from meridian.sensors.simulate.archive import Archive
from meridian.sensors.simulate.emission import Emission
from meridian.sensors.simulate.objects import synthetic
from meridian.sensors.simulate.playing import Player, Tempo
from meridian.sensors.simulate.scenario import Scenario, emissions
from meridian.sensors.simulate.senders import BeaconSender, send_datagrams

START = 1_760_000_000_000_000_000
RADAR, OPTICAL, ISL = SourceKind
SCENARIO = Scenario(
    objects=synthetic(seed=4, count=300, epoch_ns=START),
    start_ns=START,
    seconds=3,
    radar_rate=100,
    optical_rate=20,
    satellites=15,
    duplicates=0.1,
)


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def written(directory: Path, endpoint: str, *, isl_port: int = 0) -> Path:
    """A document of all three sources."""
    document = directory / "edge.toml"
    document.write_text(f"""
        [radar]
        bind_addrs = ["127.0.0.1:0"]
        repeats_within_ms = 0
        [optical]
        endpoint = "{endpoint}"
        poll_interval_ms = 20
        [isl]
        listen_addr = "127.0.0.1:{isl_port}"
        [sink]
        output_dir = "{directory / "logs"}"
        flush_ms = 5
        [control_plane]
        bind_addr = "127.0.0.1:0"
    """)
    return document


def stored(directory: Path, name: str) -> list[Observation]:
    with InboxReader.open(directory / "logs" / f"obs.{name}") as reader:
        batches = [columns_of(batch.select(CAPTURED.names)) for batch in reader.read(0)]
    return [each for batch in batches for each in to_observations(batch)]


def payloads(given: list[Emission], kind: SourceKind) -> set[bytes]:
    return {each.data for each in given if each.kind is kind}


def records(given: list[Emission]) -> int:
    return sum(each.kind is OPTICAL for each in given)


async def played(edge: EdgeProcess, archive: Archive, given: list[Emission]) -> BeaconSender:
    """Everything was sent, and what is answered was answered."""
    beacons = BeaconSender(edge.address("isl"))
    sending = asyncio.create_task(beacons.run())
    await Player(edge.address("radar-1"), archive, beacons).play(given, Tempo.UNPACED)
    await beacons.until_settled()
    await until(edge, lambda metrics: metrics["optical"]["durable"] >= records(given))
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    return beacons


async def until(edge: EdgeProcess, holds) -> None:  # noqa: ANN001 (a question about JSON)
    while not holds((await asyncio.to_thread(edge.get, "/metrics"))[1]["sources"]):
        await asyncio.sleep(0.05)


@pytest.mark.req("ING-11", "ING-13", "CTL-01", "CTL-02", "CTL-03", "DLV-04", "ENV-03", "EVT-04", "FLW-06")
def test_three_networks_at_once_are_all_in_their_logs_and_the_edge_ends_gently(tmp_path: Path) -> None:
    given = list(emissions(SCENARIO))

    async def run() -> None:
        archive = Archive()
        await archive.start()
        with edge_process(written(tmp_path, archive.endpoint)) as edge:
            await played(edge, archive, given)
            await until(edge, lambda metrics: metrics["radar-1"]["durable"] >= len(payloads(given, RADAR)))
            status, health = await asyncio.to_thread(edge.get, "/health")
            assert (status, health["status"]) == (200, "ok")
            metrics = (await asyncio.to_thread(edge.get, "/metrics"))[1]["sources"]
            code, seconds = await asyncio.to_thread(edge.terminate)
            assert (code, seconds < 5.0) == (0, True)
            lines = [json.loads(line) for line in edge.lines]
        await archive.stop()
        check_metrics(metrics, given)
        assert [line["event"] for line in lines if line["level"] == "error"] == []
        assert {"source.started", "edge.started", "edge.draining", "edge.stopped"} <= {line["event"] for line in lines}
        assert len(lines) < 20
        check_declared({line["source"]: line for line in lines if line["event"] == "source.started"})

    asyncio.run(run())
    radar = [each.observation_id for each in stored(tmp_path, "radar-1")]
    assert len(set(radar)) == len(payloads(given, RADAR))
    beacons = [each.observation_id for each in stored(tmp_path, "isl")]
    assert len(beacons) == len(set(beacons)) == len(payloads(given, ISL))
    optical = [each.observation_id for each in stored(tmp_path, "optical")]
    assert len(optical) == len(set(optical)) == records(given)
    for name, kind in (("radar-1", RADAR), ("optical", OPTICAL), ("isl", ISL)):
        assert {each.target for each in stored(tmp_path, name)} == measured(given, kind)


def measured(given: list[Emission], kind: SourceKind) -> set[RangeRate | Angular | StateVector]:
    """What the sensors of a kind measured, read from the wire by the layouts of docs/reference/wire-formats.md."""
    if kind is RADAR:
        return {RangeRate(*struct.unpack_from("<4d", data, 16)) for data in payloads(given, RADAR)}
    if kind is ISL:
        vectors = [struct.unpack_from("<6d", data, 24) for data in payloads(given, ISL)]
        return {StateVector(numbers[:3], numbers[3:]) for numbers in vectors}
    return {Angular(each.record["ra_rad"], each.record["dec_rad"]) for each in given if each.record is not None}


def check_declared(started: dict[str, dict[str, object]]) -> None:
    """Each edge says at the start how large it is, what it does when it is full, and why."""
    assert {name: (line["capacity"], line["policy"]) for name, line in started.items()} == {
        "radar-1": (60_000, "backpressure"),
        "optical": (1, "backpressure"),
        "isl": (1024, "backpressure"),
    }
    assert all(line["reason"] for line in started.values())
    assert started["radar-1"]["profile"] == {
        "peak_rate": 5000, "peak_seconds": 60, "processing_rate": 4500, "safety": 2.0,
    }  # fmt: skip


def check_metrics(metrics: dict[str, dict[str, object]], given: list[Emission]) -> None:
    sent = Counter(each.kind for each in given)
    for name, kind in (("radar-1", RADAR), ("optical", OPTICAL), ("isl", ISL)):
        figures = metrics[name]
        assert figures["ingest_rate"] > 0  # type: ignore[operator]
        assert figures["bytes_written"] > 100 * figures["durable"]  # type: ignore[operator]
        assert figures["channel_occupancy"]["count"] == 0  # type: ignore[index]
        assert figures["channel_occupancy"]["capacity"] >= 1  # type: ignore[index]
        assert figures["deserialization_errors"] == 0
        assert figures["source_lag_seconds"]["buckets"]["inf"] == figures["taken"]  # type: ignore[index]
        assert figures["durable"] + figures["repeated"] == sent[kind]  # type: ignore[operator]


@pytest.mark.req("ING-13")
def test_what_the_kernel_holds_when_the_edge_is_told_to_end_is_not_lost(tmp_path: Path) -> None:
    frames = [each.data for each in emissions(SCENARIO) if each.kind is RADAR]
    with edge_process(written(tmp_path, "http://127.0.0.1:9/none")) as edge:
        send_datagrams(edge.address("radar-1"), frames)
        code, seconds = edge.terminate()
        assert (code, seconds < 5.0) == (0, True)
    assert Counter(each.observation_id for each in stored(tmp_path, "radar-1")).total() == len(frames)


@pytest.mark.req("ING-13", "DLV-04")
def test_an_edge_that_ends_while_satellites_send_has_stored_what_it_answered(tmp_path: Path) -> None:
    frames = sorted(payloads(list(emissions(replace(SCENARIO, seconds=100, radars={}, telescopes={}))), ISL))

    async def run() -> int:
        with edge_process(written(tmp_path, "http://127.0.0.1:9/none")) as edge:
            beacons = BeaconSender(edge.address("isl"))
            sending = asyncio.create_task(beacons.run())
            for start in range(0, len(frames), 10):
                beacons.add(frames[start : start + 10])
                while beacons.kept > 50:
                    await asyncio.sleep(0)
                if start == len(frames) // 20 * 10:
                    ending = asyncio.create_task(asyncio.to_thread(edge.terminate))
                    break
            code, seconds = await ending
            assert (code, seconds < 5.0) == (0, True)
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending
            return beacons.settled

    settled = asyncio.run(run())
    isl = [each.observation_id for each in stored(tmp_path, "isl")]
    assert len(isl) == len(set(isl)) >= settled > 0


@pytest.mark.timeout(1200)
@pytest.mark.req("DLV-04", "ENV-05", "ING-07")
def test_killed_and_started_again_every_answered_observation_is_there_exactly_once(
    tmp_path: Path, is_long: bool
) -> None:
    given = list(emissions(SCENARIO))
    port, kills = free_port(socket.SOCK_STREAM), 20 if is_long else 2

    async def run() -> None:
        archive = Archive()
        await archive.start()
        document = written(tmp_path, archive.endpoint, isl_port=port)
        beacons = BeaconSender(("127.0.0.1", port))
        sending = asyncio.create_task(beacons.run())
        frames = sorted(payloads(given, ISL))
        for part in range(kills):
            with edge_process(document) as edge:
                archive.publish([each.record for each in given[part::kills] if each.record is not None])
                radar = [each.data for each in given[part::kills] if each.kind is RADAR]
                settled_before = beacons.settled
                beacons.add(frames[part::kills])
                await asyncio.to_thread(send_datagrams, edge.address("radar-1"), radar)
                while beacons.settled == settled_before:
                    await asyncio.sleep(0)
                edge.kill()
        with edge_process(document) as edge:
            await beacons.until_settled()
            await until(edge, lambda _: len(stored(tmp_path, "optical")) >= records(given))
            code, _ = await asyncio.to_thread(edge.terminate)
            assert code == 0
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        await archive.stop()

    asyncio.run(run())
    isl = [each.observation_id for each in stored(tmp_path, "isl")]
    assert len(isl) == len(set(isl)) == len(payloads(given, ISL))
    optical = [each.observation_id for each in stored(tmp_path, "optical")]
    assert len(optical) == len(set(optical)) == records(given)
    sent = b"".join(each.data for each in given if each.kind is RADAR)
    radar = Counter(each.observation_id for each in stored(tmp_path, "radar-1"))
    assert radar <= Counter(decode(sent, START).columns.keys())


@pytest.mark.req("CTL-01")
def test_a_source_that_has_died_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    frames = sorted(payloads(list(emissions(SCENARIO)), RADAR))
    with edge_process(written(tmp_path, "http://127.0.0.1:9/none")) as edge:
        assert edge.get("/health")[0] == 200
        with Inbox.open(tmp_path / "logs" / "obs.radar-1", name="obs.radar-1", epoch=2):
            send_datagrams(edge.address("radar-1"), frames[:1])
            while edge.get("/health")[0] == 200:
                pass
        status, health = edge.get("/health")
        assert (status, health["status"]) == (503, "failing")
        assert "HF-502" in health["sources"]["radar-1"]["why"]
        assert [name for name, source in health["sources"].items() if not source["alive"]] == ["radar-1"]
        while not edge.logged("source.ended"):
            pass


@pytest.mark.req("EVT-04", "EVT-05")
def test_observations_from_the_future_are_counted_and_their_lag_is_zero(tmp_path: Path) -> None:
    now = time.time_ns()
    made_at = [now - 2_000_000_000, *(now + hours * 3_600_000_000_000 for hours in (1, 2, 3))]
    with edge_process(written(tmp_path, "http://127.0.0.1:9/none")) as edge:
        send_datagrams(edge.address("radar-1"), [frame_made_at(each) for each in made_at])
        while (radar := edge.get("/metrics")[1]["sources"]["radar-1"])["durable"] < len(made_at):
            time.sleep(0.01)
        took = (time.time_ns() - now) / 1e9
    assert radar["clock_skew_observed_total"] == 3
    assert radar["source_lag_seconds"]["buckets"]["0.001"] == 3, "the others came two seconds after they were made"
    assert 2.0 <= radar["source_lag_seconds"]["sum"] <= 2.0 + took


def frame_made_at(time_ns: int) -> bytes:
    return RadarFrame(
        array_id=1,
        target_track_id=7,
        timestamp_ns=time_ns,
        range_m=1e6,
        range_rate_m_s=10.0,
        azimuth_rad=1.0,
        elevation_rad=0.5,
        sigma_range_m=5.0,
        sigma_rate_m_s=0.1,
    ).to_bytes()


@pytest.mark.req("FLW-12")
def test_a_consumer_that_stays_behind_is_an_alarm_until_it_has_caught_up(tmp_path: Path) -> None:
    document = written(tmp_path, "http://127.0.0.1:9/none")
    document.write_text(document.read_text().replace("flush_ms = 5", "flush_ms = 5\nlag_alarm_s = 0.5"))
    (frame, *_) = sorted(payloads(list(emissions(SCENARIO)), RADAR))
    with edge_process(document) as edge:
        send_datagrams(edge.address("radar-1"), [frame] * 5)
        declare(tmp_path / "logs", Consumer("obs.radar-1", "fusion"), 3)
        while "consumer_lag" not in (alarms := edge.get("/health")[1]["sources"]["radar-1"]["alarms"]):
            time.sleep(0.05)
        assert re.match(r"fusion is [2-9] events behind", alarms["consumer_lag"])
        assert [line["alarm"] for line in edge.logged("alarm.raised")] == ["consumer_lag"]
        with InboxReader.open(tmp_path / "logs" / "obs.radar-1") as reader:
            while edge.get("/health")[1]["sources"]["radar-1"]["alarms"]:
                declare(tmp_path / "logs", Consumer("obs.radar-1", "fusion"), reader.end())
                time.sleep(0.05)
        assert edge.get("/health")[0] == 200


@pytest.mark.req("ING-02", "ING-19", "CTL-03", "FLW-12")
def test_what_is_dropped_is_one_line_and_an_alarm_and_sightings_are_counted_when_asked_for(tmp_path: Path) -> None:
    document = written(tmp_path, "http://127.0.0.1:9/none")
    document.write_text(document.read_text() + "[sightings]\nwindow_ms = 3600000")
    (frame, *_) = sorted(payloads(list(emissions(SCENARIO)), RADAR))
    with edge_process(document) as edge:
        send_datagrams(edge.address("radar-1"), [b"wrong"] * 30 + [frame] * 5)
        while not edge.logged("alarm.raised") or not edge.logged("source.dropped"):
            time.sleep(0.01)
        radar = edge.get("/metrics")[1]["sources"]["radar-1"]
        assert (radar["drops"]["wrong_size"], radar["durable"], radar["sightings"]) == (30, 5, 1)
        status, health = edge.get("/health")
        assert status == 200
        assert health["sources"]["radar-1"]["alarms"] == {"drops": "30 of 35 were dropped in the last 60 s."}
        dropped = [line for line in edge.logged("source.dropped") if line["source"] == "radar-1"]
        assert sum(line["new"]["wrong_size"] for line in dropped) == 30
        assert len(dropped) <= 3
        declare(tmp_path / "logs", Consumer("obs.radar-1", "fusion"), 3)
        while edge.get("/metrics")[1]["sources"]["radar-1"]["consumer_lag"] != {"fusion": 2}:
            time.sleep(0.05)
        declare(tmp_path / "logs", Consumer("obs.radar-1", "fusion"), 99)
        while "upkeep" not in (alarms := edge.get("/health")[1]["sources"]["radar-1"]["alarms"]):
            time.sleep(0.05)
        assert "HF-507" in alarms["upkeep"]
        assert edge.get("/health")[0] == 200


@pytest.mark.req("ING-16")
@pytest.mark.parametrize(
    ("document", "why"),
    [
        ('[isl]\nlisten_adr = "127.0.0.1:0"\n[sink]\noutput_dir = "logs"', "Did you mean `listen_addr`?"),
        ('[isl]\nlisten_addr = "192.0.2.1:1"\n[sink]\noutput_dir = "DIR"', "cannot listen at tcp://192.0.2.1:1"),
    ],
)
def test_an_edge_that_cannot_start_says_why_and_ends(tmp_path: Path, document: str, why: str) -> None:
    path = tmp_path / "edge.toml"
    path.write_text(document.replace("DIR", str(tmp_path / "logs")))
    ended = subprocess.run([sys.executable, "-m", "meridian.sensors", str(path)], capture_output=True, text=True)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert json.loads(line)["event"] == "edge.refused"
    assert why in json.loads(line)["why"]
