"""What the SQLite store promises beyond the contract: durable settings, one process a handle, speed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.contract import Durability
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.model.errors import StoreUnavailable, UnknownEpoch

if TYPE_CHECKING:
    from pathlib import Path

FORKING = """
import os, sys
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.model.errors import StoreClosed

store = SqliteStore(sys.argv[1])
epoch = store.take_over()
store.put_raw("a", b"1", epoch=epoch)
child = os.fork()
if child == 0:
    refused = 0
    for use in (store.keys, store.take_over, lambda: store.put_raw("a", b"2", epoch=epoch)):
        try:
            use()
        except StoreClosed:
            refused += 1
    store.close()
    os._exit(refused)
_, status = os.waitpid(child, 0)
assert store.put_raw("a", b"2", epoch=epoch) == 2
sys.exit(os.waitstatus_to_exitcode(status))
"""

COMMITTING = """
import sys
from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.sqlite import SqliteStore

store = SqliteStore(sys.argv[1])
epoch = store.take_over()
for number in range(1, 1_000_000):
    store.commit(Commit(epoch, [Put("state", b"%d" % number), Put("offset", b"%d" % number)]))
    print(number, flush=True)
"""


def test_a_handle_is_refused_in_a_forked_child_and_goes_on_in_the_parent(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORKING, str(tmp_path / "c.db")], timeout=60, check=False)
    assert done.returncode == 3


@pytest.mark.req("K1")
@pytest.mark.parametrize("after", [3, 20, 45])
def test_after_kill_9_every_commit_that_returned_is_there_and_whole(tmp_path: Path, after: int) -> None:
    path = tmp_path / "c.db"
    command = [sys.executable, "-c", COMMITTING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(after)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout if line.endswith("\n")]
    with SqliteStore(path) as store:
        state, offset = store.get_raw("state"), store.get_raw("offset")
        assert state is not None
        assert offset is not None
        assert state.payload == offset.payload
        assert int(state.payload) >= told[-1]


def test_a_commit_is_synced_to_the_disk_before_it_returns(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "c.db") as store:
        assert store.durability is Durability.POWER_LOSS
        db = store._connection
        assert isinstance(db, sqlite3.Connection)
        full = 2
        assert db.execute("PRAGMA synchronous").fetchone() == (full,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_large_payload_is_compressed(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "c.db") as store:
        store.put_raw("a", b"0123456789" * 100_000, epoch=store.take_over())
    with closing(sqlite3.connect(tmp_path / "c.db")) as db:
        assert db.execute("SELECT length(payload) < size / 100 FROM holdfast_versions").fetchone() == (1,)


def test_namespaces_in_one_file_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with SqliteStore(path, namespace="orders") as orders, SqliteStore(path, namespace="users") as users:
        epoch = orders.take_over(at_least=5)
        orders.put_raw("a", b"1", epoch=epoch)
        assert (users.epoch(), users.keys()) == (0, [])
        with pytest.raises(UnknownEpoch):
            users.put_raw("a", b"1", epoch=epoch)


def test_a_file_that_is_deleted_under_the_store_takes_no_more_writes(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with SqliteStore(path) as store:
        epoch = store.take_over()
        for name in ("c.db", "c.db-wal", "c.db-shm"):
            (tmp_path / name).unlink()
        for use in (store.keys, lambda: store.put_raw("a", b"1", epoch=epoch)):
            with pytest.raises(StoreUnavailable):
                use()
        assert not path.exists(), "a store that vanished is not replaced by an empty one"
