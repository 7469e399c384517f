"""Times: what CCSDS texts mean, to the nanosecond, and what is no time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.time import format_ccsds, julian, parse_ccsds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00", 0),
        ("1970-01-02T00:00:00.000000001Z", 86_400_000_000_001),
        ("2000-060T12:00:00.5", 951_825_600_500_000_000),
        ("2000-02-29T12:00:00.5", 951_825_600_500_000_000),
    ],
)
def test_a_text_names_a_time(text: str, expected: int) -> None:
    assert parse_ccsds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2001-02-29T00:00:00", "2001-366T00:00:00", "2001-000T00:00:00", "2016-12-31T23:59:60", "2001-01-01T24:00:00",
        "2001-01-01 00:00:00", "2001-01-01T00:00:00+01:00", "2001-01-01T00:00:00.", "",
    ],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_ccsds(text) is None


@settings(deadline=None)
@given(st.integers(-(10**18), 4 * 10**18))
def test_a_time_that_is_written_is_read_back_to_the_nanosecond(time_ns: int) -> None:
    assert parse_ccsds(format_ccsds(time_ns)) == time_ns


def test_the_julian_date_is_split_at_midnight() -> None:
    whole, fraction = julian(np.array([946_728_000_000_000_000]))
    assert (whole[0], fraction[0]) == (2_451_544.5, 0.5)
