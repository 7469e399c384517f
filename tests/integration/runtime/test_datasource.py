"""The Spark source over real inboxes, asked as Spark asks it; the JVM is not needed for that."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.capture import Generator
from holdfast.log import Inbox, Limits
from holdfast.log.datasource import InboxesReader, Reading
from holdfast.model.errors import LogMissing, NotInLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1 << 20
WIDE = Limits(rows=1_000_000, nbytes=1_000 * MIB)


@pytest.fixture
def inbox_of(tmp_path: Path) -> Iterator[Callable[..., Inbox]]:
    """Makes an inbox with generated orders in it."""
    made: list[Inbox] = []

    def make(name: str, events: int, transactions: tuple[int, ...] = (1,), chunk: int = 100) -> Inbox:
        inbox = Inbox.open(tmp_path / name, name=name, epoch=1)
        source = Generator(name, events=events, transactions=transactions, chunk=chunk)
        source.open(None)
        while not source.finished:
            captured = source.read(0)
            assert captured is not None
            inbox.append(captured.events, position=captured.position)
        made.append(inbox)
        return inbox

    yield make
    for inbox in made:
        inbox.close()


@pytest.fixture
def reader_of(tmp_path: Path) -> Iterator[Callable[..., InboxesReader]]:
    """Makes a reader of inboxes, through the option that travels to Spark."""
    made: list[InboxesReader] = []

    def make(
        *inboxes: Inbox, limits: Limits = WIDE, start: dict[str, int] | None = None, **more: object
    ) -> InboxesReader:
        directories = {inbox.uuid: str(tmp_path / inbox.name) for inbox in inboxes}
        reading = Reading(directories, limits, start or {}, **more)  # type: ignore[arg-type]
        made.append(InboxesReader(Reading.from_option(reading.to_option())))
        return made[-1]

    yield make
    for reader in made:
        reader.stop()


def seqs(reader: InboxesReader, start: dict[str, int], end: dict[str, int]) -> list[int]:
    """What the partitions hold, read as an executor does: from a pickle, with no index."""
    partitions = pickle.loads(pickle.dumps(list(reader.partitions(start, end))))
    executor = pickle.loads(pickle.dumps(reader))
    tables = [pa.Table.from_batches(list(executor.read(partition))) for partition in partitions]
    return pa.concat_tables(tables)["seq"].to_pylist() if tables else []


def test_every_event_is_read_once_in_order_however_the_batches_are_cut(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 1000, (3, 7, 1))
    reader = reader_of(inbox, limits=Limits(rows=130, nbytes=MIB))
    read: list[int] = []
    at = reader.initialOffset()
    while (end := reader.latestOffset()) != at:
        assert end[inbox.uuid] - at[inbox.uuid] <= 130
        read += seqs(reader, at, end)
        at = end
    assert read == list(range(1, 1001))


@pytest.mark.req("D5", "X2")
def test_a_transaction_larger_than_the_limit_is_admitted_whole(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 1501, (1, 1500))
    reader = reader_of(inbox, limits=Limits(rows=10, nbytes=MIB))
    assert [reader.latestOffset()[inbox.uuid] for _ in range(3)] == [1, 1501, 1501]


def test_without_respect_for_transactions_the_limit_cuts(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 1500, (1500,))
    reader = reader_of(inbox, limits=Limits(rows=1000, nbytes=MIB, whole_transactions=False))
    assert [reader.latestOffset()[inbox.uuid] for _ in range(3)] == [1000, 1500, 1500]


def test_several_inboxes_share_the_limit_and_each_is_read(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    one, two = inbox_of("one", 500), inbox_of("two", 50)
    reader = reader_of(one, two, limits=Limits(rows=100, nbytes=MIB))
    assert reader.latestOffset() == {one.uuid: 50, two.uuid: 50}
    assert reader.latestOffset() == {one.uuid: 150, two.uuid: 50}


def test_ends_that_were_published_are_repeated_before_anything_new_is_admitted(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 100)
    reader = reader_of(inbox, start={inbox.uuid: 10}, recorded=[{inbox.uuid: 17}, {inbox.uuid: 23}])
    assert [reader.latestOffset()[inbox.uuid] for _ in range(3)] == [17, 23, 100]


def test_a_pause_written_by_another_process_holds_admission_back(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 100)
    reader = reader_of(inbox)
    inbox.pause_admission()
    assert reader.latestOffset() == {inbox.uuid: 0}
    inbox.resume_admission()
    assert reader.latestOffset() == {inbox.uuid: 100}


def test_a_full_batch_does_not_wait(inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]) -> None:
    inbox = inbox_of("orders", 60)
    reader = reader_of(inbox, limits=Limits(rows=50, nbytes=MIB), max_wait=1e9)
    assert reader.latestOffset() == {inbox.uuid: 50}


def test_a_source_that_is_read_no_more_keeps_its_place_in_the_offset(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 10)
    reader = reader_of(inbox, start={"removed": 7})
    end = reader.latestOffset()
    assert end == {"removed": 7, inbox.uuid: 10}
    assert seqs(reader, {"removed": 5}, end) == list(range(1, 11))


def test_few_events_are_one_partition_and_many_are_as_many_as_there_are_cores(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 2000, chunk=50)
    end = {inbox.uuid: 2000}
    assert len(reader_of(inbox).partitions({}, end)) == 1
    many = reader_of(inbox, partition_bytes=1000, max_partitions=4)
    assert len(many.partitions({}, end)) == 4
    assert seqs(many, {}, end) == list(range(1, 2001))


def test_quiet_inboxes_are_read_by_one_task(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inboxes = [inbox_of(name, count) for name, count in (("one", 30), ("two", 20), ("three", 10))]
    reader, end = reader_of(*inboxes), {inbox.uuid: inbox.end() for inbox in inboxes}
    assert len(reader.partitions({}, end)) == 1
    assert seqs(reader, {}, end) == [*range(1, 31), *range(1, 21), *range(1, 11)]


def test_tasks_share_what_several_inboxes_have_and_none_is_read_twice(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inboxes = [inbox_of(name, 300, chunk=50) for name in ("one", "two", "three")]
    reader, end = reader_of(*inboxes, partition_bytes=1000), {inbox.uuid: 300 for inbox in inboxes}
    inboxes[1].skip([7, 299], reason="a test")
    first, second = (len({each.directory for each in part.slices}) for part in reader.partitions({}, end))
    assert (first, second) == (2, 2), "the second inbox is cut in two"
    wanted = [number for number in range(1, 301) if number not in (7, 299)]
    assert seqs(reader, {}, end) == [*range(1, 301), *wanted, *range(1, 301)]


def test_an_inbox_that_was_made_anew_is_refused(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 10)
    inbox.uuid = "another"
    with pytest.raises(LogMissing, match="read another there before"):
        reader_of(inbox).latestOffset()


def test_an_inbox_that_ends_before_where_spark_stands_is_refused(
    inbox_of: Callable[..., Inbox], reader_of: Callable[..., InboxesReader]
) -> None:
    inbox = inbox_of("orders", 10)
    with pytest.raises(NotInLog, match="ends at 10"):
        reader_of(inbox, start={inbox.uuid: 11}).latestOffset()
