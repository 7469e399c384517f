"""A reader gives ranges that are there, refuses those that are not, follows what comes, and exports it."""

from __future__ import annotations

import io
import json
import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.log import Inbox, InboxReader, Limits, clip, read_chunk
from holdfast.model.errors import LogMissing, NotInLog
from holdfast.model.positions import Lsn, Seq
from tests.support.log_events import events, ids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    with Inbox.open(tmp_path / "inbox", name="orders", epoch=1) as inbox:
        yield inbox


@pytest.fixture
def reader(inbox: Inbox, tmp_path: Path) -> Iterator[InboxReader]:
    with InboxReader.open(tmp_path / "inbox") as reader:
        yield reader


def test_a_reader_knows_which_inbox_it_reads(inbox: Inbox, reader: InboxReader) -> None:
    assert (reader.uuid, reader.name) == (inbox.uuid, "orders")


def test_a_directory_without_an_inbox_is_missing(tmp_path: Path) -> None:
    with pytest.raises(LogMissing):
        InboxReader.open(tmp_path)


def test_a_chunk_is_read_without_an_index(inbox: Inbox, reader: InboxReader, tmp_path: Path) -> None:
    inbox.append(events(5), position=Seq(5))
    (chunk,) = reader.chunks(1, 3)
    assert clip(read_chunk(tmp_path / "inbox", chunk), 1, 3)["event_id"].to_pylist() == ids(2, 3)


@pytest.mark.parametrize(("after", "upto"), [(0, 6), (6, 6), (3, 2), (-1, 2)])
def test_a_range_that_is_not_there_is_refused(inbox: Inbox, reader: InboxReader, after: int, upto: int) -> None:
    inbox.append(events(5), position=Seq(5))
    with pytest.raises(NotInLog):
        reader.chunks(after, upto)


def test_a_range_that_was_trimmed_is_refused(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(5), position=Seq(5))
    inbox.append(events(5, start=6), position=Seq(10))
    inbox.set_cursor("spark", 5)
    inbox.trim()
    assert reader.first() == 6
    with pytest.raises(NotInLog):
        reader.chunks(4, 10)
    with pytest.raises(NotInLog):
        reader.admit(0, Limits(1, 1))
    assert [chunk.first_seq for chunk in reader.chunks(5, 10)] == [6]


def test_an_empty_range_is_nothing(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(5), position=Seq(5))
    assert list(reader.read(5, 5)) == []


def test_the_position_of_every_event_is_known(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(9000), position=Seq(9000))
    inbox.append(events(3, start=9001), position=Seq(9003))
    assert [reader.position_at(seq) for seq in (0, 1, 8192, 8193, 9000, 9002, 9003)] == [
        None,
        *(Seq(seq) for seq in (1, 8192, 8193, 9000, 9002, 9003)),
    ]


def test_the_position_behind_an_append_is_the_one_it_was_given(inbox: Inbox, reader: InboxReader) -> None:
    """The last event of a transaction may stand before its commit, which is where the source goes on."""
    inbox.append(events(2), position=Lsn(0xFF))
    inbox.append(events(2, start=3), position=Lsn(0x1FF))
    assert (reader.position_at(2), reader.position_at(4)) == (Lsn(0xFF), Lsn(0x1FF))


def test_the_position_at_the_end_is_known_after_all_was_trimmed(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(2), position=Seq(2))
    inbox.set_cursor("spark", 2)
    inbox.trim()
    assert reader.position_at(2) == Seq(2)


def test_following_gives_what_was_there_and_what_comes(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(2), position=Seq(2))
    stop, seen = threading.Event(), []
    for batch in reader.follow(0, stop=stop, poll=0.001):
        seen += batch["event_id"].to_pylist()
        if len(seen) == 2:
            inbox.append(events(2, start=3), position=Seq(4))
        else:
            stop.set()
    assert seen == ids(1, 2, 3, 4)


def test_following_ends_when_it_is_told_to(inbox: Inbox, reader: InboxReader) -> None:
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert list(reader.follow(0, stop=stop, poll=60)) == []


def test_events_are_exported_as_json_lines(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(3, payload=2), position=Seq(3))
    out = io.StringIO()
    assert reader.export_jsonl(out, after=1) == 2
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["seq"] for line in lines] == [2, 3]
    assert lines[0]["payload"] == "Li4="
    assert lines[0]["capture_time"] == "1970-01-01T00:00:00+00:00"


def test_an_export_begins_with_what_is_there(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(2), position=Seq(2))
    inbox.append(events(2, start=3), position=Seq(4))
    inbox.set_cursor("spark", 2)
    inbox.trim()
    assert reader.export_jsonl(io.StringIO()) == 2


def test_pausing_reaches_a_reader_for_as_long_as_any_reason_holds(inbox: Inbox, reader: InboxReader) -> None:
    inbox.pause_admission("outbox full")
    inbox.pause_admission()
    inbox.resume_admission()
    assert (reader.admission_paused(), reader.paused_by()) == (True, ["outbox full"])
    inbox.resume_admission("outbox full")
    assert not reader.admission_paused()


def test_skipped_events_reach_a_reader(inbox: Inbox, reader: InboxReader) -> None:
    inbox.append(events(9), position=Seq(9))
    inbox.skip([3, 7], reason="no JSON")
    inbox.skip([3], reason="again")
    assert (reader.skipped(0, 5), reader.skipped(3, 9)) == ([3], [7])


def test_the_size_of_what_is_still_to_be_read_counts_whole_chunks(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox, InboxReader.open(tmp_path) as reader:
        assert reader.nbytes_after(0) == 0
        for start in (1, 6, 11):
            inbox.append(events(5, start=start), position=Seq(start + 4))
        total, chunks = inbox.retained().nbytes, reader.chunks(0, 15)
        sizes = [chunk.length for chunk in chunks]
        assert [reader.nbytes_after(seq) for seq in (0, 4, 5, 14, 15)] == [
            total,
            total,
            sizes[1] + sizes[2],
            sizes[2],
            0,
        ]
