"""What is special about checkpoints in a directory: disks that refuse, and places that are not a store."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from random import Random

import pytest

from holdfast.checkpoint.commitlog.disk import Disk
from holdfast.checkpoint.contract import Durability
from holdfast.checkpoint.file import LEFTOVER_AFTER, FileStore
from holdfast.model.errors import (
    CheckpointDamaged,
    CheckpointError,
    CommitStateUnknown,
    ForeignFile,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    UnknownFormat,
)
from tests.support.disks import Crash, dying_at, failing_at
from tests.support.mounts import read_only, small_disk

LARGE = Random(2).randbytes(100_000)


def payload(store: FileStore, key: str) -> bytes | None:
    stored = store.get_raw(key)
    return stored.payload if stored else None


def files(directory: Path, folder: str) -> list[Path]:
    return sorted((directory / folder).iterdir())


def test_a_commit_survives_loss_of_power(tmp_path: Path) -> None:
    assert FileStore(tmp_path).durability is Durability.POWER_LOSS


# A disk that is full


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.EPERM, StoreReadOnly),
        (errno.EIO, StoreUnavailable),
    ],
)
def test_a_disk_that_refuses_at_any_step_loses_nothing(
    tmp_path: Path, error: int, expected: type[CheckpointError]
) -> None:
    healthy = FileStore(tmp_path)
    epoch = healthy.take_over()
    healthy.put_raw("k", b"before", epoch=epoch)
    seen: list[type[CheckpointError]] = []
    for step in count():
        try:
            FileStore(tmp_path, disk=failing_at(step, error)).put_raw("new", b"after", epoch=epoch)
        except CheckpointError as refused:
            seen.append(type(refused))
            assert payload(FileStore(tmp_path), "k") == b"before"
            continue
        break
    assert set(seen) == {expected, CommitStateUnknown}
    assert payload(FileStore(tmp_path), "new") == b"after"


def test_a_disk_that_is_full_for_a_large_payload_takes_it_later(tmp_path: Path) -> None:
    epoch = FileStore(tmp_path).take_over()
    for step in count():
        try:
            FileStore(tmp_path, disk=failing_at(step, errno.ENOSPC)).put_raw("large", LARGE, epoch=epoch)
        except CheckpointError:
            continue
        break
    FileStore(tmp_path).put_raw("large", LARGE, epoch=epoch)
    assert payload(FileStore(tmp_path), "large") == LARGE


LIMITED = """
import resource, signal, sys
from pathlib import Path
from holdfast.checkpoint.file import FileStore
from holdfast.model.errors import StoreFull

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = FileStore(sys.argv[1])
epoch = store.take_over()
store.put_raw("k", b"before", epoch=epoch)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
try:
    store.put_raw("k", b"x" * 5000, epoch=epoch)
except StoreFull as error:
    print("refused")
assert store.get_raw("k").payload == b"before"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.put_raw("k", b"after", epoch=epoch)
print(store.get_raw("k").payload.decode(), len(list((Path(sys.argv[1]) / "tmp").iterdir())))
"""


def test_a_real_limit_of_the_system_is_a_full_store_that_goes_on_when_lifted(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["refused", "after", "0"], "")


def test_a_really_full_disk_keeps_what_it_has_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        store = FileStore(disk / "store")
        epoch = store.take_over()
        store.put_raw("k", b"before", epoch=epoch)
        with (disk / "other").open("wb") as other, pytest.raises(OSError, match="No space"):
            other.write(bytes(1 << 20))
        with pytest.raises(StoreFull):
            store.put_raw("k", b"after", epoch=epoch)
        assert payload(FileStore(disk / "store"), "k") == b"before"
        (disk / "other").unlink()
        store.put_raw("k", b"after", epoch=epoch)
        assert payload(FileStore(disk / "store"), "k") == b"after"


def test_a_really_read_only_directory_can_still_be_read(tmp_path: Path) -> None:
    epoch = FileStore(tmp_path / "store").take_over()
    FileStore(tmp_path / "store").put_raw("k", b"before", epoch=epoch)
    with read_only(tmp_path / "store") as directory:
        store = FileStore(directory)
        assert payload(store, "k") == b"before"
        with pytest.raises(StoreReadOnly):
            store.put_raw("k", b"after", epoch=epoch)
        with pytest.raises(StoreReadOnly):
            FileStore(directory / "another")
    assert store.put_raw("k", b"after", epoch=epoch) == 2


# Places that are not a store, or no longer one


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ForeignFile, match=r"notes\.txt"):
        FileStore(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_place_of_the_directory_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("mine")
    with pytest.raises(ForeignFile, match="is a file"):
        FileStore(tmp_path / "store")


def test_a_marker_of_something_else_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "holdfast.json").write_text('{"kind": "something else"}')
    with pytest.raises(ForeignFile, match=r"holdfast\.json"):
        FileStore(tmp_path)


def test_a_store_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    FileStore(tmp_path).take_over()
    marker = json.loads((tmp_path / "holdfast.json").read_text())
    (tmp_path / "holdfast.json").write_text(json.dumps(marker | {"format": 2}))
    with pytest.raises(UnknownFormat, match="format 2"):
        FileStore(tmp_path)


def test_a_directory_that_disappears_is_unavailable_and_not_made_anew(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "store")
    epoch = store.take_over()
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    for use in (store.keys, lambda: store.get_raw("k"), lambda: store.put_raw("k", b"", epoch=epoch), store.take_over):
        with pytest.raises(StoreUnavailable):
            use()
    assert not (tmp_path / "store").exists()


def test_documents_that_disappear_are_not_taken_for_an_older_state(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    epoch = store.take_over()
    store.put_raw("k", b"1", epoch=epoch)
    for path in files(tmp_path, "commits"):
        path.unlink()
    with pytest.raises(StoreUnavailable):
        store.put_raw("k", b"2", epoch=epoch)


@pytest.mark.parametrize("folder", ["commits", "blobs"])
def test_a_missing_file_is_damage_that_names_it(tmp_path: Path, folder: str) -> None:
    store = FileStore(tmp_path)
    epoch = store.take_over()
    store.put_raw("k", LARGE if folder == "blobs" else b"small", epoch=epoch)
    store.put_raw("other", b"", epoch=epoch)
    gone = files(tmp_path, folder)[1 if folder == "commits" else 0]
    gone.unlink()
    with pytest.raises(CheckpointDamaged, match=gone.name):
        FileStore(tmp_path).get_raw("k")


def test_a_crash_while_a_store_is_made_leaves_a_place_where_it_can_be_made(tmp_path: Path) -> None:
    for step in count():
        directory = tmp_path / f"store-{step}"
        try:
            FileStore(directory, disk=dying_at(step))
        except Crash:
            assert FileStore(directory).take_over() == 1
            continue
        break
    assert step > 5


def test_leftovers_of_dead_writers_are_removed_at_open_and_files_in_use_are_not(tmp_path: Path) -> None:
    FileStore(tmp_path)
    for name, age in (("old", LEFTOVER_AFTER + 60), ("fresh", 0.0)):
        path = tmp_path / "tmp" / name
        path.write_bytes(b"half a docu")
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    FileStore(tmp_path)
    assert [path.name for path in files(tmp_path, "tmp")] == ["fresh"]


def test_a_name_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "taken").write_text("old")
    with pytest.raises(FileExistsError):
        Disk().publish(tmp_path / "new", tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "old"
