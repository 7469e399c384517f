"""When its disk is full, read-only or not what it should be, a SQLite store says so, loses nothing, and goes on."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.model.errors import (
    CheckpointDamaged,
    CheckpointError,
    ForeignFile,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from tests.support.mounts import read_only, small_disk

if TYPE_CHECKING:
    from pathlib import Path

NOISE = bytes(range(256)) * 8
"""Too short to be compressed."""


def fill(store: CheckpointStore, epoch: int) -> tuple[CheckpointError, int]:
    """Commit two keys again and again until it is refused; the error, and how many commits were accepted."""
    for number in range(100_000):
        try:
            store.commit(Commit(epoch, [Put("state", NOISE), Put("offset", b"%d" % number)]))
        except CheckpointError as error:
            return error, number
    pytest.fail("the store never filled up")


def assert_whole(store: CheckpointStore, commits: int) -> None:
    assert [len(store.versions(key)) for key in ("state", "offset")] == [commits, commits]
    newest = store.get_raw("offset")
    assert newest is not None
    assert newest.payload == b"%d" % (commits - 1)


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    assert isinstance(store._connection, sqlite3.Connection)
    return store._connection


def test_sqlite_says_when_it_is_full_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "c.db") as store:
        epoch = store.take_over()
        connection_of(store).execute("PRAGMA max_page_count = 100")
        error, accepted = fill(store, epoch)
        assert isinstance(error, StoreFull)
        assert_whole(store, accepted)
        connection_of(store).execute("PRAGMA max_page_count = 100000")
        store.commit(Commit(epoch, [Put("state", NOISE), Put("offset", b"%d" % accepted)]))
        assert_whole(store, accepted + 1)


def test_sqlite_on_a_disk_that_really_fills_up_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(300_000))
        with SqliteStore(disk / "c.db") as store:
            epoch = store.take_over()
            error, accepted = fill(store, epoch)
            assert isinstance(error, StoreFull)
            with SqliteStore(disk / "c.db") as reader:
                assert_whole(reader, accepted)
            ballast.unlink()
            store.commit(Commit(epoch, [Put("state", NOISE), Put("offset", b"%d" % accepted)]))
            assert_whole(store, accepted + 1)


def test_sqlite_says_when_the_database_is_read_only(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "c.db") as store:
        epoch = store.take_over()
        store.put_raw("a", b"1", epoch=epoch)
        connection_of(store).execute("PRAGMA query_only = on")
        with pytest.raises(StoreReadOnly):
            store.put_raw("a", b"2", epoch=epoch)
        with pytest.raises(StoreReadOnly):
            store.take_over()
        assert len(store.versions("a")) == 1
        connection_of(store).execute("PRAGMA query_only = off")
        assert store.put_raw("a", b"2", epoch=epoch) == 2


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "new"])
def test_sqlite_says_when_its_directory_is_read_only(tmp_path: Path, exists: bool) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    if exists:
        with SqliteStore(directory / "c.db") as store:
            store.put_raw("a", b"1", epoch=store.take_over())
    with read_only(directory), pytest.raises(StoreReadOnly):
        SqliteStore(directory / "c.db").take_over()
    with SqliteStore(directory / "c.db") as store:
        assert store.keys() == (["a"] if exists else [])


def test_sqlite_waits_for_another_writer_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.disk.sqlite.BUSY_SECONDS", 0.1)
    with SqliteStore(tmp_path / "c.db") as store:
        epoch = store.take_over()
        other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            store.put_raw("a", b"1", epoch=epoch)
        assert store.keys() == []
        other.execute("ROLLBACK")
        other.close()
        assert store.put_raw("a", b"1", epoch=epoch) == 1


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"{}"], ids=["text", "short"])
def test_sqlite_refuses_a_file_that_is_no_database_and_leaves_it_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.db"
    path.write_bytes(content)
    with pytest.raises(ForeignFile):
        SqliteStore(path)
    assert path.read_bytes() == content


@pytest.mark.req("X19")
def test_sqlite_with_a_torn_file_is_damaged_never_empty(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with SqliteStore(path) as store:
        store.put_raw("a", NOISE * 50, epoch=store.take_over())
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(CheckpointDamaged), SqliteStore(path) as store:
        store.get_raw("a")


def test_sqlite_in_a_directory_that_does_not_exist_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        SqliteStore(tmp_path / "missing" / "c.db")
