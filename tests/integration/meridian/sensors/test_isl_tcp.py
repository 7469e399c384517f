"""Beacons over real connections: an answer means durable, a blocked log closes the window, bad frames stop nobody."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from tests.support.sensor_logs import Logs, room

from holdfast.model.errors import SourceUnavailable
from meridian.sensors import Catalog, Screen, SourceKind, standard_rules
from meridian.sensors.isl_frame import ACK_SIZE, Beacon, acknowledged, framed
from meridian.sensors.pump import Pump
from meridian.sensors.simulate.senders import BeaconSender
from meridian.sensors.sources.isl_tcp import IslTcp

KIND = SourceKind.INTER_SATELLITE_LINK
AT = 10**18


def beacon(number: int, satellite: int = 900, x: float = 7e6) -> bytes:
    return Beacon(
        satellite_id=satellite,
        beacon=number,
        timestamp_ns=AT + number,
        position_m=(x, 0.0, 0.0),
        velocity_m_s=(0.0, 7.5e3, 0.0),
        sigma_m=5.0,
    ).to_bytes()


def served(logs: Logs, scenario: Callable[[IslTcp, Pump], Awaitable[None]], *, quota: int | None = None) -> Pump:
    """Run a scenario against a server whose source is being pumped."""

    async def run() -> Pump:
        source = IslTcp("isl", ("127.0.0.1", 0), Screen(standard_rules(Catalog())), time.time_ns)
        await source.open()
        pump = Pump(source, logs.landing(KIND, quota=quota), plan=room(1024), now_ns=time.time_ns)
        pumping = asyncio.create_task(pump.run())
        try:
            await scenario(source, pump)
        finally:
            source.stop()
            if quota is None:
                await pumping
            pumping.cancel()
            with suppress(asyncio.CancelledError):
                await pumping
            await source.close()
        return pump

    return asyncio.run(run())


async def written_without_end(writer: asyncio.StreamWriter) -> None:
    """Write until the other side does not read any more."""
    flood = b"".join(beacon(number) for number in range(1, 10_000))
    for _ in range(100):
        writer.write(flood)
        await asyncio.wait_for(writer.drain(), 0.5)


async def settled_by(source: IslTcp, frames: list[bytes]) -> None:
    sender = BeaconSender(source.address)
    sender.add(frames)
    sending = asyncio.create_task(sender.run())
    await sender.until_settled()
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending


@pytest.mark.req("ING-08", "DLV-04")
def test_several_senders_of_many_satellites_are_all_in_the_log_when_they_are_answered(logs: Logs) -> None:
    streams = [[beacon(number, satellite=100 * sender + number % 5) for number in range(40)] for sender in range(1, 5)]

    async def scenario(source: IslTcp, _: Pump) -> None:
        await asyncio.gather(*(settled_by(source, stream) for stream in streams))
        assert len(logs.observations(KIND)) == 160

    served(logs, scenario)
    seen = logs.observations(KIND)
    assert len({each.observation_id for each in seen}) == 160
    for satellite in {each.source_id for each in seen}:
        times = [each.sensor_ts_ns for each in seen if each.source_id == satellite]
        assert times == sorted(times)


@pytest.mark.req("ENV-05")
def test_beacons_that_are_sent_again_are_answered_and_not_stored_again(logs: Logs) -> None:
    frames = [beacon(number) for number in range(10)]

    async def scenario(source: IslTcp, _: Pump) -> None:
        await settled_by(source, frames)
        await settled_by(source, frames)

    pump = served(logs, scenario)
    assert len(logs.observations(KIND)) == 10
    assert (pump.meter.durable, pump.meter.repeated) == (10, 10)


@pytest.mark.req("ING-09", "DLQ-04")
def test_a_bad_frame_is_a_dead_letter_that_is_answered_and_the_connection_goes_on(logs: Logs) -> None:
    impossible = beacon(1, x=1.0)

    async def scenario(source: IslTcp, _: Pump) -> None:
        await settled_by(source, [beacon(0), impossible, framed(b"\x02 newer"), framed(b""), beacon(2)])
        assert sorted(each.error_kind for each in logs.dead()) == [
            "Deserialization",
            "SchemaMismatch",
            "ValidationFailed",
        ]

    served(logs, scenario)
    assert [each.sensor_ts_ns - AT for each in logs.observations(KIND)] == [0, 2]
    assert impossible[4:] in {each.payload for each in logs.dead()}


@pytest.mark.req("ING-09", "DLQ-05")
def test_a_length_that_no_frame_has_ends_its_connection_and_no_other(logs: Logs) -> None:
    async def scenario(source: IslTcp, _: Pump) -> None:
        reader, writer = await asyncio.open_connection(*source.address)
        writer.write(beacon(0) + struct.pack("<I", 65_537))
        assert acknowledged(await reader.readexactly(ACK_SIZE)) == 1
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        await settled_by(source, [beacon(1)])
        assert source.drops == {"oversized": 1}

    served(logs, scenario)
    assert logs.dead() == []
    assert [each.sensor_ts_ns - AT for each in logs.observations(KIND)] == [0, 1]


@pytest.mark.req("ING-10", "DLV-04")
def test_while_the_log_has_no_room_nothing_is_answered_and_the_window_closes(logs: Logs) -> None:
    async def scenario(source: IslTcp, pump: Pump) -> None:
        reader, writer = await asyncio.open_connection(*source.address)
        writer.write(beacon(0))
        assert acknowledged(await reader.readexactly(ACK_SIZE)) == 1
        with pytest.raises(TimeoutError):
            await written_without_end(writer)
        assert pump.under_way <= 2 * 65_536 // 84 + 1
        assert not reader.at_eof()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(ACK_SIZE), 0.1)
        writer.transport.abort()

    served(logs, scenario, quota=1)
    assert len(logs.observations(KIND)) == 1


def test_an_address_in_use_is_named() -> None:
    async def bound_twice() -> None:
        first = IslTcp("isl", ("127.0.0.1", 0), Screen(), time.time_ns)
        await first.open()
        second = IslTcp("isl-2", first.address, Screen(), time.time_ns)
        try:
            with pytest.raises(SourceUnavailable, match=rf"isl-2.*tcp://127\.0\.0\.1:{first.address[1]}"):
                await second.open()
        finally:
            await first.close()

    asyncio.run(bound_twice())
