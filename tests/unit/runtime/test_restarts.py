"""Failures use the budget up, also when each takes the whole process with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.flow.exits import Budget, Exit
from holdfast.model.errors import RestartsExhausted, UnknownFormat
from holdfast.runtime.restarts import History, HistoryCodec

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


def test_a_crash_loop_across_processes_uses_the_budget_up() -> None:
    killed(3).check(BUDGET, NOON + timedelta(minutes=1))
    with pytest.raises(RestartsExhausted, match="4 runs failed"):
        killed(4).check(BUDGET, NOON + timedelta(minutes=1))


def test_failures_that_are_old_no_longer_count() -> None:
    killed(9, apart=timedelta(minutes=5)).check(BUDGET, NOON + timedelta(minutes=45))


def test_runs_that_ended_well_do_not_count() -> None:
    history = History()
    for _ in range(10):
        history = history.begun(NOON).ended(Exit.OK)
    history.begun(NOON).check(BUDGET, NOON)


def test_failures_within_one_process_count() -> None:
    history = History().begun(NOON)
    for _ in range(4):
        history = history.failed(NOON, Exit.CRASHED, "out of memory")
    with pytest.raises(RestartsExhausted, match="out of memory"):
        history.check(BUDGET, NOON)


def test_the_history_does_not_grow_for_ever() -> None:
    assert len(killed(500).runs) == 100


def test_round_trip() -> None:
    history = killed(2).ended(Exit.ERRORED, "a reason")
    assert HistoryCodec().decode(HistoryCodec().encode(history)) == history


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UnknownFormat):
        HistoryCodec().decode(b'{"format": 2}')
