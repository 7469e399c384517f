"""How new the events are that a sink has, batch by batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.control.event_times import EventTimes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def test_a_lane_has_the_newest_of_what_it_passed() -> None:
    times = EventTimes()
    times.published(3, at(1))
    times.published(5, at(2))
    for cursor, expected in ((2, None), (3, at(1)), (4, at(1)), (5, at(2)), (9, at(2))):
        times.stands("table", cursor)
        assert times.of("table") == expected
    assert times.of("archive") is None


def test_events_that_come_late_make_nothing_older() -> None:
    times = EventTimes()
    times.published(1, at(5))
    times.published(2, at(3))
    times.stands("table", 2)
    assert times.of("table") == at(5)
    times.captured("orders", 10, at(5))
    times.captured("orders", 20, at(3))
    assert times.of_source("orders") == at(5)


def test_a_source_is_looked_up_once_for_every_end_and_may_have_no_times() -> None:
    times = EventTimes()
    assert times.knows("orders", 0)
    assert not times.knows("orders", 10)
    times.captured("orders", 10, None)
    assert times.knows("orders", 10)
    assert times.of_source("orders") is None


def test_memory_is_bounded() -> None:
    times = EventTimes()
    for oseq in range(1, 20_001):
        times.published(oseq, at(0))
    assert len(times._batches) == len(times._times) == 10_000
