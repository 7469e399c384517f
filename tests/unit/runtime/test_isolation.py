"""The rows that make a batch fail are found by halves; nothing else is blamed, and the search is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.log.values import Range
from holdfast.model.errors import IsolationExhausted, NoRowFailsAlone
from holdfast.runtime.isolation import Isolating, IsolationLimits, NotTheData, Ranges, Search, halved, size, without

LIMITS = IsolationLimits(max_rows=1000, max_probes=100_000)


def rows_of(ranges: Ranges) -> list[tuple[str, int]]:
    return [(each.inbox, seq) for each in ranges for seq in range(each.after + 1, each.upto + 1)]


@dataclass
class Steps:
    """Fail when they are given a poisonous row, or rows whose weights come to too much; or always, or for a while."""

    poison: set[tuple[str, int]] = field(default_factory=set)
    most: int | None = None
    without_rows: bool = True
    passing: int = 0
    """So many probes fail whatever they are about, from the second on."""
    probes: list[Ranges] = field(default_factory=list)

    def __call__(self, ranges: Ranges, /) -> Exception | None:
        self.probes.append(ranges)
        rows = rows_of(ranges)
        if not rows:
            return None if self.without_rows else ValueError("always")
        if self.passing:
            self.passing -= 1
            return ValueError("for a while")
        if self.poison & set(rows):
            return ValueError("poison")
        return ValueError("too much") if self.most is not None and len(rows) > self.most else None


def searched(steps: Steps, ranges: Ranges, limits: IsolationLimits = LIMITS, before: int = 0) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    search = Search(steps, found=lambda row, _: found.extend(rows_of((row,))), limits=limits, now=lambda: 0.0)
    assert search.run(ranges, before=before) == len(found)
    return found


RANGES = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 30)).map(lambda each: (each[0], each[0] + each[1])),
    min_size=1,
    max_size=4,
).map(lambda found: tuple(Range(f"i{number}", *each) for number, each in enumerate(found)))


@pytest.mark.req("K9", "G10")
@given(ranges=RANGES, data=st.data())
def test_exactly_the_rows_that_fail_alone_are_found_each_once(ranges: Ranges, data: st.DataObject) -> None:
    rows = rows_of(ranges)
    poison = data.draw(st.sets(st.sampled_from(rows), min_size=1))
    found = searched(Steps(poison), ranges)
    assert len(found) == len(set(found))
    assert set(found) == poison


@given(ranges=RANGES)
def test_halves_are_the_whole_in_order(ranges: Ranges) -> None:
    left, right = halved(ranges)
    assert rows_of(left) + rows_of(right) == rows_of(ranges)
    assert abs(size(left) - size(right)) <= 1


@given(st.integers(0, 20), st.integers(1, 20), st.data())
def test_what_is_skipped_is_in_no_range(after: int, count: int, data: st.DataObject) -> None:
    wanted = Range("i", after, after + count)
    skipped = data.draw(st.sets(st.integers(after + 1, after + count)))
    left = rows_of(tuple(without(wanted, sorted(skipped))))
    assert left == [row for row in rows_of((wanted,)) if row[1] not in skipped]


def test_one_row_among_many_costs_two_probes_for_each_halving() -> None:
    steps = Steps({("i", 777)})
    assert searched(steps, (Range("i", 0, 1024),)) == [("i", 777)]
    assert len(steps.probes) == 2 + 2 * 10 + 2


@pytest.mark.req("X8")
def test_rows_that_fail_only_together_are_named_and_none_is_blamed() -> None:
    steps = Steps(most=100)
    with pytest.raises(NoRowFailsAlone, match=r"rows 1\.\.128 of inbox i together"):
        searched(steps, (Range("i", 0, 1024),))


def test_steps_that_fail_without_any_row_blame_none() -> None:
    with pytest.raises(NotTheData, match="without any event"):
        searched(Steps({("i", 3)}, without_rows=False), (Range("i", 0, 10),))


@pytest.mark.parametrize("times", range(1, 12))
def test_a_failure_that_passes_blames_no_row(times: int) -> None:
    found: list[Range] = []
    steps = Steps(passing=times)
    search = Search(steps, found=lambda row, _: found.append(row), limits=LIMITS, now=lambda: 0.0)
    with pytest.raises(NotTheData):
        search.run((Range("i", 0, 1024),))
    assert found == []


def test_the_machine_failing_in_a_probe_ends_the_search() -> None:
    def probe(ranges: Ranges) -> Exception | None:
        if size(ranges) == 1:
            raise NotTheData("no memory")
        return ValueError("x") if ranges else None

    search = Search(probe, found=lambda *_: pytest.fail("blamed"), limits=LIMITS, now=lambda: 0.0)
    with pytest.raises(NotTheData, match="no memory"):
        search.run((Range("i", 0, 4),))


class TestBounds:
    RANGES = (Range("i", 0, 64),)

    def test_too_many_rows(self) -> None:
        found: list[Range] = []
        search = Search(
            Steps(set(rows_of(self.RANGES))),
            found=lambda row, _: found.append(row),
            limits=IsolationLimits(max_rows=5),
            now=lambda: 0.0,
        )
        with pytest.raises(IsolationExhausted, match="5 rows of the batch were given up"):
            search.run(self.RANGES, before=2)
        assert len(found) == 3

    def test_too_many_probes(self) -> None:
        steps = Steps({("i", 60)})
        with pytest.raises(IsolationExhausted, match="7 probes"):
            searched(steps, self.RANGES, IsolationLimits(max_probes=7))
        assert len(steps.probes) == 7

    def test_too_long(self) -> None:
        clock = iter(range(0, 10_000, 10))
        search = Search(
            Steps({("i", 60)}),
            found=lambda *_: pytest.fail("not so soon"),
            limits=IsolationLimits(max_time=timedelta(seconds=55)),
            now=lambda: float(next(clock)),
        )
        with pytest.raises(IsolationExhausted, match="0:00:55 have passed"):
            search.run(self.RANGES)


def test_it_is_shown_where_the_search_is() -> None:
    shown: list[Isolating] = []
    search = Search(Steps({("i", 3)}), found=lambda *_: None, limits=LIMITS, now=lambda: 0.0, show=shown.append)
    search.run((Range("i", 0, 4),))
    assert str(shown[1]) == "isolating rows 1..4 of inbox i, 1 probes, 0 found"
    assert [each.probes for each in shown] == list(range(len(shown)))
