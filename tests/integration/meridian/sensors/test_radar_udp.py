"""Radar over real sockets: what arrives is in the log, what does not is counted."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from tests.support.sensor_logs import Logs, room

from holdfast.model.errors import SourceUnavailable
from meridian.sensors import Catalog, Screen, SourceKind, standard_rules
from meridian.sensors.pump import Pump
from meridian.sensors.radar_frame import RadarFrame
from meridian.sensors.sources.radar_udp import RadarUdp

SCREEN = Screen(standard_rules(Catalog()))


def frame(number: int, **changes: float) -> bytes:
    values: dict[str, float] = {
        "array_id": 7, "target_track_id": 25544, "timestamp_ns": 10**18 + number, "range_m": 9e5,
        "range_rate_m_s": -6e3, "azimuth_rad": 1.0, "elevation_rad": 0.5, "sigma_range_m": 10.0, "sigma_rate_m_s": 0.1,
    }  # fmt: skip
    return RadarFrame(**{**values, **changes}).to_bytes()  # type: ignore[arg-type]


def radar(**settings: float) -> RadarUdp:
    return RadarUdp("radar", ("127.0.0.1", 0), SCREEN, time.time_ns, linger=0.0, **settings)  # type: ignore[arg-type]


def send(source: RadarUdp, datagrams: list[bytes]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for datagram in datagrams:
            sender.sendto(datagram, source.address)


async def pumped(source: RadarUdp, logs: Logs, datagrams: list[bytes]) -> Pump:
    """Send, and take everything in; loopback has delivered a datagram when the send returns."""
    await source.open()
    pump = Pump(source, logs.landing(SourceKind.RADAR), plan=room(1000), now_ns=time.time_ns, clock=lambda: 0.0)
    send(source, datagrams)
    source.stop()
    await pump.run()
    await source.close()
    return pump


def test_frames_are_in_the_log_in_the_order_in_which_they_came(logs: Logs) -> None:
    datagrams = [frame(0), frame(1) + frame(2), *(frame(number) for number in range(3, 50))]
    pump = asyncio.run(pumped(radar(), logs, datagrams))
    seen = logs.observations(SourceKind.RADAR)
    assert [each.sensor_ts_ns - 10**18 for each in seen] == list(range(50))
    assert (pump.meter.taken, pump.meter.durable, pump.under_way) == (50, 50, 0)


@pytest.mark.req("ING-02", "DLQ-05")
def test_a_datagram_of_a_wrong_size_is_counted_and_the_next_is_taken(logs: Logs) -> None:
    source = radar()
    wrong = [b"", b"x" * 63, frame(9) + b"x", b"y" * 1600, b"z" * 9000]
    asyncio.run(pumped(source, logs, [wrong[0], frame(0), *wrong[1:], frame(1)]))
    assert [each.sensor_ts_ns - 10**18 for each in logs.observations(SourceKind.RADAR)] == [0, 1]
    assert source.drops["wrong_size"] == 5
    assert logs.dead() == []


@pytest.mark.req("DLQ-04")
def test_bad_frames_are_dead_letters_with_their_bytes(logs: Logs) -> None:
    undecodable, impossible = frame(1, range_m=float("nan")), frame(2, range_rate_m_s=1e6)
    pump = asyncio.run(pumped(radar(), logs, [frame(0), undecodable, impossible]))
    assert len(logs.observations(SourceKind.RADAR)) == 1
    assert {(each.error_kind, each.payload, each.stage) for each in logs.dead()} == {
        ("Deserialization", undecodable, "edge:obs.radar"),
        ("ValidationFailed", impossible, "edge:obs.radar"),
    }
    assert pump.meter.refused == {"Deserialization": 1, "ValidationFailed": 1}


def test_a_flood_of_bad_frames_becomes_a_bounded_number_of_dead_letters(logs: Logs) -> None:
    bad = [frame(number, range_m=float("nan")) for number in range(1500)]
    pump = asyncio.run(
        pumped(radar(receive_buffer=16 * 2**20), logs, [b"".join(bad[n : n + 20]) for n in range(0, 1500, 20)])
    )
    assert pump.meter.refused["Deserialization"] == 1500
    assert pump.meter.suppressed["Deserialization"] == 500
    assert len(logs.dead()) == 1000


@pytest.mark.req("ENV-08")
def test_the_bytes_of_the_wire_are_in_a_log_of_their_own_and_not_in_the_envelope(logs: Logs) -> None:
    datagrams = [frame(0), frame(1, range_m=float("nan")), frame(2)]
    asyncio.run(pumped(radar(), logs, datagrams))
    assert logs.raw() == b"".join(datagrams)
    found = logs.rows("obs.radar")
    assert found is not None
    assert frame(0) not in found.records.tobytes()


def test_what_the_kernel_drops_is_counted() -> None:
    async def dropped() -> tuple[int, int]:
        source = radar(receive_buffer=4096)
        await source.open()
        send(source, [frame(number) for number in range(200)])
        first = await source.next()
        assert first is not None
        send(source, [frame(200)])
        last = await source.next()
        assert last is not None
        await source.close()
        return len(first.screened.good) + len(last.screened.good), source.drops["kernel"]

    received, dropped_by_kernel = asyncio.run(dropped())
    assert dropped_by_kernel > 0
    assert received + dropped_by_kernel == 201


@pytest.mark.req("ING-15")
def test_what_the_kernel_drops_behind_the_last_datagram_is_counted_at_the_end(logs: Logs) -> None:
    source = radar(receive_buffer=4096)
    pump = asyncio.run(pumped(source, logs, [frame(number) for number in range(200)]))
    assert source.drops["kernel"] > 0
    assert pump.meter.durable + source.drops["kernel"] == 200


@pytest.mark.req("ING-15")
def test_in_a_flood_every_frame_is_durable_or_counted_as_dropped(logs: Logs) -> None:
    frames = [frame(number) for number in range(20_000)]

    async def flooded() -> Pump:
        source = radar(receive_buffer=65_536)
        await source.open()
        pump = Pump(source, logs.landing(SourceKind.RADAR), plan=room(500), now_ns=time.time_ns)
        running = asyncio.create_task(pump.run())
        await asyncio.to_thread(send, source, frames)
        source.stop()
        await running
        await source.close()
        return pump

    pump = asyncio.run(flooded())
    assert pump.meter.durable + pump.source.drops["kernel"] == 20_000
    assert len(logs.observations(SourceKind.RADAR)) == pump.meter.durable


def test_an_address_in_use_is_named() -> None:
    async def bound_twice() -> None:
        first = radar()
        await first.open()
        second = RadarUdp("radar-2", first.address, SCREEN, time.time_ns)
        try:
            with pytest.raises(SourceUnavailable, match=rf"radar-2.*udp://127\.0\.0\.1:{first.address[1]}"):
                await second.open()
        finally:
            await first.close()

    asyncio.run(bound_twice())


def test_a_source_that_was_stopped_gives_what_the_kernel_holds_and_then_ends() -> None:
    async def stopped() -> list[int]:
        source = radar(most=10)
        await source.open()
        send(source, [frame(number) for number in range(45)])
        source.stop()
        sizes = []
        while (taken := await source.next()) is not None:
            sizes.append(taken.count)
        await source.close()
        return sizes

    sizes = asyncio.run(stopped())
    assert sum(sizes) == 45
    assert max(sizes) <= 10 + 1500 // 64
