"""What the batches of a run say: rates, latencies, and which stage is the slow one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.control.figures import BatchSeen, figures

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def batch(first: float, last: float, published: float, **committed: float) -> BatchSeen:
    times = {name: at(seconds) for name, seconds in committed.items()}
    return BatchSeen(100, 90, 1_000_000, at(first), at(last), at(published), times)


BUSY = [batch(0, 1, 3, table=4), batch(1, 2, 5, table=6), batch(2, 3, 7, table=8)]
"""Spark works without a pause from second 1 on, two seconds a batch; the table takes one."""


def test_rates_are_of_what_was_published_in_the_time() -> None:
    found = figures(BUSY, at(0), at(10))
    assert (found.seconds, found.batches, found.events, found.rows) == (10, 3, 300, 270)
    assert (found.events_per_second, found.rows_per_second, found.megabytes_per_second) == (30, 27, 0.3)


def test_latency_is_from_the_capture_of_the_oldest_event_to_the_commit() -> None:
    latency = figures(BUSY, at(0), at(10)).latency["table"]
    assert (latency.batches, latency.p50, latency.worst) == (3, 5, 6)


def test_what_waited_for_spark_to_start_is_late_for_that_and_not_counted() -> None:
    found = figures([batch(-60, 0, 1, table=2), batch(1, 1, 3, table=4)], at(0), at(10))
    assert found.latency["table"].worst == 3
    alone = figures([batch(-60, 0, 1, table=2)], at(0), at(10))
    assert alone.latency["table"].worst == 62, "unless there is nothing else"


def test_the_time_of_a_batch_is_told_by_stage() -> None:
    spent = figures(BUSY, at(0), at(10)).spent
    assert spent == {"inbox": pytest.approx((1 + 2 + 3) / 3), "spark": 2, "sink table": 1}


def test_the_slow_stage_is_the_busy_one() -> None:
    found = figures(BUSY, at(1), at(7))
    assert found.busy == {"spark": 1, "sink table": 0.5}


def test_a_sink_that_queues_is_busy_once_at_a_time() -> None:
    slow = [batch(0, 0, 1, table=5), batch(1, 1, 2, table=9)]
    found = figures(slow, at(0), at(10))
    assert found.busy["sink table"] == pytest.approx(0.8), "it had the second at hand only after the first"
    assert found.spent["sink table"] == pytest.approx((4 + 7) / 2), "but the second waited for the first too"


def test_a_batch_that_a_sink_does_not_have_yet_has_no_latency_there() -> None:
    found = figures([batch(0, 0, 1, fast=2, slow=3), batch(1, 1, 2, fast=3)], at(0), at(4))
    assert {name: latency.batches for name, latency in found.latency.items()} == {"fast": 2, "slow": 1}


def test_spark_waits_for_events_and_that_is_not_its_time() -> None:
    found = figures([batch(0, 0, 1, table=1), batch(8, 8, 9, table=9)], at(0), at(10))
    assert found.busy["spark"] == pytest.approx(0.2)
