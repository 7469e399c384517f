"""Latency is measured from capture to the sink's commit, and never told shorter than it was."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.snapshots import START

from holdfast.control.latency import Latencies, Latency


@pytest.mark.req("X24")
def test_a_batch_counts_from_its_oldest_event_to_the_moment_its_cursor_passed() -> None:
    latencies = Latencies()
    latencies.stands("table", 0, START)
    latencies.published(1, START)
    latencies.published(2, START + timedelta(seconds=1))
    latencies.stands("table", 0, START + timedelta(seconds=2))
    assert latencies.of("table") == Latency(), "published is not delivered"
    latencies.stands("table", 1, START + timedelta(seconds=3))
    assert latencies.of("table") == Latency(1, 3.0, 3.0, 3.0)
    latencies.stands("table", 2, START + timedelta(seconds=3))
    assert latencies.of("table") == Latency(2, 2.0, 2.0, 3.0)


def test_a_lane_that_is_seen_for_the_first_time_says_nothing_about_what_it_has() -> None:
    latencies = Latencies()
    latencies.published(1, START)
    latencies.stands("late", 1, START + timedelta(hours=1))
    assert latencies.of("late") == Latency()


def test_a_slow_lane_is_measured_after_the_others_have_passed() -> None:
    latencies = Latencies()
    for lane in ("fast", "slow"):
        latencies.stands(lane, 0, START)
    latencies.published(1, START)
    latencies.stands("fast", 1, START)
    latencies.settle()
    latencies.stands("slow", 1, START + timedelta(seconds=9))
    assert latencies.of("slow").worst == 9.0


def test_what_is_pending_is_bounded() -> None:
    latencies = Latencies()
    latencies.stands("dead", 0, START)
    for oseq in range(1, 20_001):
        latencies.published(oseq, START)
    latencies.stands("dead", 20_000, START)
    assert latencies.of("dead").batches == 512
