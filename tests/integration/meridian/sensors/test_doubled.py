"""Datagrams that the network doubles: over a real socket they land once, also when the edge is killed in between."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.support.edge_process import EdgeProcess, edge_process
from tests.support.edge_stations import AT, document, frame

from holdfast.log import InboxReader
from holdfast.model.envelope import CAPTURED
from meridian.sensors import columns_of, to_observations
from meridian.sensors.edge import Edge
from meridian.sensors.simulate.senders import send_datagrams
from meridian.sensors.sources.radar_udp import RadarUdp

COUNT = 500


def stored(logs: Path) -> list[int]:
    with InboxReader.open(logs / "obs.radar-1") as reader:
        batches = [columns_of(batch.select(CAPTURED.names)) for batch in reader.read(0)]
    return [each.sensor_ts_ns - AT for batch in batches for each in to_observations(batch)]


def doubled(frames: list[bytes]) -> list[bytes]:
    """Each of them once or twice, and a repeat may be some way behind."""
    chance = random.Random(5)
    twice = [each for each in frames if chance.random() < 0.4]
    sent = [*frames, *twice]
    chance.shuffle(sent)
    return sent


@pytest.mark.req("DLV-05", "DLV-15")
@pytest.mark.parametrize("packed", [1, 7], ids=["alone", "several in a datagram"])
def test_what_came_twice_is_stored_and_counted_once(tmp_path: Path, packed: int) -> None:
    sent = doubled([frame(number) for number in range(COUNT)])
    datagrams = [b"".join(sent[start : start + packed]) for start in range(0, len(sent), packed)]

    async def scenario() -> tuple[int, int, int]:
        edge = Edge(document(tmp_path, radar="repeats_within_ms = 600000"))
        await edge.start()
        station = edge.stations[0]
        assert isinstance(station.source, RadarUdp)
        send_datagrams(station.source.address, datagrams)
        while station.pump.meter.taken < len(sent):
            await asyncio.sleep(0.001)
        assert await edge.stop() == 0
        meter = station.pump.meter
        return meter.taken, meter.durable, meter.repeated

    assert asyncio.run(scenario()) == (len(sent), COUNT, len(sent) - COUNT)
    assert sorted(stored(tmp_path)) == list(range(COUNT))


def written(directory: Path) -> Path:
    path = directory / "edge.toml"
    path.write_text(f"""
        [radar]
        bind_addrs = ["127.0.0.1:0"]
        repeats_within_ms = 600000
        [sink]
        output_dir = "{directory / "logs"}"
        flush_ms = 5
        [control_plane]
        bind_addr = "127.0.0.1:0"
    """)
    return path


def durable(edge: EdgeProcess, number: int) -> dict[str, int]:
    """The figures once so many observations are stored or were left out."""
    while True:
        figures: dict[str, int] = edge.get("/metrics")[1]["sources"]["radar-1"]
        if figures["durable"] + figures["repeated"] >= number:
            return figures
        time.sleep(0.01)


@pytest.mark.timeout(300)
@pytest.mark.req("DLV-05", "DLV-15")
def test_a_repeat_that_comes_after_a_kill_is_left_out(tmp_path: Path) -> None:
    path, frames = written(tmp_path), [frame(number) for number in range(COUNT)]
    with edge_process(path) as edge:
        send_datagrams(edge.address("radar-1"), frames[:300])
        durable(edge, 300)
        edge.kill()
    with edge_process(path) as edge:
        send_datagrams(edge.address("radar-1"), frames[200:])
        figures = durable(edge, 300)
        assert (figures["durable"], figures["repeated"]) == (200, 100)
        edge.kill()
    assert Counter(stored(tmp_path / "logs")) == Counter(range(COUNT))


@pytest.mark.timeout(300)
@pytest.mark.req("DLV-05")
def test_killed_while_frames_and_their_repeats_come_nothing_is_stored_twice(tmp_path: Path) -> None:
    path, sent = written(tmp_path), doubled([frame(number) for number in range(COUNT)])
    for _ in range(3):
        with edge_process(path) as edge:
            send_datagrams(edge.address("radar-1"), sent)
            edge.kill()
    with edge_process(path) as edge:
        send_datagrams(edge.address("radar-1"), sent)
        durable(edge, len(sent))
        edge.kill()
    assert Counter(stored(tmp_path / "logs")) == Counter(range(COUNT))
