"""Rates, lags and heartbeats, by hand-made clocks."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.sensors.idle import IdleRule
from meridian.sensors.landing import TokenBucket
from meridian.sensors.meters import LAG_BOUNDS_S, Lags, Rate

SECOND = 10**9


@pytest.mark.req("CTL-02")
def test_a_steady_rate_is_told_as_it_is() -> None:
    rate = Rate()
    rate.count(0, 0.0)
    for tick in range(1, 201):
        rate.count(500, tick * 0.1)
    assert rate.value(20.0) == pytest.approx(5000, rel=0.01)


@pytest.mark.req("CTL-02")
def test_a_rate_fades_over_thirty_seconds() -> None:
    rate = Rate()
    rate.count(0, 0.0)
    for tick in range(1, 6001):
        rate.count(10, tick * 0.1)
    before = rate.value(600.0)
    assert rate.value(630.0) == pytest.approx(before * exp(-1), rel=0.001)


def test_without_events_there_is_no_rate() -> None:
    assert Rate().value(5.0) == 0.0


@pytest.mark.req("EVT-04")
@given(st.lists(st.integers(0, 200 * SECOND), min_size=1, max_size=50))
def test_each_lag_is_in_the_bucket_of_its_bound(lags: list[int]) -> None:
    histogram = Lags()
    for start in range(0, len(lags), 7):
        histogram.record(np.array(lags[start : start + 7], np.int64))
    expected = [sum(lag <= round(bound * 1e9) for lag in lags) for bound in LAG_BOUNDS_S]
    assert np.cumsum(histogram.counts)[:-1].tolist() == expected
    assert int(histogram.counts.sum()) == len(lags)
    assert histogram.total_s == pytest.approx(sum(lags) / 1e9)


@pytest.mark.req("EVT-05")
def test_a_lag_from_the_future_is_no_lag_and_is_counted() -> None:
    histogram = Lags()
    histogram.record(np.array([-5 * SECOND, -1, 0, 3], np.int64))
    assert histogram.negative == 2
    assert histogram.counts[0] == 4
    assert histogram.total_s == pytest.approx(3e-9)


def test_a_percentile_is_the_bound_of_its_bucket() -> None:
    histogram = Lags()
    assert histogram.percentile(99) == 0.0
    histogram.record(np.array([1_000_000] * 98 + [3_000_000, 60_000_000], np.int64))
    assert histogram.percentile(50) == pytest.approx(0.001)
    assert histogram.percentile(99) == pytest.approx(0.004)
    assert histogram.percentile(100) == pytest.approx(0.064)


NOW = 1_000 * SECOND


def beat(**changes: int | None) -> int | None:
    given: dict[str, int | None] = {
        "now_ns": NOW, "silent_since_ns": NOW - 5 * SECOND, "last_beat_ns": None, "quiet_until_ns": NOW,
        "max_lateness_ns": 10 * SECOND, "watermark_ns": 0,
    }  # fmt: skip
    return IdleRule().heartbeat(**{**given, **changes})  # type: ignore[arg-type]


def test_a_silent_source_says_until_when_there_was_nothing() -> None:
    assert beat() == NOW - 10 * SECOND - SECOND // 10
    assert beat(quiet_until_ns=NOW - SECOND) == NOW - 11 * SECOND - SECOND // 10


@pytest.mark.parametrize(
    "changes",
    [
        {"silent_since_ns": NOW - 2 * SECOND + 1},
        {"last_beat_ns": NOW - SECOND + 1},
        {"quiet_until_ns": None},
        {"watermark_ns": NOW - 10 * SECOND},
    ],
    ids=["not silent for long", "said so just now", "nobody knows", "claimed more before"],
)
def test_otherwise_it_says_nothing(changes: dict[str, int | None]) -> None:
    assert beat(**changes) is None


def test_a_bucket_gives_its_reserve_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=10.0, reserve=5)
    assert [bucket.take(4, 0.0), bucket.take(4, 0.0), bucket.take(4, 0.05)] == [4, 1, 0]
    assert bucket.take(9, 0.25) == 2
    assert bucket.take(9, 1000.0) == 5
