"""Failures of the query use the budget up; what was killed from outside, or ended well, does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.flow.exits import Budget, Exit
from holdfast.model.errors import RestartsExhausted, UnknownFormat
from holdfast.runtime.restarts import History, HistoryCodec, pause_before

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUDGET = Budget(failures=3, within=timedelta(minutes=10))


def killed(times: int, *, apart: timedelta = timedelta(seconds=1)) -> History:
    """The history once the process was killed so many times and begins again."""
    history = History()
    for number in range(times + 1):
        history = history.begun(NOON + number * apart)
    return history


def failed(times: int, *, apart: timedelta = timedelta(seconds=1), exit_: Exit = Exit.CRASHED) -> History:
    """The history once the query failed so many times since noon, and was started again each time."""
    history = History().begun(NOON)
    for number in range(times):
        history = history.ended(exit_, f"reason {number}").begun(NOON + (number + 1) * apart)
    return history


def test_a_run_that_never_ended_was_aborted() -> None:
    assert [run.exit for run in killed(2).runs] == [Exit.ABORTED, Exit.ABORTED, None]


def test_kills_from_outside_use_nothing_up() -> None:
    killed(50).check(BUDGET, NOON + timedelta(minutes=1), since=NOON)


def test_deaths_of_the_jvm_use_nothing_up() -> None:
    failed(50, exit_=Exit.ABORTED).check(BUDGET, NOON + timedelta(minutes=1), since=NOON)


@pytest.mark.parametrize("exit_", [Exit.ERRORED, Exit.CRASHED])
def test_failures_of_the_query_use_the_budget_up(exit_: Exit) -> None:
    failed(3, exit_=exit_).check(BUDGET, NOON + timedelta(minutes=1), since=NOON)
    with pytest.raises(
        RestartsExhausted, match=r"failed 4 times within 10 min, the last time with: reason 3$"
    ) as raised:
        failed(4, exit_=exit_).check(BUDGET, NOON + timedelta(minutes=1), since=NOON)
    assert "HF-807" not in raised.value.what


def test_failures_that_are_old_no_longer_count() -> None:
    failed(9, apart=timedelta(minutes=5)).check(BUDGET, NOON + timedelta(minutes=45), since=NOON)


def test_a_start_begins_with_a_whole_budget() -> None:
    started_again = NOON + timedelta(seconds=30)
    failed(9).begun(started_again).check(BUDGET, started_again, since=started_again)


def test_whoever_starts_it_is_told_of_failures_and_of_nothing_else() -> None:
    soon = NOON + timedelta(minutes=1)
    assert (
        failed(2).failed_lately(BUDGET, soon)
        == "it failed 2 times within the last 10 min, the last time with: reason 1"
    )
    assert killed(2).failed_lately(BUDGET, soon) is None
    assert failed(2).failed_lately(BUDGET, NOON + timedelta(hours=1)) is None


def test_runs_that_ended_well_do_not_count() -> None:
    history = History()
    for _ in range(10):
        history = history.begun(NOON).ended(Exit.OK)
    history.begun(NOON).check(BUDGET, NOON, since=NOON)


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
