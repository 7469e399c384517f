"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from tests.support.seen import SECOND

from meridian.screen.wording import chance, clock, countdown, distance, lasting, size, tally


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "00:00:00"),
        (59.9, "00:00:59"),
        (3_600, "01:00:00"),
        (86_399, "23:59:59"),
        (86_400, "1d 00:00"),
        (400 * 86_400 + 7_260, "400d 02:01"),
        (-12, "00:00:12 ago"),
    ],
)
def test_countdown(seconds: float, text: str) -> None:
    assert countdown(round(seconds * SECOND)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (0.0641, "64 ms"),
        (4.04, "4.0 s"),
        (36, "36 s"),
        (599, "599 s"),
        (4_980, "83 min"),
        (360_000, "100 h"),
        (-0.2, "-200 ms"),
    ],
)
def test_lasting(seconds: float | None, text: str) -> None:
    assert lasting(seconds) == text


@pytest.mark.parametrize(("metres", "text"), [(0.2, "0 m"), (999.4, "999 m"), (999.6, "1.00 km"), (math.inf, "-")])
def test_distance(metres: float, text: str) -> None:
    assert distance(metres) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.14e-4, "3.1e-04"), (1e-12, "1.0e-12"), (1e-200, "<1e-12"), (0.0, "<1e-12"), (math.nan, "unknown")],
)
def test_chance(value: float, text: str) -> None:
    assert chance(value) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (18_400_000, "18 MB"), (10**16, "10,000 TB")])
def test_size(count: int, text: str) -> None:
    assert size(count) == text


def test_a_time_that_no_calendar_has_is_not_named() -> None:
    assert clock(2**63 - 1) == "23:47:16"
    assert clock(10**21) == "-"
    assert clock(None) == "-"


def test_a_tally_begins_with_the_most_frequent() -> None:
    assert tally({"a": 1, "b": 2_000, "c": 0}) == "2,001 (b 2,000, a 1)"
    assert tally({}) == "0"
