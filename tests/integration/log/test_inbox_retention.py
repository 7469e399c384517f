"""An inbox forgets what every declared reader is done with, waits when it is full, and says who holds what."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast.log import Inbox, InboxReader, Keep
from holdfast.model.errors import LogClosed, LogQuota, NotInLog
from holdfast.model.positions import Seq
from tests.support.log_events import events, read_ids, segment_files

if TYPE_CHECKING:
    from pathlib import Path


def filled(inbox: Inbox, appends: int = 4, rows: int = 5) -> None:
    """So many chunks of so many events."""
    for _ in range(appends):
        start = inbox.end() + 1
        inbox.append(events(rows, start=start), position=Seq(start + rows - 1))


def opened(directory: Path, epoch: int = 1, quota: int | None = None) -> Inbox:
    return Inbox.open(directory, name="orders", epoch=epoch, quota=quota)


# Trimming


def test_without_a_declared_reader_nothing_is_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        assert inbox.trim().rows == 0
    assert len(read_ids(tmp_path)) == 20


def test_a_trim_never_passes_the_slowest_reader(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 20)
        inbox.set_cursor("rollback point", 12)
        trimmed = inbox.trim()
    assert (trimmed.rows, trimmed.retained.first_seq) == (10, 11)
    assert trimmed.retained.held_by == {"spark": 20, "rollback point": 12}
    assert len(read_ids(tmp_path, after=10)) == 10


def test_a_reader_that_is_dropped_holds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 20)
        inbox.set_cursor("old lane", 0)
        assert inbox.trim().rows == 0
        inbox.drop_cursor("old lane")
        assert inbox.trim().rows == 20
        assert inbox.cursors() == {"spark": 20}


def test_readers_stay_declared_over_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 7)
    with opened(tmp_path, epoch=2) as inbox:
        assert inbox.cursors() == {"spark": 7}
        assert inbox.trim().rows == 5


def test_a_reader_may_go_back_but_not_behind_what_is_gone(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 10)
        inbox.trim()
        inbox.set_cursor("spark", 15)
        inbox.set_cursor("spark", 10)
        for seq in (9, 21):
            with pytest.raises(NotInLog):
                inbox.set_cursor("spark", seq)
        assert inbox.cursors() == {"spark": 10}


def test_an_unfinished_transaction_is_never_trimmed(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox, appends=1)
        inbox.append(events(3, start=6, ends=()), position=Seq(8))
        inbox.set_cursor("spark", 5)
        inbox.trim()
        inbox.append(events(1, start=9, ends={9}), position=Seq(9))
    assert len(read_ids(tmp_path, after=5)) == 4


def test_numbers_go_on_after_everything_was_trimmed(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 20)
        inbox.trim()
    with opened(tmp_path, epoch=2) as inbox:
        assert (inbox.end(), inbox.position()) == (20, Seq(20))
        assert inbox.append(events(1, start=21), position=Seq(21)).first_seq == 21


def test_what_is_trimmed_leaves_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 20)
        inbox.trim()
        assert segment_files(tmp_path) == []
        filled(inbox, appends=1)
    assert len(read_ids(tmp_path, after=20)) == 5


def test_a_segment_with_a_needed_chunk_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 19)
        inbox.trim()
        assert len(segment_files(tmp_path)) == 1


def test_an_age_keeps_what_readers_are_done_with(tmp_path: Path) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with Inbox.open(tmp_path, name="orders", epoch=1, clock=lambda: now[0]) as inbox:
        filled(inbox, appends=2)
        now[0] += timedelta(hours=1)
        filled(inbox, appends=2)
        inbox.set_cursor("spark", 20)
        assert inbox.trim(keep=Keep(age=timedelta(minutes=30))).rows == 10


def test_a_size_keeps_the_newest(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
        inbox.set_cursor("spark", 20)
        one = inbox.retained().nbytes // 4
        assert inbox.trim(keep=Keep(nbytes=one * 5 // 2)).retained.rows == 10


def test_skipped_events_are_forgotten_with_their_chunks(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        filled(inbox)
        inbox.skip([3, 12], reason="no JSON")
        inbox.set_cursor("spark", 10)
        inbox.trim()
        assert reader.skipped(0, 20) == [12]


# The quota


def test_an_append_at_the_quota_waits_and_is_woken_by_a_trim(tmp_path: Path) -> None:
    with opened(tmp_path, quota=5000) as inbox:
        filled(inbox, appends=2)
        assert inbox.retained().nbytes >= 5000
        appended = threading.Event()
        thread = threading.Thread(target=lambda: (filled(inbox, appends=1), appended.set()), daemon=True)
        thread.start()
        assert not appended.wait(0.2)
        inbox.set_cursor("spark", 10)
        inbox.trim()
        assert appended.wait(30)
        thread.join()
    assert len(read_ids(tmp_path, after=10)) == 5


def test_an_append_that_waits_at_the_quota_is_refused_when_the_inbox_is_closed(tmp_path: Path) -> None:
    inbox = opened(tmp_path, quota=1)
    filled(inbox, appends=1)
    caught: list[type[BaseException]] = []

    def append() -> None:
        try:
            filled(inbox, appends=1)
        except LogClosed as error:
            caught.append(type(error))

    thread = threading.Thread(target=append, daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    inbox.close()
    thread.join(30)
    assert caught == [LogClosed]


def test_waiting_for_the_quota_ends_in_time_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, quota=1) as inbox:
        filled(inbox, appends=1)
        with pytest.raises(LogQuota):
            inbox.append(events(1, start=6), position=Seq(6), timeout=0.01)
        with pytest.raises(LogQuota):
            inbox.push(events(1), timeout=0.01)
        assert inbox.end() == 5


@pytest.mark.req("D5")
def test_a_transaction_that_was_begun_is_let_in_over_the_quota(tmp_path: Path) -> None:
    with opened(tmp_path, quota=1) as inbox:
        inbox.append(events(5, ends=()), position=Seq(5))
        inbox.append(events(5, start=6, ends={10}), position=Seq(10), timeout=0)
        assert inbox.end() == 10


def test_the_quota_counts_what_an_earlier_owner_left(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        filled(inbox)
    with opened(tmp_path, epoch=2, quota=1) as inbox, pytest.raises(LogQuota):
        inbox.append(events(1, start=21), position=Seq(21), timeout=0.01)


def test_the_position_moves_on_at_the_quota(tmp_path: Path) -> None:
    """A source that has nothing new must not be held up by what it sent before."""
    with opened(tmp_path, quota=1) as inbox:
        filled(inbox, appends=1)
        inbox.append(events(0), position=Seq(99), timeout=0)
        assert inbox.position() == Seq(99)
