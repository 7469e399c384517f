"""Every source may be cancelled at every await of its way into the log: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.support.sensor_logs import Logs, room

from meridian.sensors import ObservationSource, Screen, SourceKind
from meridian.sensors.isl_frame import Beacon
from meridian.sensors.pump import Pump
from meridian.sensors.radar_frame import RadarFrame
from meridian.sensors.simulate.archive import Archive
from meridian.sensors.simulate.senders import BeaconSender, send_datagrams
from meridian.sensors.sources.archive_client import Polling
from meridian.sensors.sources.isl_tcp import IslTcp
from meridian.sensors.sources.optical_http import OpticalHttp
from meridian.sensors.sources.radar_udp import RadarUdp

AT = 10**18
RECORDS = 12
More = Callable[[], None]
"""Lets the outside send the second half of what it has."""


class CancelledAt:
    """A coroutine whose task is cancelled when it suspends for the given time."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], place: int) -> None:
        self._coroutine = coroutine
        self._place = place

    def __await__(self) -> Generator[Any, Any, None]:
        inner = self._coroutine.__await__()
        step: Callable[[], object] = lambda: next(inner)  # noqa: E731
        for suspended in count():
            try:
                waited_for = step()
            except StopIteration:
                return
            if suspended == self._place:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waited_for
                step = lambda: next(inner)  # noqa: E731
            except BaseException as error:
                step = lambda error=error: inner.throw(error)  # type: ignore[misc] # noqa: E731


@asynccontextmanager
async def radar() -> AsyncIterator[tuple[ObservationSource, More]]:
    def frames(numbers: range) -> list[bytes]:
        return [RadarFrame(array_id=1, target_track_id=5, timestamp_ns=AT + number, range_m=9e5, range_rate_m_s=1.0,
                           azimuth_rad=1.0, elevation_rad=0.5, sigma_range_m=1.0, sigma_rate_m_s=1.0).to_bytes()
                for number in numbers]  # fmt: skip

    source = RadarUdp("radar", ("127.0.0.1", 0), Screen(), time.time_ns, linger=0.001)
    await source.open()
    send_datagrams(source.address, frames(range(6)))
    yield source, lambda: _nothing(send_datagrams(source.address, frames(range(6, RECORDS))))
    await source.close()


@asynccontextmanager
async def isl() -> AsyncIterator[tuple[ObservationSource, More]]:
    def beacons(numbers: range) -> list[bytes]:
        return [Beacon(satellite_id=9, beacon=number, timestamp_ns=AT + number, position_m=(7e6, 0.0, 0.0),
                       velocity_m_s=(0.0, 7e3, 0.0), sigma_m=1.0).to_bytes() for number in numbers]  # fmt: skip

    source = IslTcp("isl", ("127.0.0.1", 0), Screen(), time.time_ns)
    await source.open()
    sender = BeaconSender(source.address)
    sender.add(beacons(range(6)))
    sending = asyncio.create_task(sender.run())
    yield source, lambda: sender.add(beacons(range(6, RECORDS)))
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    await source.close()


@asynccontextmanager
async def optical() -> AsyncIterator[tuple[ObservationSource, More]]:
    def records(numbers: range) -> list[dict[str, object]]:
        return [{"obs_id": str(number), "timestamp_ns": AT + number, "ra_rad": 1.0, "dec_rad": 0.5, "sigma_arcsec": 1.0,
                 "site_id": "maui"} for number in numbers]  # fmt: skip

    archive = Archive()
    await archive.start()
    archive.publish(records(range(6)))
    source = OpticalHttp("optical", archive.endpoint, Screen(), time.time_ns, polling=Polling(interval=0.002))
    await source.open()
    yield source, lambda: archive.publish(records(range(6, RECORDS)))
    await source.close()
    await archive.stop()


def _nothing(_: object) -> None:
    """A result that nobody wants."""


Outside = Callable[[], AbstractAsyncContextManager[tuple[ObservationSource, More]]]


async def taken_in(logs: Logs, outside: Outside, cancel_at: int) -> bool:
    """Pump everything through, with one cancellation; whether there was one."""
    async with outside() as (source, more):
        pump = Pump(source, logs.landing(source.kind), plan=room(1000), now_ns=time.time_ns)
        watching = asyncio.create_task(stopped_in_the_end(pump, source, more))
        was_cancelled = False
        try:
            await CancelledAt(pump.run(), cancel_at)
        except asyncio.CancelledError:
            was_cancelled = True
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            await pump.run()
        await watching
        return was_cancelled


async def stopped_in_the_end(pump: Pump, source: ObservationSource, more: More) -> None:
    await durable(pump, 6)
    more()
    await durable(pump, RECORDS)
    source.stop()


async def durable(pump: Pump, number: int) -> None:
    while pump.meter.durable < number:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("outside", "kind"),
    [(radar, SourceKind.RADAR), (isl, SourceKind.INTER_SATELLITE_LINK), (optical, SourceKind.OPTICAL)],
    ids=["radar", "isl", "optical"],
)
def test_cancelling_at_any_await_loses_and_repeats_nothing(outside: Outside, kind: SourceKind, tmp_path: Path) -> None:
    cancelled = 0
    for place in range(60):
        logs = Logs(tmp_path / str(place))
        was_cancelled = asyncio.run(taken_in(logs, outside, place))
        logs.close()
        assert [each.sensor_ts_ns - AT for each in logs.observations(kind)] == list(range(RECORDS)), place
        cancelled += was_cancelled
        if not was_cancelled:
            break
    assert cancelled >= 2, "there are at least two awaits: for records, and for the disk"
