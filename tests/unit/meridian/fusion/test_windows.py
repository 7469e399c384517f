"""Where windows stand: by the watermark and the time of events alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.windows import SECOND, Tier, Windows

WINDOWS = Windows()
TIMES = st.integers(0, 2**62)


@given(TIMES)
@pytest.mark.req("WIN-01")
def test_a_time_lies_in_exactly_one_slice_that_begins_at_a_multiple_of_its_size(time: int) -> None:
    slice_ = int(WINDOWS.slices(np.array([time]))[0])
    assert WINDOWS.end(slice_ - 1) <= time < WINDOWS.end(slice_)
    assert WINDOWS.end(slice_ - 1) % WINDOWS.size == 0


@given(TIMES, st.integers(0, 30 * SECOND))
@pytest.mark.req("COR-03")
def test_two_observations_within_thirty_seconds_meet_in_a_window_wherever_a_border_lies(time: int, apart: int) -> None:
    first, second = WINDOWS.slices(np.array([time, time + apart])).tolist()
    assert second - first in (0, 1), "the window of the later one looks at its slice and the one before"


@given(st.integers(0, 2**40))
@pytest.mark.req("WIN-05", "LAT-08")
def test_a_window_is_open_until_its_end_and_kept_for_five_seconds_more(window: int) -> None:
    end = WINDOWS.end(window)
    assert WINDOWS.tier(window, end - 1) is Tier.ACTIVE
    assert WINDOWS.tier(window, end) is Tier.RETAINED
    assert WINDOWS.tier(window, end + 5 * SECOND - 1) is Tier.RETAINED
    assert WINDOWS.tier(window, end + 5 * SECOND) is Tier.GONE


@given(TIMES)
@pytest.mark.req("WIN-05", "LAT-08")
def test_the_first_window_of_each_tier_is_the_first(watermark: int) -> None:
    active, kept = WINDOWS.first_active(watermark), WINDOWS.first_kept(watermark)
    assert WINDOWS.tier(active, watermark) is Tier.ACTIVE
    assert WINDOWS.tier(active - 1, watermark) is not Tier.ACTIVE
    assert WINDOWS.tier(kept, watermark) is not Tier.GONE
    assert WINDOWS.tier(kept - 1, watermark) is Tier.GONE


@given(TIMES)
@pytest.mark.req("LAT-08")
def test_no_slice_is_needed_for_longer_than_forty_seconds_after_its_end(watermark: int) -> None:
    oldest_needed = WINDOWS.first_kept(watermark) - 1
    assert watermark - WINDOWS.end(oldest_needed) < 40 * SECOND
