"""Dead letters are bounded in number and age; every one that goes, or never comes in, is counted and listed."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterFilter, DeadLetterLimits, DeadLetterLog, EntryState, Fate, Overflow
from holdfast.log.dead_values import DONE, Where
from holdfast.model.errors import DeadLettersFull
from tests.support.log_events import segment_files
from tests.support.log_work import entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = Where("sink:a", "Rejected")


def opened(
    directory: Path,
    max_entries: int = 3,
    overflow: Overflow = Overflow.BLOCK,
    *,
    max_age: timedelta = timedelta(0),
    epoch: int = 1,
    clock: Callable[[], datetime] = lambda: NOON,
) -> DeadLetterLog:
    return DeadLetterLog.open(
        directory, epoch=epoch, limits=DeadLetterLimits(max_entries, max_age, overflow), clock=clock
    )


def put(dead: DeadLetterLog, *ordinals: int) -> int:
    return dead.put([entry(ordinal, event_id=f"orders/{ordinal}/0") for ordinal in ordinals])


def there(dead: DeadLetterLog) -> list[int]:
    return [found.ordinal for found in dead.entries()]


@pytest.mark.req("D11")
def test_drop_oldest_keeps_the_newest_and_lists_and_counts_the_evicted(tmp_path: Path) -> None:
    with opened(tmp_path, overflow=Overflow.DROP_OLDEST) as dead:
        assert [put(dead, 1, 2), put(dead, 3), put(dead, 4, 5)] == [2, 1, 2]
    with opened(tmp_path, overflow=Overflow.DROP_OLDEST, epoch=2) as dead:
        assert there(dead) == [3, 4, 5]
        assert [(gone.ordinal, gone.event_id, gone.fate, gone.at) for gone in dead.gone()] == [
            (2, "orders/2/0", Fate.EVICTED, NOON),
            (1, "orders/1/0", Fate.EVICTED, NOON),
        ]
        assert dead.tallies() == {(HERE, Fate.RECORDED): 5, (HERE, Fate.EVICTED): 2}
        assert dead.status().totals[Fate.EVICTED] == 2
        assert dead.status().is_full


@pytest.mark.req("D11")
def test_of_more_entries_at_once_than_there_may_be_the_last_stay(tmp_path: Path) -> None:
    with opened(tmp_path, overflow=Overflow.DROP_OLDEST) as dead:
        put(dead, 1)
        put(dead, *range(2, 12))
        assert there(dead) == [9, 10, 11]
        assert dead.rejected("sink:a", 7) == set(range(1, 12)), "what was decided stays decided"
        assert put(dead, *range(1, 12)) == 0, "and is not decided again"


@pytest.mark.req("D12")
def test_reject_refuses_the_new_counts_them_and_logs_their_event_ids(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, overflow=Overflow.REJECT) as dead, caplog.at_level(logging.WARNING, "holdfast"):
        assert [put(dead, 1, 2), put(dead, 3, 4, 5), put(dead, 4, 6)] == [2, 1, 0]
        assert there(dead) == [1, 2, 3]
    with opened(tmp_path, overflow=Overflow.REJECT, epoch=2) as dead:
        assert dead.refused("sink:a", 7) == {4, 5, 6}
        assert dead.rejected("sink:a", 7) == {1, 2, 3, 4, 5, 6}
        assert {gone.event_id for gone in dead.gone()} == {"orders/4/0", "orders/5/0", "orders/6/0"}
        assert dead.tallies() == {(HERE, Fate.RECORDED): 3, (HERE, Fate.REFUSED): 3}
    assert [record.getMessage() for record in caplog.records] == [
        "no room for 2 dead letters, their rows are dropped: orders/4/0, orders/5/0",
        "no room for 1 dead letters, their rows are dropped: orders/6/0",
    ]


@pytest.mark.req("D13")
def test_block_records_what_fits_and_refuses_to_go_on(tmp_path: Path) -> None:
    with opened(tmp_path) as dead:
        with pytest.raises(DeadLettersFull, match="2 more wait"):
            put(dead, 1, 2, 3, 4, 5)
        assert there(dead) == [1, 2, 3]
        assert dead.rejected("sink:a", 7) == {1, 2, 3}, "nothing was decided about the others"
        with pytest.raises(DeadLettersFull):
            put(dead, 1, 4)
        assert put(dead, 1, 2, 3) == 0, "what is there already waits for nothing"


@pytest.mark.req("D13")
@pytest.mark.parametrize("how", ["acked", "purged"])
def test_whoever_waits_for_room_goes_on_when_somebody_makes_some(tmp_path: Path, how: str) -> None:
    with opened(tmp_path) as dead:
        put(dead, 1, 2, 3)
        waiting = threading.Thread(target=lambda: dead.put([entry(4), entry(5)], timeout=None))
        waiting.start()
        first_two = DeadLetterFilter(ids={found.entry_id for found in dead.select(limit=2)})
        assert dead.mark(first_two, EntryState.ACKED) if how == "acked" else dead.remove(first_two)
        waiting.join(20)
        assert not waiting.is_alive()
        assert there(dead) == [3, 4, 5]


def test_whoever_waits_for_room_is_let_go_when_the_log_is_closed(tmp_path: Path) -> None:
    ended: list[str] = []

    def wait() -> None:
        try:
            dead.put([entry(4)], timeout=None)
        except Exception as error:
            ended.append(type(error).__name__)

    with opened(tmp_path, 1) as dead:
        put(dead, 1)
        waiting = threading.Thread(target=wait)
        waiting.start()
    waiting.join(20)
    assert ended == ["LogClosed"]


def test_entries_that_were_seen_to_make_room_before_any_other_goes(tmp_path: Path) -> None:
    with opened(tmp_path, overflow=Overflow.DROP_OLDEST) as dead:
        put(dead, 1, 2, 3)
        dead.mark(DeadLetterFilter(ids={entry(2).entry_id}), EntryState.REPROCESSED)
        put(dead, 4)
        assert there(dead) == [1, 3, 4]
        put(dead, 5)
        assert there(dead) == [3, 4, 5]
        assert {gone.ordinal: gone.fate for gone in dead.gone()} == {2: Fate.PURGED, 1: Fate.EVICTED}


@pytest.mark.req("D14")
def test_only_what_is_too_old_goes_also_when_it_is_much(tmp_path: Path) -> None:
    hour = timedelta(hours=1)
    with opened(tmp_path, 10_000, max_age=hour) as dead:
        dead.put([entry(n, time=NOON - hour - timedelta(seconds=1)) for n in range(2500)])
        dead.put([entry(n, time=NOON - hour) for n in range(2500, 2600)])
        assert dead.sweep(released=0) == 2500
        assert there(dead) == list(range(2500, 2600))
        assert dead.status().totals == {Fate.RECORDED: 2600, Fate.EXPIRED: 2500}
        assert dead.sweep(released=0) == 0


@pytest.mark.req("D14")
def test_no_age_is_too_old_when_the_bound_is_nought(tmp_path: Path) -> None:
    with opened(tmp_path, max_age=timedelta(0)) as dead:
        put(dead, 1)
        assert dead.sweep(released=0) == 0
        assert there(dead) == [1]


def test_decisions_outlive_their_entries_until_no_lane_can_bring_the_batch_again(tmp_path: Path) -> None:
    now = [NOON]
    with opened(tmp_path, 10, clock=lambda: now[0]) as dead:
        put(dead, 1, 2)
        dead.put([entry(1, stage="step:parse", oseq=0)])
        dead.remove(DeadLetterFilter())
        now[0] += timedelta(days=8)
        dead.sweep(released=6)
        assert (dead.rejected("sink:a", 7), dead.rejected("step:parse", 0)) == ({1, 2}, frozenset())
        dead.sweep(released=7)
        assert (dead.rejected("sink:a", 7), dead.gone()) == (frozenset(), [])


def test_what_is_gone_is_listed_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.log.dead.GONE_AT_MOST", 5)
    with opened(tmp_path, 1, Overflow.DROP_OLDEST) as dead:
        put(dead, *range(20))
        dead.sweep(released=6)
        assert len(dead.gone()) == 19, "a lane may still ask"
        dead.sweep(released=7)
        assert [gone.ordinal for gone in dead.gone()] == [18, 17, 16, 15, 14]


def test_the_files_of_entries_that_are_gone_are_gone(tmp_path: Path) -> None:
    with opened(tmp_path, 100) as dead:
        put(dead, 1, 2)
        put(dead, 3)
        dead.remove(DeadLetterFilter(ids={entry(1).entry_id, entry(3).entry_id}))
        assert len(segment_files(tmp_path)) == 1, "the second entry is still in it"
        dead.remove(DeadLetterFilter(ids={entry(2).entry_id}))
        assert segment_files(tmp_path) == []
        put(dead, 4)
        assert there(dead) == [4]
    with opened(tmp_path, 100, epoch=2) as dead:
        assert there(dead) == [4]


def test_a_number_is_never_used_again(tmp_path: Path) -> None:
    with opened(tmp_path) as dead:
        put(dead, 1, 2)
        dead.remove(DeadLetterFilter())
        put(dead, 3)
        assert [found.number for found in dead.select()] == [3]


@pytest.mark.req("M13")
@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.REJECT])
def test_every_row_that_was_given_up_is_somewhere(tmp_path: Path, overflow: Overflow) -> None:
    with opened(tmp_path, 7, overflow) as dead:
        for first in range(0, 40, 4):
            put(dead, *range(first, first + 4))
            dead.mark(DeadLetterFilter(ids={entry(first).entry_id}), EntryState.ACKED)
        dead.remove(DeadLetterFilter(states=DONE))
        status = dead.status()
        went = sum(count for fate, count in status.totals.items() if fate not in (Fate.RECORDED, Fate.REFUSED))
        assert status.totals[Fate.RECORDED] + status.totals[Fate.REFUSED] == 40
        assert status.kept == status.totals[Fate.RECORDED] - went == len(there(dead))


def test_what_was_given_up_is_counted_by_the_minute_and_in_all(tmp_path: Path) -> None:
    now = [NOON]
    with opened(tmp_path, 100, clock=lambda: now[0]) as dead:
        put(dead, 1, 2)
        now[0] += timedelta(minutes=10)
        put(dead, 3)
        dead.put([entry(1, stage="sink:b", error_kind="Poison")])
        recent = dead.tallies(NOON + timedelta(minutes=5))
        assert recent == {(HERE, Fate.RECORDED): 1, (Where("sink:b", "Poison"), Fate.RECORDED): 1}
        dead.remove(DeadLetterFilter())
        now[0] += timedelta(days=9)
        dead.sweep(released=0)
        assert dead.tallies(NOON) == {}, "the minute is forgotten"
        assert dead.tallies()[HERE, Fate.RECORDED] == 3, "the count is not"
