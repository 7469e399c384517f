"""A log refuses owners that were overtaken and places that are not its own; a disk that refuses costs it nothing."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterLog, Inbox, InboxReader, Outbox
from holdfast.model.errors import ForeignLog, LogClosed, LogDamaged, LogError, LogFenced, LogFull, LogReadOnly
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support.log_events import events, ids, read_ids, segment_files
from tests.support.mounts import read_only, small_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPEN: dict[str, Callable[[Path, int], object]] = {
    "inbox": lambda path, epoch: Inbox.open(path, name="orders", epoch=epoch),
    "outbox": lambda path, epoch: Outbox.open(path, epoch=epoch),
    "dead": lambda path, epoch: DeadLetterLog.open(path, epoch=epoch),
}


def opened(directory: Path, epoch: int = 1) -> Inbox:
    return Inbox.open(directory, name="orders", epoch=epoch)


# Fencing


@pytest.mark.req("X11")
@pytest.mark.parametrize("kind", OPEN)
def test_a_lower_epoch_is_refused(tmp_path: Path, kind: str) -> None:
    OPEN[kind](tmp_path, 5).close()  # type: ignore[attr-defined]
    with pytest.raises(LogFenced):
        OPEN[kind](tmp_path, 4)


@pytest.mark.req("X11")
def test_an_owner_that_is_overtaken_can_append_no_more(tmp_path: Path) -> None:
    with opened(tmp_path) as old, opened(tmp_path, epoch=2) as new:
        with pytest.raises(LogFenced):
            old.append(events(1), position=Seq(1))
        new.append(events(1), position=Seq(1))
    assert read_ids(tmp_path) == ids(1)


@pytest.mark.req("X11")
@pytest.mark.parametrize("step", [Step.INBOX_WRITE, Step.INBOX_FSYNC, Step.INBOX_INDEX])
def test_an_owner_that_is_overtaken_in_the_middle_of_an_append_changes_nothing(tmp_path: Path, step: Step) -> None:
    newer: list[Inbox] = []

    def overtake(reached: str) -> None:
        if reached == step and not newer:
            newer.append(opened(tmp_path, epoch=2))
            newer[0].append(events(2, start=50), position=Seq(51))

    with Inbox.open(tmp_path, name="orders", epoch=1, hook=overtake) as old, pytest.raises(LogFenced):
        old.append(events(1), position=Seq(1))
    newer[0].append(events(1, start=52), position=Seq(52))
    newer[0].close()
    assert read_ids(tmp_path) == ids(50, 51, 52)
    opened(tmp_path, epoch=3).close()
    assert read_ids(tmp_path) == ids(50, 51, 52)


@pytest.mark.req("X11")
def test_of_two_owners_of_the_same_epoch_the_earlier_is_refused(tmp_path: Path) -> None:
    """An epoch is handed out once; should it be used twice all the same, there is still one owner."""
    with opened(tmp_path) as one, opened(tmp_path) as other:
        with pytest.raises(LogFenced):
            one.append(events(1, start=7), position=Seq(7))
        other.append(events(1), position=Seq(1))
    assert read_ids(tmp_path) == ids(1)


@pytest.mark.req("X11")
def test_an_owner_that_is_overtaken_can_neither_trim_nor_move_cursors(tmp_path: Path) -> None:
    with opened(tmp_path) as old:
        old.append(events(2), position=Seq(2))
        old.set_cursor("spark", 2)
        with opened(tmp_path, epoch=2):
            with pytest.raises(LogFenced):
                old.trim()
            with pytest.raises(LogFenced):
                old.set_cursor("spark", 1)
    assert len(read_ids(tmp_path)) == 2


def test_a_handle_carried_over_a_fork_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as inbox:
        child = os.getpid() + 1
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: child)
            with pytest.raises(LogClosed, match="fork"):
                inbox.append(events(1), position=Seq(1))
        inbox.append(events(1), position=Seq(1))


# Foreign places


@pytest.mark.parametrize("kind", OPEN)
@pytest.mark.parametrize("file", ["notes.txt", "data.db"])
def test_a_directory_of_something_else_is_refused_and_left_alone(tmp_path: Path, kind: str, file: str) -> None:
    (tmp_path / file).write_text("mine")
    with pytest.raises(ForeignLog):
        OPEN[kind](tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"{}"], ids=["text", "short"])
def test_an_index_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(content)
    with pytest.raises(ForeignLog):
        opened(tmp_path)
    with pytest.raises(ForeignLog):
        InboxReader.open(tmp_path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE accounts (id INTEGER)")
    db.close()
    content = path.read_bytes()
    with pytest.raises(ForeignLog):
        opened(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("made", OPEN)
@pytest.mark.parametrize("asked", OPEN)
def test_a_log_of_another_kind_is_refused(tmp_path: Path, made: str, asked: str) -> None:
    if made == asked:
        return
    OPEN[made](tmp_path, 1).close()  # type: ignore[attr-defined]
    with pytest.raises(ForeignLog):
        OPEN[asked](tmp_path, 2)


def test_the_inbox_of_another_source_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(ForeignLog, match="customers"):
        Inbox.open(tmp_path, name="customers", epoch=2)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET format = 'x'",
        "UPDATE log SET name = x'ff'",
        "UPDATE state SET trimmed = 'x'",
        "UPDATE state SET end_seq = -1",
        "UPDATE state SET trimmed = 99",
        "DELETE FROM state",
        "UPDATE chunks SET last_seq = 'x'",
        "UPDATE chunks SET first_seq = 3, last_seq = 2",
        "UPDATE chunks SET length = -1",
        "UPDATE chunks SET offset = 'x'",
        "UPDATE chunks SET file = x'00'",
        "UPDATE chunks SET tx_ends = x'010203'",
        "UPDATE chunks SET tx_ends = 7",
    ],
)
def test_values_in_the_index_that_cannot_have_been_written_are_damage(tmp_path: Path, change: str) -> None:
    """SQLite keeps no checksums: a flipped bit can turn a number into a text."""
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        inbox.append(events(3), position=Seq(3))
    with closing(sqlite3.connect(tmp_path / "index.db")) as db, db:
        db.execute(change)
    with pytest.raises(LogDamaged, match=r"index\.db"):
        _read_all(tmp_path)


def _read_all(directory: Path) -> None:
    with InboxReader.open(directory) as reader:
        list(reader.read(0, 3))


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with sqlite3.connect(tmp_path / "index.db") as db:
        db.execute("UPDATE log SET format = 2")
    db.close()
    with pytest.raises(ForeignLog, match="format 2"):
        opened(tmp_path, epoch=2)


# Disks that refuse


def fill(inbox: Inbox) -> tuple[LogError, int]:
    """Append again and again until it is refused; the error, and how many appends were accepted."""
    for number in range(1, 10_000):
        try:
            inbox.append(events(20, start=number * 20 - 19, payload=500), position=Seq(number * 20))
        except LogError as error:
            return error, number - 1
    pytest.fail("the disk never filled up")


def test_a_disk_that_really_fills_up_loses_nothing_and_appending_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(300_000))
        with opened(disk / "inbox") as inbox:
            error, accepted = fill(inbox)
            assert isinstance(error, LogFull)
            assert inbox.end() == accepted * 20
            assert sum(file.stat().st_size for file in segment_files(disk / "inbox")) == inbox.retained().nbytes
            assert read_ids(disk / "inbox") == ids(*range(1, accepted * 20 + 1))
            ballast.unlink()
            inbox.append(events(20, start=accepted * 20 + 1), position=Seq(accepted * 20 + 20))
        assert len(read_ids(disk / "inbox")) == accepted * 20 + 20


def test_a_full_index_makes_nothing_visible_and_gives_the_bytes_back(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        db = inbox._store.log.index._connection
        db.execute("PRAGMA max_page_count = 20")
        error, accepted = fill(inbox)
        assert isinstance(error, LogFull)
        assert inbox.end() == accepted * 20
        named = inbox.retained().nbytes
        assert sum(file.stat().st_size for file in segment_files(tmp_path)) == named
        db.execute("PRAGMA max_page_count = 100000")
        inbox.append(events(20, start=accepted * 20 + 1), position=Seq(accepted * 20 + 20))
    assert len(read_ids(tmp_path)) == accepted * 20 + 20


def test_a_full_disk_in_the_middle_of_a_transaction_lets_it_finish_later(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, opened(disk / "inbox") as inbox:
        inbox.append(events(10, ends=()), position=Seq(10))
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="No space"):
            ballast.write_bytes(bytes(2_000_000))
        with pytest.raises(LogFull):
            inbox.append(events(10, start=11, ends={20}, payload=100_000), position=Seq(20))
        assert inbox.end() == 0
        ballast.unlink()
        inbox.append(events(10, start=11, ends={20}), position=Seq(20))
        assert read_ids(disk / "inbox") == ids(*range(1, 21))


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "new"])
@pytest.mark.parametrize("kind", OPEN)
def test_a_read_only_directory_is_refused(tmp_path: Path, kind: str, exists: bool) -> None:
    directory = tmp_path / "log"
    directory.mkdir()
    if exists:
        OPEN[kind](directory, 1).close()  # type: ignore[attr-defined]
    with read_only(directory), pytest.raises(LogReadOnly):
        OPEN[kind](directory, 2)
    OPEN[kind](directory, 2).close()  # type: ignore[attr-defined]


def test_segments_that_become_read_only_are_reported_and_appending_goes_on_afterwards(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        with read_only(tmp_path / "segments"), pytest.raises(LogReadOnly):
            inbox.append(events(1), position=Seq(1))
        assert inbox.end() == 0
        inbox.append(events(1), position=Seq(1))
    assert read_ids(tmp_path) == ids(1)


class FailingCommit:
    """A connection whose next COMMIT fails as on a disk that cannot sync: it may or may not be in the file."""

    def __init__(self, connection: sqlite3.Connection, *, is_done: bool) -> None:
        self._connection = connection
        self._is_done = is_done

    def execute(self, statement: str, *values: object) -> object:
        if statement != "COMMIT":
            return self._connection.execute(statement, *values)
        self._connection.execute("COMMIT" if self._is_done else "ROLLBACK")
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


@pytest.mark.parametrize("is_done", [True, False], ids=["happened", "did not happen"])
def test_a_commit_in_doubt_stops_the_owner_and_the_next_opening_knows(tmp_path: Path, is_done: bool) -> None:
    with opened(tmp_path) as inbox:
        inbox.append(events(1), position=Seq(1))
        index = inbox._store.log.index
        index._connection = FailingCommit(index._connection, is_done=is_done)  # type: ignore[assignment]
        with pytest.raises(LogError, match="may or may not"):
            inbox.append(events(1, start=2), position=Seq(2))
        with pytest.raises(LogClosed, match="half-way"):
            inbox.append(events(1, start=2), position=Seq(2))
    with opened(tmp_path, epoch=2) as inbox:
        assert inbox.position() == Seq(1 + is_done)
        inbox.append(events(2 - is_done, start=2 + is_done), position=Seq(3))
    assert read_ids(tmp_path) == ids(1, 2, 3)
