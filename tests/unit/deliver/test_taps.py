"""Somebody looks at the rows of a lane: a few of them, and the lane is not held up."""

from __future__ import annotations

import pyarrow as pa

from holdfast.deliver.taps import Taps


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"n": list(range(first, first + count))})


def numbers(tables: list[pa.Table]) -> list[int]:
    return [n for table in tables for n in table["n"].to_pylist()]


def test_a_tap_keeps_what_it_has_room_for_and_counts_the_rest() -> None:
    taps = Taps()
    with taps.opened(5) as tap:
        for first in (0, 3, 6):
            taps.offer(rows(first, 3))
        assert (numbers(tap.wait(0)), tap.missed) == ([0, 1, 2, 3, 4], 4)


def test_two_taps_see_the_same_and_one_that_is_closed_nothing_more() -> None:
    taps = Taps()
    with taps.opened(9) as one:
        with taps.opened(1) as other:
            taps.offer(rows(0, 2))
        taps.offer(rows(2, 2))
        assert (numbers(one.wait(0)), numbers(other.wait(0))) == ([0, 1, 2, 3], [0])


def test_nobody_waits_longer_than_asked_for() -> None:
    with Taps().opened(1) as tap:
        assert tap.wait(0.01) == []
