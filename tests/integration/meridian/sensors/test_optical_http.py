"""The optical archive over a real HTTP server: marks, pauses, ties, gaps and trouble."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import pytest
from tests.support.sensor_logs import Logs, room

from holdfast.flow import BreakerPolicy, RetryPolicy
from meridian.sensors import Catalog, Screen, SourceKind, Taken, standard_rules, to_observations
from meridian.sensors.pump import Pump
from meridian.sensors.simulate.archive import Archive, Record
from meridian.sensors.sources.archive_client import Mode, Polling
from meridian.sensors.sources.optical_http import OpticalHttp

KIND = SourceKind.OPTICAL
AT = 1_760_000_000_000_000_000
SECOND = 1_000_000_000
SCREEN = Screen(standard_rules(Catalog()))
QUICK = Polling(
    interval=0.02, overlap_ns=SECOND, retry=RetryPolicy(base=0.01, cap=0.02), breaker=BreakerPolicy(cool_down=0.05)
)


def record(number: int, at: int | None = None, **changes: object) -> Record:
    return {
        "obs_id": f"{number:04d}",
        "timestamp_ns": AT + number * SECOND if at is None else at,
        "ra_rad": 1.0,
        "dec_rad": 0.5,
        "sigma_arcsec": 2.0,
        "site_id": "maui",
        **changes,
    }


def asked(
    scenario: Callable[[Archive, OpticalHttp], Awaitable[None]],
    *,
    polling: Polling = QUICK,
    mark: int = 0,
    now: Callable[[], int] = lambda: AT + 100 * SECOND,
) -> None:
    async def run() -> None:
        archive = Archive()
        await archive.start()
        source = OpticalHttp("optical", archive.endpoint, SCREEN, now, polling=polling, mark_ns=mark, random=Random(1))
        await source.open()
        try:
            await scenario(archive, source)
        finally:
            await source.close()
            await archive.stop()

    asyncio.run(run())


def numbers(taken: Taken | None) -> list[int]:
    assert taken is not None
    return [(each.sensor_ts_ns - AT) // SECOND for each in to_observations(taken.screened.good)]


@pytest.mark.req("ING-03", "ING-04")
def test_the_archive_is_asked_for_what_came_since_the_mark() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1), record(2), record(5)])
        assert numbers(await source.next()) == [1, 2, 5]
        assert source.mark == AT + 5 * SECOND
        archive.publish([record(7)])
        assert numbers(await source.next()) == [7]
        assert [request["since"] for request in archive.requests] == [0, AT + 4 * SECOND]

    asked(scenario)


@pytest.mark.req("ING-03")
def test_without_an_overlap_the_mark_itself_is_asked_for() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(3), record(4)])
        assert numbers(await source.next()) == [4]
        assert archive.requests == [{"since": AT + 4 * SECOND}]

    asked(scenario, polling=replace(QUICK, overlap_ns=0), mark=AT + 4 * SECOND)


@pytest.mark.req("ING-07")
def test_records_of_one_time_are_neither_lost_nor_taken_twice() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1), record(2, at=AT + SECOND)])
        assert len(numbers(await source.next())) == 2
        archive.publish([record(3, at=AT + SECOND), record(4, at=AT + SECOND // 2)])
        later = await source.next()
        assert later is not None
        assert sorted(numbers(later)) == [0, 1]

    asked(scenario)


@pytest.mark.req("ING-05")
def test_after_an_answer_without_anything_new_the_archive_is_left_alone() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.next(), 0.4)
        assert len(archive.requests) == 1
        archive.publish([record(1)])
        await asyncio.wait_for(source.next(), 60)

    asked(scenario, polling=replace(QUICK, interval=1.0))


@pytest.mark.req("ING-05")
def test_an_answer_is_waited_for_ten_seconds() -> None:
    assert Polling().timeout == 10.0

    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        slow = asyncio.Event()
        archive.hold = slow
        waiting = asyncio.create_task(source.next())
        while source.drops["answers"] < 2:
            await asyncio.sleep(0.01)
        slow.set()
        archive.hold = None
        assert numbers(await waiting) == [1]

    asked(scenario, polling=replace(QUICK, timeout=0.05))


@pytest.mark.req("ING-06")
def test_a_long_poll_is_held_and_asked_again_at_once_when_it_was_empty() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        assert numbers(await source.next()) == [1]
        waiting = asyncio.create_task(source.next())
        while len(archive.requests) < 5:
            await asyncio.sleep(0.01)
        archive.publish([record(2)])
        assert numbers(await waiting) == [2]
        held = {"since": AT + SECOND + 1, "wait_ms": 50}
        assert archive.requests[:5] == [{"since": 0}, {"since": AT}, held, held, held]

    asked(scenario, polling=replace(QUICK, mode=Mode.LONG_POLL, wait_ms=50, interval=3600.0))


@pytest.mark.req("ING-06")
def test_a_long_poll_is_given_up_two_seconds_after_the_archive_should_have_answered() -> None:
    query, seconds = Polling(wait_ms=700).request(Mode.LONG_POLL, AT)
    assert query == {"since": AT + 1, "wait_ms": 700}
    assert seconds == pytest.approx(2.7)


@pytest.mark.req("ING-03")
def test_a_telescope_whose_clock_is_off_by_years_keeps_no_other_from_being_asked_for() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1), record(2, at=AT + 10**18)])
        taken = await source.next()
        assert taken is not None
        assert len(taken.screened.good) == 2
        assert source.mark == AT + 100 * SECOND
        archive.publish([record(99, at=AT + 99 * SECOND + SECOND // 2)])
        assert numbers(await source.next()) == [99]

    asked(scenario)


@pytest.mark.req("ING-06", "ING-07")
def test_a_long_poll_is_followed_by_a_look_back() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        await source.next()
        waiting = asyncio.create_task(source.next())
        while len(archive.requests) < 3:
            await asyncio.sleep(0.01)
        archive.publish([record(2), record(3, at=AT + SECOND)])
        assert numbers(await waiting) == [2]
        assert numbers(await source.next()) == [1]

    asked(scenario, polling=replace(QUICK, mode=Mode.LONG_POLL, wait_ms=5000, interval=3600.0))


@pytest.mark.req("RET-02")
@pytest.mark.parametrize("status", [500, 503, 429])
def test_trouble_that_passes_is_waited_out(status: int) -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        archive.faults.status = status
        waiting = asyncio.create_task(source.next())
        while source.drops["answers"] < 3:
            await asyncio.sleep(0.005)
        archive.faults.status = 200
        assert numbers(await waiting) == [1]

    asked(scenario, polling=replace(QUICK, interval=3600.0))


@pytest.mark.req("RET-02")
def test_an_archive_that_is_not_there_is_asked_again() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        port = archive.port
        await archive.stop()
        waiting = asyncio.create_task(source.next())
        while source.drops["answers"] < 2:
            await asyncio.sleep(0.005)
        archive.publish([record(1)])
        await archive.start(port)
        assert numbers(await waiting) == [1]

    asked(scenario, polling=replace(QUICK, interval=3600.0))


@pytest.mark.req("RET-02")
def test_a_refusal_is_not_asked_again_before_the_interval() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.faults.status = 404
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.next(), 0.3)
        assert source.drops["answers"] == 1

    asked(scenario, polling=replace(QUICK, interval=3600.0))


@pytest.mark.req("RET-02")
def test_an_answer_that_is_no_array_is_refused_once_and_asked_for_after_the_interval() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.faults.body = b"<html>"
        taken = await source.next()
        assert taken is not None
        assert [each.payload for each in taken.screened.refused] == [b"<html>"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.next(), 0.2)
        assert len(archive.requests) == 1

    asked(scenario, polling=replace(QUICK, interval=3600.0))


@pytest.mark.req("ING-13")
def test_a_source_that_is_stopped_waits_for_no_answer() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.hold = asyncio.Event()
        waiting = asyncio.create_task(source.next())
        while not archive.requests:
            await asyncio.sleep(0.005)
        source.stop()
        assert await waiting is None
        assert source.drops["answers"] == 0
        archive.hold.set()

    asked(scenario, polling=replace(QUICK, timeout=3600.0))


@pytest.mark.req("RET-08")
def test_an_archive_that_only_fails_is_left_alone_while_the_breaker_is_open() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.faults.status = 503
        waiting = asyncio.create_task(source.next())
        while source.gauges()["circuit_breaker_state"] != 1:
            await asyncio.sleep(0.005)
        archive.faults.status = 200
        archive.publish([record(1)])
        await asyncio.sleep(0.2)
        assert len(archive.requests) == source.gauges()["retry_attempts_total"] == 5
        source.stop()
        assert await waiting is None

    asked(scenario, polling=replace(QUICK, breaker=BreakerPolicy(cool_down=3600.0)))


@pytest.mark.req("RET-09")
def test_after_an_outage_the_archive_is_probed_and_everything_is_taken() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.faults.status = 503
        waiting = asyncio.create_task(source.next())
        while source.drops["answers"] < 8:
            await asyncio.sleep(0.005)
        archive.publish([record(1), record(2)])
        archive.faults.status = 200
        assert numbers(await waiting) == [1, 2]
        assert source.gauges()["circuit_breaker_state"] == 0

    asked(scenario)


@pytest.mark.req("RET-02")
def test_an_archive_that_asks_for_time_is_given_it() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.faults.status, archive.faults.retry_after = 429, 3600
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.next(), 0.3)
        assert len(archive.requests) == 1

    asked(scenario)


def test_a_bad_record_is_refused_once_though_it_comes_again() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1), record(2, ra="renamed"), record(3)])
        first = await source.next()
        assert first is not None
        assert (numbers(first), len(first.screened.refused)) == ([1, 3], 1)
        archive.publish([record(4)])
        again = await source.next()
        assert again is not None
        assert (numbers(again), again.screened.refused) == ([4], ())

    asked(scenario, polling=replace(QUICK, overlap_ns=10 * SECOND))


@pytest.mark.req("ING-07")
def test_a_mark_older_than_the_archive_is_a_gap_that_is_counted_and_told() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        assert numbers(await source.next()) == [1]
        assert source.drops["gaps"] == 1
        assert str(AT - 25 * 3600 * SECOND) in source.alarms["gap"]
        archive.publish([record(2)])
        await source.next()
        assert source.drops["gaps"] == 1

    asked(scenario, mark=AT - 25 * 3600 * SECOND, now=lambda: AT)


@pytest.mark.parametrize("mark", [0, AT - 24 * 3600 * SECOND])
def test_a_new_log_and_a_mark_that_the_archive_still_has_are_no_gap(mark: int) -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        archive.publish([record(1)])
        await source.next()
        assert (source.drops["gaps"], source.alarms) == (0, {})

    asked(scenario, mark=mark, now=lambda: AT)


def test_an_archive_that_answers_that_there_is_nothing_for_days_is_no_gap() -> None:
    day = 24 * 3600 * SECOND
    clock = iter(range(AT, AT + 100 * day, day // 2))

    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        waiting = asyncio.create_task(source.next())
        while len(archive.requests) < 8:
            await asyncio.sleep(0.01)
        source.stop()
        await waiting
        assert source.drops["gaps"] == 0

    asked(scenario, mark=AT, now=lambda: next(clock) // day * day)


def test_silence_means_nothing_only_as_long_as_the_archive_answers() -> None:
    async def scenario(archive: Archive, source: OpticalHttp) -> None:
        assert source.quiet_until_ns(AT) is None
        archive.publish([record(1)])
        await source.next()
        assert source.quiet_until_ns(AT + 10**12) == AT + 100 * SECOND

    asked(scenario)


@pytest.mark.req("ING-07", "ENV-05", "DLV-04")
def test_the_mark_survives_a_restart_and_nothing_is_stored_twice(logs: Logs) -> None:
    async def run_once(archive: Archive, records: int) -> int:
        landing = logs.landing(KIND)
        position = landing.inbox.position()
        mark = 0 if position is None else int(str(position))
        source = OpticalHttp("optical", archive.endpoint, SCREEN, time.time_ns, polling=QUICK, mark_ns=mark)
        await source.open()
        pump = Pump(source, landing, plan=room(1), now_ns=time.time_ns)
        running = asyncio.create_task(pump.run())
        while pump.meter.durable + pump.meter.repeated < records:
            await asyncio.sleep(0.01)
        source.stop()
        await running
        await source.close()
        logs.close()
        return mark

    async def run() -> None:
        archive = Archive()
        await archive.start()
        archive.publish([record(1), record(2)])
        assert await run_once(archive, 2) == 0
        archive.publish([record(3), record(4, at=AT + 2 * SECOND)])
        assert await run_once(archive, 4) == AT + 2 * SECOND
        await archive.stop()

    asyncio.run(run())
    ids = [each.observation_id for each in logs.observations(KIND)]
    assert len(ids) == len(set(ids)) == 4


def test_a_record_that_is_refused_is_a_dead_letter_before_the_mark_passes_it(logs: Logs) -> None:
    async def run() -> None:
        archive = Archive()
        await archive.start()
        wrong = record(9, dec_rad=3.0)
        archive.publish([record(1), wrong])
        landing = logs.landing(KIND)
        source = OpticalHttp("optical", archive.endpoint, SCREEN, time.time_ns, polling=QUICK)
        await source.open()
        pump = Pump(source, landing, plan=room(1), now_ns=time.time_ns)
        running = asyncio.create_task(pump.run())
        while pump.meter.durable < 1:
            await asyncio.sleep(0.01)
        assert [json.loads(each.payload) for each in logs.dead()] == [wrong]
        assert str(landing.inbox.position()) == str(AT + 9 * SECOND)
        source.stop()
        await running
        await source.close()
        await archive.stop()

    asyncio.run(run())
