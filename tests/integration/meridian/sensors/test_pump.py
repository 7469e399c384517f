"""The pump with real logs: heartbeats of silent sources, want of room, and what ends it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import ClassVar

import pytest
from tests.support.sensor_logs import Logs, room

from holdfast.model.errors import LogClosed, LogFenced
from meridian.sensors import ObservationSource, Screened, SourceKind, Taken, from_observations
from meridian.sensors.columns import Row
from meridian.sensors.idle import IdleRule
from meridian.sensors.observation import Angular, ClockQuality, Observation, Uncertainty
from meridian.sensors.pump import Pump

SECOND = 10**9
NOW = 1_760_000_000 * SECOND
KIND = SourceKind.OPTICAL


def seen(number: int) -> Observation:
    return Observation(
        observation_id=f"00000000-0000-5000-8000-{number:012d}",
        source_id="optical-maui",
        source_kind="Optical",
        sensor_ts_ns=NOW - 100 * SECOND + number,
        ingest_ts_ns=NOW,
        target=Angular(1.0, 0.5),
        uncertainty=Uncertainty(1e-5),
        clock_quality=ClockQuality("NtpSynced"),
    )


class Scripted(ObservationSource):
    """Gives what it is told to, one piece a time, and then waits to be stopped."""

    kind: ClassVar[SourceKind] = KIND
    where = "nowhere"

    def __init__(self, pieces: list[list[Observation]], *, has_mark: bool) -> None:
        super().__init__("optical")
        self._pieces = pieces
        self._has_mark = has_mark
        self._stopped = asyncio.Event()
        self.asked = 0
        self.settled: list[int] = []

    @property
    def mark(self) -> int | None:
        return self.asked if self._has_mark else None

    async def open(self) -> None:
        """Nothing to do."""

    async def next(self) -> Taken | None:
        await asyncio.sleep(0)
        if not self._pieces:
            await self._stopped.wait()
            return None
        self.asked += 1
        number = self.asked
        good = from_observations(self._pieces.pop(0))
        return Taken(Screened(good), b"raw", NOW, self.mark, settled=lambda: self.settled.append(number))

    def stop(self) -> None:
        self._stopped.set()

    async def close(self) -> None:
        """Nothing to do."""


@pytest.mark.parametrize("has_mark", [True, False], ids=["asked", "pushed"])
def test_a_silent_source_leaves_heartbeats_behind_its_observations(logs: Logs, has_mark: bool) -> None:
    times = [NOW]

    async def run() -> Pump:
        source = Scripted([[seen(1)], [seen(2)]], has_mark=has_mark)
        pump = Pump(source, logs.landing(KIND), plan=room(1), now_ns=lambda: times[0], idle=IdleRule(after_ns=SECOND))
        running = asyncio.create_task(pump.run())
        while pump.meter.durable < 2:
            await asyncio.sleep(0.001)
        for later in (0, 2, 2.5, 4):
            times[0] = NOW + int(later * SECOND)
            pump.beat()
            while pump.under_way:
                await asyncio.sleep(0.001)
        source.stop()
        await running
        return pump

    pump = asyncio.run(run())
    rows = logs.rows("obs.optical")
    assert rows is not None
    assert rows.records["row"].tolist() == [Row.OBSERVATION, Row.OBSERVATION, Row.HEARTBEAT, Row.HEARTBEAT]
    assert rows.source_ids.to_pylist()[2:] == ["optical", "optical"]
    claimed = [NOW + 2 * SECOND - 30 * SECOND - SECOND // 10, NOW + 4 * SECOND - 30 * SECOND - SECOND // 10]
    assert rows.records["sensor_ts_ns"].tolist()[2:] == claimed
    assert pump.watermark_ns == claimed[-1]
    assert pump.meter.heartbeats == 2


def test_the_mark_of_a_source_that_is_asked_is_not_moved_by_heartbeats(logs: Logs) -> None:
    async def run() -> None:
        source = Scripted([], has_mark=True)
        landing = logs.landing(KIND)
        pump = Pump(source, landing, plan=room(1), now_ns=lambda: NOW, idle=IdleRule(after_ns=0))
        pump.beat()
        while pump.under_way:
            await asyncio.sleep(0.001)
        assert str(landing.inbox.position()) == "0"

    asyncio.run(run())


def test_a_clock_from_the_future_does_not_move_the_watermark_beyond_ours(logs: Logs) -> None:
    ahead = replace(seen(1), sensor_ts_ns=NOW + 3600 * SECOND)

    async def run() -> Pump:
        source = Scripted([[ahead]], has_mark=False)
        pump = Pump(source, logs.landing(KIND), plan=room(1), now_ns=lambda: NOW)
        running = asyncio.create_task(pump.run())
        while pump.meter.durable < 1:
            await asyncio.sleep(0.001)
        source.stop()
        await running
        return pump

    pump = asyncio.run(run())
    assert pump.watermark_ns == NOW - 30 * SECOND
    assert pump.meter.lags.negative == 1


@pytest.mark.req("DLV-04")
def test_nothing_is_settled_before_it_is_durable_and_all_of_it_in_order(logs: Logs) -> None:
    async def run() -> list[int]:
        source = Scripted([[seen(number)] for number in range(20)], has_mark=False)
        pump = Pump(source, logs.landing(KIND), plan=room(7), now_ns=lambda: NOW)
        running = asyncio.create_task(pump.run())
        while source.asked < 20:
            await asyncio.sleep(0)
            assert pump.under_way <= 7
            assert len(source.settled) <= len(logs.observations(KIND))
        source.stop()
        await running
        return source.settled

    assert asyncio.run(run()) == list(range(1, 21))


def test_a_log_without_room_is_tried_again_until_it_has_some(logs: Logs) -> None:
    async def run() -> None:
        source = Scripted([[seen(1)], [seen(2)]], has_mark=False)
        landing = logs.landing(KIND, quota=1)
        pump = Pump(source, landing, plan=room(1), now_ns=lambda: NOW)
        running = asyncio.create_task(pump.run())
        while source.asked < 2:
            await asyncio.sleep(0.001)
        assert source.settled == [1]
        landing.inbox.set_cursor("reader", 1)
        landing.inbox.trim()
        while len(source.settled) < 2:
            await asyncio.sleep(0.001)
        source.stop()
        await running
        assert landing.inbox.end() == 2

    asyncio.run(run())


def test_a_log_that_another_owner_took_ends_the_pump(logs: Logs) -> None:
    async def run() -> None:
        source = Scripted([[seen(1)]], has_mark=False)
        pump = Pump(source, logs.landing(KIND), plan=room(1), now_ns=lambda: NOW)
        other = Logs(logs.directory)
        other.landing(KIND)
        try:
            with pytest.raises(LogFenced):
                await pump.run()
        finally:
            other.close()

    asyncio.run(run())


def test_a_heartbeat_into_a_log_that_was_closed_ends_the_pump(logs: Logs) -> None:
    async def run() -> None:
        source = Scripted([], has_mark=False)
        landing = logs.landing(KIND)
        pump = Pump(source, landing, plan=room(1), now_ns=lambda: NOW, idle=IdleRule(after_ns=0))
        landing.inbox.close()
        pump.beat()
        with pytest.raises(LogClosed):
            await pump.run()

    asyncio.run(run())
