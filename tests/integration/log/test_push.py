"""Pushes become durable together, each is answered, and one that is wrong spoils no other."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

import pytest

from holdfast.log import Appended, Inbox, InboxReader, group_commit
from holdfast.log.pushes import Push
from holdfast.model.envelope import event_id
from holdfast.model.errors import InvalidAppend, LogClosed, LogFenced, LogQuota
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support.log_events import SOURCE, events, read_ids

if TYPE_CHECKING:
    from pathlib import Path

LONG = 3600.0
"""A flush interval that does not end by itself: closing flushes."""


def test_a_push_is_durable_when_its_future_is_done(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.001) as inbox:
        assert inbox.push(events(2)).result(30) == Appended(1, 2)
        assert len(read_ids(tmp_path)) == 2


def test_a_pushed_event_has_the_id_and_the_position_of_its_number(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.001) as inbox:
        inbox.push(events(3, start=500)).result(30)
        assert inbox.position() == Seq(3)
        with InboxReader.open(tmp_path) as reader:
            assert reader.position_at(2) == Seq(2)
    assert read_ids(tmp_path) == [event_id(SOURCE, Seq(seq), 0) for seq in (1, 2, 3)]


def test_many_pushes_cost_one_sync_and_one_commit(tmp_path: Path) -> None:
    steps: list[str] = []
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG, hook=steps.append) as inbox:
        futures = [inbox.push(events(1)) for _ in range(500)]
    assert [future.result(0) for future in futures] == [Appended(seq, seq) for seq in range(1, 501)]
    assert steps == [Step.INBOX_WRITE, Step.INBOX_FSYNC, Step.INBOX_INDEX, Step.INBOX_INDEXED]


def test_a_large_gathering_is_not_kept_waiting(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        half = events(1, payload=group_commit.FLUSH_BYTES // 2 + 1)
        futures = [inbox.push(half), inbox.push(half)]
        assert not wait(futures, 30).not_done


def test_two_threads_pushing_lose_and_double_nothing(tmp_path: Path) -> None:
    results: dict[str, list[Future[Appended]]] = {"a": [], "b": []}

    def push(inbox: Inbox, thread: str) -> None:
        for number in range(300):
            results[thread].append(inbox.push(events(1 + number % 3), keys=None))

    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.002) as inbox:
        threads = [threading.Thread(target=push, args=(inbox, thread)) for thread in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ranges = {thread: [future.result(0) for future in futures] for thread, futures in results.items()}
    seqs = [seq for told in ranges.values() for one in told for seq in range(one.first_seq, one.last_seq + 1)]
    assert sorted(seqs) == list(range(1, 1201))
    assert len(read_ids(tmp_path)) == 1200
    for told in ranges.values():
        assert [one.first_seq for one in told] == sorted(one.first_seq for one in told), "a thread's order is kept"


def test_a_repeated_key_is_left_out_within_one_flush_and_over_several(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        first = [inbox.push(events(1), keys=["a"]), inbox.push(events(2), keys=["b", "a"])]
    with Inbox.open(tmp_path, name=SOURCE, epoch=2, flush_interval=LONG) as inbox:
        second = [inbox.push(events(1)), inbox.push(events(2), keys=["a", "c"])]
    assert [future.result(0) for future in first] == [Appended(1, 1), Appended(2, 2, left_out=1)]
    assert [future.result(0) for future in second] == [Appended(3, 3), Appended(4, 4, left_out=1)]


def test_a_key_at_the_end_stands_for_the_whole_transaction(tmp_path: Path) -> None:
    def push(inbox: Inbox, rows: int, key: str) -> Future[Appended]:
        return inbox.push(events(rows, ends={rows}), keys=[*[None] * (rows - 1), key])

    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        first = [push(inbox, 3, "a"), push(inbox, 2, "b"), push(inbox, 3, "a"), inbox.push(events(2))]
    with Inbox.open(tmp_path, name=SOURCE, epoch=2, flush_interval=LONG) as inbox:
        second = [push(inbox, 5, "a"), push(inbox, 1, "b"), push(inbox, 2, "c")]
    told = [future.result(0) for future in first + second]
    assert [(one.rows, one.left_out) for one in told] == [(3, 0), (2, 0), (0, 3), (2, 0), (0, 5), (0, 1), (2, 0)]
    assert len(read_ids(tmp_path)) == 9


def test_an_event_with_a_new_key_is_not_lost_with_an_end_that_repeats_one(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        inbox.push(events(1), keys=["a"])
        refused = inbox.push(events(3, ends={3}), keys=[None, "new", "a"])
    assert isinstance(refused.exception(0), InvalidAppend)


@pytest.mark.req("X20")
def test_only_the_newest_keys_are_kept_when_told_so(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.001) as inbox:
        for key in "abcd":
            inbox.push(events(2, ends={2}), keys=[None, key]).result(30)
        assert inbox.keep_keys(2) == 2
        assert inbox.keep_keys(2) == 0
        again = [inbox.push(events(1), keys=[key]).result(30).left_out for key in "abcd"]
    assert again == [0, 0, 1, 1]


def test_a_push_that_is_wrong_fails_alone(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        good, bad, also_good = inbox.push(events(1)), inbox.push(events(2, ends={1})), inbox.push(events(1))
    assert (good.result(0), also_good.result(0)) == (Appended(1, 1), Appended(2, 2))
    assert isinstance(bad.exception(0), InvalidAppend)


def test_a_push_may_be_taken_back_before_it_is_written(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        assert inbox.push(events(1)).cancel()
        kept = inbox.push(events(1))
    assert kept.result(0) == Appended(1, 1)


def test_a_push_into_an_open_transaction_is_refused(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.001) as inbox:
        inbox.append(events(2, ends=()), position=Seq(2))
        assert isinstance(inbox.push(events(1)).exception(30), InvalidAppend)
        inbox.append(events(1, start=3, ends={3}), position=Seq(3))
    assert len(read_ids(tmp_path)) == 3


@pytest.mark.req("X11")
def test_pushes_of_an_owner_that_was_overtaken_are_refused(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        future = inbox.push(events(1))
        Inbox.open(tmp_path, name=SOURCE, epoch=2).close()
    assert isinstance(future.exception(0), LogFenced)
    assert read_ids(tmp_path) == []


def test_a_closed_inbox_takes_no_push(tmp_path: Path) -> None:
    inbox = Inbox.open(tmp_path, name=SOURCE, epoch=1)
    inbox.close()
    with pytest.raises(LogClosed):
        inbox.push(events(1))


@pytest.mark.req("X20")
def test_what_waits_for_the_disk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "PENDING_BYTES", 50_000)
    monkeypatch.setattr(group_commit, "FLUSH_BYTES", 10**9)
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=LONG) as inbox:
        large = events(1, payload=10_000)
        for _ in range(50_000 // Push.of(large, None).nbytes + 1):
            inbox.push(large, timeout=0)
        with pytest.raises(LogQuota):
            inbox.push(large, timeout=0.01)
