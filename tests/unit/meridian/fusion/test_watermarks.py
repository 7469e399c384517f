"""How far the time of events has come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.spark import LATENESS
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND

START = Watermarks(LATENESS)
TIMES = st.integers(0, 1000 * SECOND)
NEWS = st.builds(Heard, st.none() | TIMES, st.none() | TIMES)
BATCHES = st.lists(st.dictionaries(st.sampled_from(sorted(LATENESS)), NEWS), max_size=12)


def at(seconds: float) -> Heard:
    return Heard(int(seconds * SECOND))


@pytest.mark.req("WMK-01", "WMK-02")
def test_a_source_has_come_as_far_as_its_newest_observation_less_its_lateness() -> None:
    marks = START.after({"radar": at(100), "optical": at(100), "isl": at(100)})
    assert marks.sources == {"radar": 99.9 * SECOND, "optical": 70 * SECOND, "isl": 90 * SECOND}


@pytest.mark.req("WMK-05")
def test_all_have_come_as_far_as_the_slowest_and_nowhere_until_each_was_heard() -> None:
    marks = START.after({"radar": at(100), "isl": at(100)})
    assert (marks.all, marks.slowest(), marks.silent()) == (None, None, ["optical"])
    marks = marks.after({"optical": at(95)})
    assert (marks.all, marks.slowest(), marks.silent()) == (65 * SECOND, "optical", [])


@pytest.mark.req("WMK-03")
def test_a_silent_source_that_is_alive_holds_nobody_up() -> None:
    marks = START.after({name: at(100) for name in LATENESS})
    moved = marks.after({"radar": at(200), "isl": at(200), "optical": Heard(quiet=169 * SECOND)})
    assert moved.sources["optical"] == 169 * SECOND
    assert moved.all == 169 * SECOND


def test_a_source_that_is_neither_heard_nor_alive_holds_the_others_up() -> None:
    marks = START.after({name: at(100) for name in LATENESS})
    moved = marks.after({"radar": at(500), "isl": at(500)})
    assert (moved.all, moved.slowest()) == (70 * SECOND, "optical")


@given(BATCHES)
@pytest.mark.req("WMK-04", "WMK-05")
def test_no_watermark_goes_back_and_all_together_never_overtake_a_source(batches: list[dict[str, Heard]]) -> None:
    marks = START
    for heard in batches:
        moved = marks.after(heard)
        assert all(moved.sources[source] >= time for source, time in marks.sources.items())
        assert marks.all is None or (moved.all is not None and moved.all >= marks.all)
        assert moved.all is None or moved.all == min(moved.sources.values())
        marks = moved


@given(BATCHES)
@pytest.mark.req("WMK-06")
def test_nothing_within_its_lateness_is_behind_its_source(batches: list[dict[str, Heard]]) -> None:
    marks, bounds = START, dict.fromkeys(LATENESS, -(10**12))
    for heard in batches:
        for source, news in heard.items():
            observed = [] if news.newest is None else [news.newest - LATENESS[source]]
            bounds[source] = max([bounds[source], *observed, *([] if news.quiet is None else [news.quiet])])
        marks = marks.after(heard)
        assert all(time <= bounds[source] for source, time in marks.sources.items())


def test_a_source_that_is_declared_later_is_waited_for_without_going_back() -> None:
    marks = START.after({name: at(100) for name in LATENESS})
    more = Watermarks(LATENESS | {"laser": 0}, sources=marks.sources, all=marks.all)
    assert more.after({"radar": at(500)}).all == marks.all
    assert more.after({"laser": at(10)}).all == marks.all
    assert more.after({"laser": at(75)}).all == marks.all
    assert more.after({"laser": at(300), "optical": at(200)}).all == 90 * SECOND, "now the beacons hold it up"


def test_an_observation_from_the_future_moves_its_source_no_further_than_when_it_was_received() -> None:
    far_ahead = Heard.of(np.array([3, 10**18]), np.array([5, 7]), np.array([], np.int64))
    assert far_ahead == Heard(newest=7)
    assert Heard.of(np.array([], np.int64), np.array([], np.int64), np.array([4, 2])) == Heard(quiet=4)


def test_a_source_that_was_not_declared_is_refused() -> None:
    with pytest.raises(KeyError, match="laser"):
        START.after({"laser": at(1)})
