"""Failures of the query use the budget up; what was killed from outside, or ended well, does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.flow.exits import Budget, Exit
from holdfast.model.errors import RestartsExhausted, UnknownFormat
from holdfast.runtime.restarts import Failures, History, HistoryCodec, pause_before

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUDGET = Budget(failures=3, within=timedelta(minutes=10))


def killed(times: int, *, apart: timedelta = timedelta(seconds=1)) -> History:
    """The history once the process was killed so many times and begins again."""
    history = History()
    for number in range(times + 1):
        history = history.begun(NOON + number * apart)
    return history


def test_a_run_that_never_ended_was_aborted() -> None:
    assert [run.exit for run in killed(2).runs] == [Exit.ABORTED, Exit.ABORTED, None]


def failures(*minutes: float, budget: Budget = BUDGET) -> Failures:
    """The failures that count after the query failed at these minutes."""
    found = Failures(budget)
    for minute in minutes:
        found = found.after(minute * 60.0)
    return found


def test_as_many_failures_as_the_budget_has_are_allowed_and_one_more_is_not() -> None:
    failures(0, 1, 2).check("reason")
    with pytest.raises(RestartsExhausted) as raised:
        failures(0, 1, 2, 3).check("no such table")
    assert raised.value.what == (
        "The query failed 4 times within 10 min, which is more often than `restarts` allows. "
        "The last failure: no such table"
    )


def test_a_budget_of_none_allows_no_failure() -> None:
    with pytest.raises(RestartsExhausted, match="failed once within"):
        failures(0, budget=Budget(failures=0)).check("reason")


def test_failures_count_for_as_long_as_the_budget_says_each_from_its_own_time() -> None:
    """Neither the first failure nor the last decides for the others."""
    assert failures(0, 4, 8, 9).times == (0.0, 240.0, 480.0, 540.0), "none is older than ten minutes"
    assert failures(0, 4, 8, 12).times == (240.0, 480.0, 720.0), "the first no longer counts"
    assert failures(0, 4, 8, 30).times == (1800.0,), "none of the others counts any more"


def test_failures_that_come_slowly_never_use_the_budget_up() -> None:
    failures(*(minute * 4 for minute in range(500))).check("reason")


def test_failures_that_come_a_little_faster_do() -> None:
    with pytest.raises(RestartsExhausted):
        failures(*(minute * 3.3 for minute in range(4))).check("reason")


def test_a_budget_larger_than_the_history_is_counted_too() -> None:
    large = Budget(failures=150)
    failures(*(second / 60 for second in range(150)), budget=large).check("reason")
    with pytest.raises(RestartsExhausted, match="151 times"):
        failures(*(second / 60 for second in range(151)), budget=large).check("reason")


@pytest.mark.parametrize("exit_", [Exit.ERRORED, Exit.CRASHED])
def test_whoever_starts_it_is_told_why_the_last_run_failed(exit_: Exit) -> None:
    assert History().begun(NOON).ended(exit_, "no such table").last_end() == "failed: no such table"


def test_whoever_starts_it_is_told_that_the_last_run_was_killed() -> None:
    assert History().begun(NOON).last_end() == "was ended from outside, as by a kill or a reboot"


def test_after_a_run_that_ended_well_there_is_nothing_to_tell() -> None:
    assert History().last_end() is None
    assert History().begun(NOON).ended(Exit.OK).last_end() is None


def test_the_first_end_of_a_run_stands() -> None:
    history = History().begun(NOON).ended(Exit.CRASHED, "the cause").ended(Exit.ERRORED, "the budget is used up")
    assert [(run.exit, run.reason) for run in history.runs] == [(Exit.CRASHED, "the cause")]


def test_pauses_double_up_to_the_longest() -> None:
    assert [pause_before(number, longest=1.0) for number in (1, 2, 3, 4, 5, 6, 1000)] == [0.1, 0.2, 0.4, 0.8, 1, 1, 1]


def test_the_history_does_not_grow_for_ever() -> None:
    assert len(killed(500).runs) == 100


def test_round_trip() -> None:
    history = killed(2).ended(Exit.ERRORED, "a reason")
    assert HistoryCodec().decode(HistoryCodec().encode(history)) == history


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UnknownFormat):
        HistoryCodec().decode(b'{"format": 2}')
