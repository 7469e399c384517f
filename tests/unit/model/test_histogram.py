"""The histogram against a plain computation of percentiles."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.histogram import BOUNDS, GROWTH, SMALLEST, DurationHistogram

DURATIONS = st.lists(st.floats(SMALLEST, 3600), min_size=1, max_size=200)


def nearest_rank(values: list[float], percent: float) -> float:
    return sorted(values)[max(1, ceil(len(values) * percent / 100)) - 1]


def filled(values: list[float]) -> DurationHistogram:
    histogram = DurationHistogram()
    for value in values:
        histogram.record(value)
    return histogram


@pytest.mark.req("K4")
@given(DURATIONS, st.sampled_from([0, 1, 25, 50, 90, 99, 99.9, 100]))
def test_a_percentile_is_never_below_the_true_one_and_at_most_one_bucket_above(
    values: list[float], percent: float
) -> None:
    true = nearest_rank(values, percent)
    assert true <= filled(values).percentile(percent) <= true * GROWTH * (1 + 1e-9)


@pytest.mark.req("K4")
def test_p50_and_p99_are_read_from_a_skewed_distribution() -> None:
    histogram = filled([0.010] * 98 + [0.150, 0.900])
    assert histogram.p50 == pytest.approx(0.010, rel=GROWTH - 1)
    assert histogram.p99 == pytest.approx(0.150, rel=GROWTH - 1)
    assert histogram.longest == 0.900


@given(DURATIONS)
def test_the_cumulative_counts_are_what_counting_gives(values: list[float]) -> None:
    cumulative = filled(values).cumulative()
    assert cumulative[-1] == (float("inf"), len(values))
    assert all(seen == sum(value <= bound for value in values) for bound, seen in cumulative)


def test_what_is_out_of_range_is_counted_in_the_first_and_last_bucket() -> None:
    histogram = filled([0.0, BOUNDS[-1] * 5])
    assert (histogram.count, histogram.percentile(1), histogram.percentile(100)) == (2, SMALLEST, BOUNDS[-1] * 5)


def test_an_empty_histogram_says_zero() -> None:
    assert (DurationHistogram().p50, DurationHistogram().p99, DurationHistogram().count) == (0.0, 0.0, 0)
