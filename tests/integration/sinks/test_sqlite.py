"""What the SQLite sink promises beyond the contract: synced, patient, and never writing where nobody will look."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.model.errors import CommitUnknown, CursorMoved, Fatal, Transient
from holdfast.sinks import Sqlite
from tests.support.mounts import read_only, small_disk
from tests.support.sink_lanes import Lanes, batch_of, rows_of, seqs_of
from tests.support.sink_places import SqlitePlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Lanes]:
    lanes = Lanes(SqlitePlace(tmp_path / "orders.db"))
    with lanes.handles:
        yield lanes


def connection_of(sink: object) -> sqlite3.Connection:
    assert isinstance(sink, Sqlite)
    connection = sink._session._connection
    assert connection is not None
    return connection


def wide(oseq: int, count: int) -> pa.Table:
    return rows_of(oseq, count).set_column(2, "note", pa.array(["x" * 200] * count))


def test_a_commit_is_synced_with_its_directory(lanes: Lanes) -> None:
    assert connection_of(lanes.open()).execute("PRAGMA synchronous").fetchone() == (3,)


def test_a_new_file_uses_a_write_ahead_log(lanes: Lanes) -> None:
    assert connection_of(lanes.open()).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_journal_of_a_file_that_exists_is_its_owners_choice(tmp_path: Path, lanes: Lanes) -> None:
    with closing(sqlite3.connect(tmp_path / "orders.db")) as db:
        db.execute("CREATE TABLE mine (a)")
    sink = lanes.open()
    sink.deliver(batch_of(1))
    assert connection_of(sink).execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_another_writer_is_waited_for_only_so_long(
    tmp_path: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.disk.sqlite.BUSY_SECONDS", 0.1)
    sink = lanes.open()
    with closing(sqlite3.connect(tmp_path / "orders.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Transient, match="locked"):
            sink.deliver(batch_of(1))
        assert sink.cursor() == 0
        other.execute("ROLLBACK")
    sink.deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)


def test_a_full_database_takes_nothing_and_goes_on_when_there_is_room(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    connection_of(sink).execute("PRAGMA max_page_count = 10")
    with pytest.raises(Transient, match="full"):
        sink.deliver(batch_of(2, wide(2, 1000)))
    assert (lanes.seqs(), sink.cursor()) == (seqs_of(1), 1)
    connection_of(sink).execute("PRAGMA max_page_count = 100000")
    sink.deliver(batch_of(2, wide(2, 1000)))
    assert lanes.seqs() == seqs_of(1) + seqs_of(2, count=1000)


def test_a_disk_that_really_fills_up_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4M") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(3_500_000))
        lanes = Lanes(SqlitePlace(disk / "orders.db"))
        with lanes.handles:
            sink = lanes.open()
            sink.deliver(batch_of(1))
            with pytest.raises(Transient, match="disk is full"):
                sink.deliver(batch_of(2, wide(2, 4000)))
            assert (lanes.seqs(), sink.cursor()) == (seqs_of(1), 1)
            ballast.unlink()
            sink.deliver(batch_of(2, wide(2, 4000)))
            assert lanes.seqs() == seqs_of(1) + seqs_of(2, count=4000)


def test_a_read_only_directory_stops_the_lane(tmp_path: Path, lanes: Lanes) -> None:
    lanes.open().close()
    with read_only(tmp_path), pytest.raises(Fatal):
        lanes.open(epoch=2)


def test_a_connection_that_could_only_read_is_made_again_when_the_directory_can_be_written(
    tmp_path: Path, lanes: Lanes
) -> None:
    """SQLite opens a file that it may not write for reading, and a connection stays so for ever."""
    sink = lanes.open()
    sink.deliver(batch_of(1))
    assert isinstance(sink, Sqlite)
    sink._session.drop()
    with read_only(tmp_path), pytest.raises(Fatal, match=r"readonly|unable to open"):
        sink.deliver(batch_of(2))
    sink.deliver(batch_of(2))
    assert lanes.seqs() == seqs_of(1, 2)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"{}"], ids=["text", "short"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, lanes: Lanes, content: bytes) -> None:
    (tmp_path / "orders.db").write_bytes(content)
    with pytest.raises(Fatal, match="no database"):
        lanes.open()
    assert (tmp_path / "orders.db").read_bytes() == content


def test_a_directory_that_does_not_exist_stops_the_lane(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="unable to open"):
        Lanes(SqlitePlace(tmp_path / "missing" / "orders.db")).open()


def test_a_file_that_was_moved_away_takes_no_more_rows_and_is_not_made_anew(tmp_path: Path, lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    for path in list(tmp_path.iterdir()):
        path.rename(path.with_name(path.name.replace("orders", "moved")))
    with pytest.raises(Fatal, match="unable to open"):
        sink.deliver(batch_of(2))
    assert not (tmp_path / "orders.db").exists()
    assert Lanes(SqlitePlace(tmp_path / "moved.db")).seqs() == seqs_of(1)


def test_a_file_that_was_replaced_by_an_older_copy_is_noticed_at_once(tmp_path: Path, lanes: Lanes) -> None:
    path, copy = tmp_path / "orders.db", tmp_path / "copy.db"
    first = lanes.open(epoch=1)
    first.deliver(batch_of(1))
    first.close()
    shutil.copyfile(path, copy)
    sink = lanes.open(epoch=2)
    sink.deliver(batch_of(2))
    copy.rename(path)
    for leftover in (path.with_name("orders.db-wal"), path.with_name("orders.db-shm")):
        leftover.unlink(missing_ok=True)
    with pytest.raises(CursorMoved, match="older copy"):
        sink.deliver(batch_of(3))
    assert sink.cursor() == 1


def test_a_commit_whose_sync_failed_is_in_doubt_and_the_cursor_tells(lanes: Lanes) -> None:
    class FailingSync:
        """A connection over which a commit happens, and is answered as after a failed sync."""

        def __init__(self, real: sqlite3.Connection) -> None:
            self._real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            answer = self._real.execute(sql, *parameters)  # type: ignore[arg-type]
            if sql == "COMMIT":
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise error
            return answer

    sink = lanes.open()
    assert isinstance(sink, Sqlite)
    sink._session._connection = FailingSync(connection_of(sink))  # type: ignore[assignment]
    with pytest.raises(CommitUnknown):
        sink.deliver(batch_of(1))
    assert sink.cursor() == 1
    sink.deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)
