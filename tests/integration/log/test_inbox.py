"""An inbox numbers events without gaps, shows whole transactions only, and knows where its source stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from holdfast.log import Appended, Inbox, InboxReader, Limits
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import InvalidAppend, LogClosed
from holdfast.model.positions import Lsn, Seq, to_json
from tests.support.log_events import events, ids, read_ids

if TYPE_CHECKING:
    from pathlib import Path


def opened(directory: Path, epoch: int = 1) -> Inbox:
    return Inbox.open(directory, name="orders", epoch=epoch)


def test_a_new_inbox_has_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        assert (inbox.end(), inbox.position()) == (0, None)
    assert read_ids(tmp_path) == []


def test_events_are_numbered_from_one_without_gaps(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        assert inbox.append(events(3), position=Seq(3)) == Appended(1, 3)
        assert inbox.append(events(2, start=4), position=Seq(5)) == Appended(4, 5)
    assert read_ids(tmp_path) == ids(1, 2, 3, 4, 5)


def test_what_is_read_is_what_was_appended_in_every_column(tmp_path: Path) -> None:
    appended = events(3)
    with opened(tmp_path) as inbox:
        inbox.append(appended, position=Seq(3))
    with InboxReader.open(tmp_path) as reader:
        (batch,) = reader.read(0)
    assert batch.schema.equals(ENVELOPE)
    assert batch.drop_columns(["seq"]).equals(appended)


def test_a_reader_sees_an_append_as_soon_as_it_returns(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(3), position=Seq(3))
        assert reader.end() == 3


def test_an_inbox_that_is_opened_again_goes_on_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(3), position=Lsn(30))
        uuid = inbox.uuid
    with opened(tmp_path, epoch=2) as inbox:
        assert (inbox.uuid, inbox.end(), inbox.position()) == (uuid, 3, Lsn(30))
        assert inbox.append(events(1, start=4), position=Lsn(40)) == Appended(4, 4)


def test_the_same_owner_may_open_it_again(tmp_path: Path) -> None:
    for number in range(1, 4):
        with opened(tmp_path) as inbox:
            inbox.append(events(1, start=number), position=Seq(number))
    assert read_ids(tmp_path) == ids(1, 2, 3)


def test_an_append_without_events_moves_the_position_on(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Lsn(10))
        inbox.append(events(0), position=Lsn(25))
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        assert (inbox.end(), inbox.position(), reader.position_at(1)) == (1, Lsn(25), Lsn(25))


def test_a_position_that_goes_back_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Lsn(10))
        with pytest.raises(InvalidAppend, match="before"):
            inbox.append(events(1, start=2), position=Lsn(9))
        assert inbox.end() == 1


def test_a_closed_inbox_refuses(tmp_path: Path) -> None:
    inbox = opened(tmp_path)
    inbox.close()
    with pytest.raises(LogClosed):
        inbox.append(events(1), position=Seq(1))


# Transactions


@pytest.mark.req("D5", "X2")
def test_a_transaction_over_several_appends_is_invisible_until_it_ends(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(2), position=Seq(2))
        inbox.append(events(2, start=3, ends=()), position=Seq(4))
        assert (inbox.end(), inbox.position(), reader.end()) == (2, Seq(2), 2)
        assert reader.admit(2, Limits(100, 10**9)) == 2
        inbox.append(events(1, start=5, ends={5}), position=Seq(5))
        assert (inbox.end(), inbox.position(), reader.end()) == (5, Seq(5), 5)
        assert reader.admit(2, Limits(1, 10**9)) == 5


@pytest.mark.req("D5", "X2")
def test_an_unfinished_transaction_is_dropped_at_the_next_opening_and_its_numbers_used_again(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(4, ends={1, 2}), position=Seq(4))
        inbox.append(events(3, start=5, ends=()), position=Seq(7))
    with opened(tmp_path, epoch=2) as inbox:
        assert (inbox.end(), inbox.position(), inbox.retained().rows) == (2, Seq(2), 2)
        assert inbox.append(events(5, start=3, ends={7}), position=Seq(7)) == Appended(3, 7)
    assert read_ids(tmp_path) == ids(*range(1, 8))


def test_dropping_an_unfinished_transaction_gives_its_bytes_back(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
        kept = inbox.retained().nbytes
        inbox.append(events(9000, start=3, ends=()), position=Seq(9002))
    with opened(tmp_path, epoch=2) as inbox:
        assert inbox.retained().nbytes == kept
        assert sum(file.stat().st_size for file in (tmp_path / "segments").iterdir()) == kept


def test_the_position_inside_an_append_is_that_of_its_last_finished_transaction(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(9, ends={2, 5}), position=Seq(9))
        assert (inbox.end(), inbox.position()) == (5, Seq(5))


@pytest.mark.req("D5")
def test_a_large_transaction_is_admitted_whole_however_small_the_limits(tmp_path: Path) -> None:
    rows, step = 200_000, 30_000
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(1), position=Seq(1))
        for start in range(2, rows + 2, step):
            count = min(step, rows + 2 - start)
            assert reader.admit(1, Limits(1000, 10**6)) == 1, "nothing of it may be seen before its end"
            inbox.append(events(count, start=start, ends={rows + 1}), position=Seq(start + count - 1))
        assert reader.admit(0, Limits(1000, 10**6)) == 1
        assert reader.admit(1, Limits(1000, 10**6)) == rows + 1
        assert sum(batch.num_rows for batch in reader.read(1, rows + 1)) == rows


def test_without_whole_transactions_ranges_are_cut_by_size(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(20_000, ends={20_000}), position=Seq(20_000))
        assert reader.admit(0, Limits(1000, 10**9, whole_transactions=False)) == 1000
        nbytes = reader.chunks(0, 1)[0].length // 8192 * 100
        assert 90 <= reader.admit(0, Limits(10**6, nbytes, whole_transactions=False)) <= 101


def test_without_whole_transactions_an_unfinished_one_is_still_invisible(tmp_path: Path) -> None:
    """Its numbers may come to mean other events."""
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(5, ends={2}), position=Seq(5))
        assert reader.admit(0, Limits(1000, 10**9, whole_transactions=False)) == 2


def test_the_index_keeps_which_rows_of_a_chunk_end_a_transaction(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(3), position=Seq(3))
        inbox.append(events(4, start=4, ends={5, 7}), position=Seq(7))
        inbox.append(events(9000, start=8, ends={9007}), position=Seq(9007))
        chunks = reader.chunks(0, 9007)
    assert [chunk.tx_ends for chunk in chunks] == [None, (5, 7), (), (9007,)]
    assert [json.loads(chunk.position) for chunk in chunks[:2]] == [to_json(Seq(3)), to_json(Seq(7))]


# Idempotency keys


def test_an_event_whose_key_was_consumed_is_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2), keys=["a", "b"])
        assert inbox.append(events(3, start=3), position=Seq(5), keys=["b", "c", "a"]) == Appended(3, 3, left_out=2)
    assert read_ids(tmp_path) == ids(1, 2, 4)


def test_keys_survive_a_restart_and_a_trim(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2), keys=["a", "b"])
        inbox.set_cursor("spark", 2)
        assert inbox.trim().rows == 2
    with opened(tmp_path, epoch=2) as inbox:
        assert inbox.append(events(1, start=3), position=Seq(3), keys=["a"]).left_out == 1


def test_a_key_twice_in_one_append_counts_once(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        assert inbox.append(events(3), position=Seq(3), keys=["a", "a", "b"]) == Appended(1, 2, left_out=1)


def test_the_keys_of_a_dropped_transaction_are_free_again(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2, ends=()), position=Seq(2), keys=["a", "b"])
    with opened(tmp_path, epoch=2) as inbox:
        assert inbox.append(events(2), position=Seq(2), keys=["a", "b"]) == Appended(1, 2)


def test_an_append_of_repetitions_only_moves_the_position_on(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Seq(1), keys=["a"])
        inbox.append(events(1, start=2), position=Seq(2), keys=["a"])
        assert (inbox.end(), inbox.position()) == (1, Seq(2))


def test_a_transaction_may_not_lose_its_end_to_a_repetition(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Seq(1), keys=["a"])
        with pytest.raises(InvalidAppend, match="ends a transaction"):
            inbox.append(events(2, start=2, ends={3}), position=Seq(3), keys=["b", "a"])


def test_keys_are_forgotten_when_told_to(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(3), position=Seq(3), keys=["a", "b", "c"])
        assert inbox.forget_keys(2) == 2
        assert inbox.append(events(2, start=4), position=Seq(5), keys=["a", "c"]).left_out == 1


def test_many_keys_at_once(tmp_path: Path) -> None:
    keys = [f"key-{number}" for number in range(20_000)]
    with opened(tmp_path) as inbox:
        inbox.append(events(20_000), position=Seq(20_000), keys=keys)
        repeated = inbox.append(
            events(20_000, start=20_001),
            position=Seq(40_000),
            keys=keys[10_000:] + [f"x{key}" for key in keys[:10_000]],
        )
    assert (repeated.left_out, repeated.rows) == (10_000, 10_000)


def test_the_numbers_of_the_rows_are_exact_over_chunks(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, InboxReader.open(tmp_path) as reader:
        inbox.append(events(30_000), position=Seq(30_000))
        inbox.append(events(30_000, start=30_001), position=Seq(60_000))
        for after, upto in ((0, 60_000), (8191, 8193), (29_999, 30_001), (59_999, 60_000), (7, 7)):
            seqs = np.concatenate([np.empty(0, int), *(batch["seq"].to_numpy() for batch in reader.read(after, upto))])
            assert np.array_equal(seqs, np.arange(after + 1, upto + 1))
