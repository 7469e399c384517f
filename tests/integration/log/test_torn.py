"""A log that was cut, changed or robbed says so with the file and the offset, or never showed what was cut."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterLog, Inbox, InboxReader
from holdfast.model.errors import LogDamaged, LogMissing
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support.log_events import events, ids, read_ids, segment_files
from tests.support.log_work import entry

if TYPE_CHECKING:
    from pathlib import Path


def opened(directory: Path, epoch: int = 1) -> Inbox:
    return Inbox.open(directory, name="orders", epoch=epoch)


def inbox_with_unnamed_bytes(quick_path: Path) -> tuple[Path, int, int]:
    """An inbox whose last append is on disk and not in the index; the offsets between which its bytes lie."""
    live, left = quick_path / "live", quick_path / "left"

    def copy(step: str) -> None:
        if step == Step.INBOX_INDEX and segment_files(live)[0].stat().st_size > first_append:
            shutil.copytree(live, left)

    first_append = 2**40
    with Inbox.open(live, name="orders", epoch=1, hook=copy) as inbox:
        inbox.append(events(2), position=Seq(2))
        first_append = segment_files(live)[0].stat().st_size
        inbox.append(events(1, start=3), position=Seq(3))
    return left, first_append, segment_files(left)[0].stat().st_size


@pytest.mark.req("X5")
def test_a_tail_cut_at_any_byte_is_never_seen_and_appending_goes_on(quick_path: Path) -> None:
    left, start, stop = inbox_with_unnamed_bytes(quick_path)
    assert stop > start
    whole = segment_files(left)[0].read_bytes()
    for cut in range(start, stop + 1):
        segment_files(left)[0].write_bytes(whole[:cut])
        with opened(left) as inbox:
            assert (inbox.end(), inbox.position()) == (2, Seq(2)), f"cut at {cut}"
        assert segment_files(left)[0].stat().st_size == start, f"cut at {cut}"
    with opened(left, epoch=2) as inbox:
        inbox.append(events(1, start=3), position=Seq(3))
    assert read_ids(left) == ids(1, 2, 3)


def test_a_segment_shorter_than_the_index_says_is_damaged_from_where_it_ends(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(LogDamaged) as caught:
        opened(tmp_path, epoch=2)
    assert (caught.value.context["path"], caught.value.context["offset"]) == (str(segment), segment.stat().st_size)


def test_a_flipped_byte_is_damage_at_the_chunk_it_lies_in(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
        inbox.append(events(2, start=3), position=Seq(4))
    with InboxReader.open(tmp_path) as reader:
        first, second = reader.chunks(0, 4)
    (segment,) = segment_files(tmp_path)
    for offset in range(second.offset, second.offset + second.length, 97):
        flip(segment, offset)
        with InboxReader.open(tmp_path) as reader:
            assert sum(batch.num_rows for batch in reader.read(0, 2)) == first.rows
            with pytest.raises(LogDamaged, match=f"damaged at offset {second.offset}") as caught:
                list(reader.read(2))
        assert caught.value.context["path"] == str(segment)
        flip(segment, offset)
    assert len(read_ids(tmp_path)) == 4


def test_a_removed_segment_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
    (segment,) = segment_files(tmp_path)
    segment.unlink()
    with pytest.raises(LogMissing, match=segment.name):
        opened(tmp_path, epoch=2)
    with InboxReader.open(tmp_path) as reader, pytest.raises(LogMissing, match=segment.name):
        list(reader.read(0))


@pytest.mark.req("X19")
def test_a_removed_index_is_missing_and_never_means_a_new_log(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
    for file in tmp_path.glob("index.db*"):
        file.unlink()
    with pytest.raises(LogMissing, match=r"index\.db"):
        opened(tmp_path, epoch=2)
    assert [path.name for path in tmp_path.iterdir()] == ["segments"]
    assert len(segment_files(tmp_path)) == 1


@pytest.mark.req("X19")
def test_an_emptied_index_is_missing_too(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
    (tmp_path / "index.db").write_bytes(b"")
    with pytest.raises(LogMissing):
        opened(tmp_path, epoch=2)


@pytest.mark.req("X19")
def test_an_index_that_was_put_back_to_an_older_copy_is_noticed(tmp_path: Path) -> None:
    """To sweep what it does not name would remove events that are durable."""
    with opened(tmp_path) as inbox:
        inbox.append(events(2), position=Seq(2))
    older = (tmp_path / "index.db").read_bytes()
    with opened(tmp_path, epoch=2) as inbox:
        inbox.append(events(2, start=3), position=Seq(4))
    (tmp_path / "index.db").write_bytes(older)
    with pytest.raises(LogMissing, match="older copy"):
        opened(tmp_path, epoch=3)
    assert len(segment_files(tmp_path)) == 2


def test_an_index_replaced_while_it_is_open_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Seq(1))
        shutil.copy(tmp_path / "index.db", tmp_path / "copy")
        (tmp_path / "copy").rename(tmp_path / "index.db")
        with pytest.raises(LogMissing, match="another file"):
            inbox.append(events(1, start=2), position=Seq(2))


@pytest.mark.req("X19")
def test_a_torn_index_is_damaged_never_empty(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        for number in range(1, 60):
            inbox.append(events(1, start=number), position=Seq(number))
    path = tmp_path / "index.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(LogDamaged):
        opened(tmp_path, epoch=2)


def test_a_flipped_byte_in_the_dead_letters_is_damage(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(1)])
        flip(segment_files(tmp_path)[0], 100)
        with pytest.raises(LogDamaged):
            list(dead.entries())


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)
