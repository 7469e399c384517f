"""Alarms of a source, and sightings, by hand-made clocks."""

from __future__ import annotations

import pytest

from meridian.sensors import Angular, ClockQuality, Observation, ObservationColumns, Uncertainty, from_observations
from meridian.sensors.sightings import Sightings
from meridian.sensors.watch import LagWatch, Sample, Watch

MS = 1_000_000


def test_drops_are_told_at_once_and_no_more_when_they_are_a_minute_old() -> None:
    watch = Watch()
    assert watch.alarms(Sample(0.0, taken=0, dropped=0, ahead=0)) == {}
    assert watch.alarms(Sample(1.0, taken=990, dropped=10, ahead=0)) == {}
    told = watch.alarms(Sample(2.0, taken=1000, dropped=20, ahead=0))
    assert told == {"drops": "20 of 1020 were dropped in the last 60 s."}
    assert "drops" in watch.alarms(Sample(61.0, taken=1000, dropped=20, ahead=0))
    assert watch.alarms(Sample(62.0, taken=1000, dropped=20, ahead=0)) == {}


def test_what_was_dropped_before_the_first_look_counts() -> None:
    assert "drops" in Watch().alarms(Sample(0.25, taken=5, dropped=30, ahead=0))


def test_a_clock_is_told_only_when_it_stays_ahead() -> None:
    watch = Watch()
    for second in range(60):
        assert watch.alarms(Sample(float(second), taken=100 * second, dropped=0, ahead=2 * second)) == {}
    told = watch.alarms(Sample(60.0, taken=6000, dropped=0, ahead=120))
    assert told == {"clock_ahead": "120 of 6000 were ahead of our clock in the last 60 s."}
    assert watch.alarms(Sample(121.0, taken=12_000, dropped=0, ahead=120)) == {}


@pytest.mark.req("FLW-12")
def test_a_consumer_is_told_when_it_has_not_processed_what_was_there_long_enough_ago() -> None:
    watch = LagWatch(seconds=300.0)
    assert watch.alarms(0.0, 1000, {"fusion": 0, "audit": 1000}) == {}
    assert watch.alarms(299.0, 5000, {"fusion": 0, "audit": 1000}) == {}
    told = watch.alarms(300.0, 6000, {"fusion": 999, "audit": 1000})
    assert told == {"consumer_lag": "fusion is 5001 events behind, and has been for more than 300 s."}
    assert watch.alarms(301.0, 6001, {"fusion": 1000, "audit": 1000}) == {}
    told = watch.alarms(700.0, 7000, {"fusion": 6001, "audit": 6000})
    assert told == {"consumer_lag": "audit is 1000 events behind, and has been for more than 300 s."}


def test_a_consumer_that_keeps_up_with_a_fast_log_is_no_alarm_however_many_events_are_under_way() -> None:
    watch = LagWatch(seconds=10.0)
    for second in range(100):
        assert watch.alarms(float(second), 50_000 * second, {"fusion": 50_000 * max(second - 9, 0)}) == {}


def seen(*objects: str | None, sensor: str = "optical-maui") -> ObservationColumns:
    return from_observations(
        [
            Observation(
                observation_id="00000000-0000-5000-8000-000000000001",
                source_id=sensor,
                source_kind="Optical",
                sensor_ts_ns=1,
                ingest_ts_ns=1,
                target=Angular(1.0, 0.5),
                uncertainty=Uncertainty(1.0),
                clock_quality=ClockQuality("NtpSynced"),
                target_object_id=each,
            )
            for each in objects
        ]
    )


@pytest.mark.req("ING-19")
def test_repeats_within_the_window_are_one_sighting() -> None:
    sightings = Sightings(500 * MS)
    sightings.see(seen("a", "b", "a"), 0)
    assert sightings.count == 2
    sightings.see(seen("a"), 499 * MS)
    assert sightings.count == 2
    sightings.see(seen("a"), 500 * MS)
    sightings.see(seen("a", sensor="optical-rota"), 500 * MS)
    assert sightings.count == 4


@pytest.mark.req("ING-19")
def test_nothing_is_remembered_for_longer_than_twice_the_window() -> None:
    sightings = Sightings(500 * MS)
    for tick in range(100):
        sightings.see(seen(*(f"{tick}-{number}" for number in range(10))), tick * 100 * MS)
        assert sightings.remembered <= 10 * 10
    assert sightings.count == 1000
    sightings.see(seen(), 1_000_000 * MS)
    assert sightings.remembered == 0
