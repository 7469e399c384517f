"""What a file store removes, what it leaves, and what a long history costs."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

import pytest

from holdfast.checkpoint.commitlog.sweep import SPARE
from holdfast.checkpoint.contract import Commit, Delete, Put
from holdfast.checkpoint.file import FileStore
from tests.support.disks import Crash, LoggingDisk, dying_at

LARGE = Random(2).randbytes(100_000)


def payload(store: FileStore, key: str) -> bytes | None:
    stored = store.get_raw(key)
    return stored.payload if stored else None


def files(directory: Path, folder: str) -> list[Path]:
    return sorted((directory / folder).iterdir())


def written(directory: Path, versions: int) -> int:
    store = FileStore(directory, disk=LoggingDisk())
    epoch = store.take_over()
    for number in range(versions):
        store.commit(Commit(epoch, [Put("k", b"%d" % number), Put("large", LARGE)]))
    return epoch


def test_a_prune_removes_the_documents_and_blobs_that_nothing_refers_to(tmp_path: Path) -> None:
    epoch = written(tmp_path, 12)
    for key in ("k", "large"):
        assert FileStore(tmp_path).prune(key, keep=2, epoch=epoch) == 10
    assert len(files(tmp_path, "commits")) <= SPARE + 2
    assert len(files(tmp_path, "blobs")) == 2
    assert [version.number for version in FileStore(tmp_path).versions("k")] == [11, 12]


def test_a_crash_at_any_step_of_a_prune_loses_nothing_that_is_kept(tmp_path: Path) -> None:
    for step in count():
        directory = tmp_path / str(step)
        epoch = written(directory, 8)
        try:
            FileStore(directory, disk=dying_at(step)).prune("k", keep=1, epoch=epoch)
            FileStore(directory, disk=dying_at(step)).prune("large", keep=1, epoch=epoch)
        except Crash:
            store = FileStore(directory)
            assert (payload(store, "k"), payload(store, "large")) == (b"7", LARGE)
            assert store.put_raw("k", b"next", epoch=epoch) == 9
            for key in ("k", "large"):
                store.prune(key, keep=1, epoch=epoch)
            assert len(files(directory, "blobs")) <= SPARE
            continue
        break


def test_the_documents_of_a_deleted_key_are_swept_up(tmp_path: Path) -> None:
    epoch = written(tmp_path, 5)
    store = FileStore(tmp_path)
    store.commit(Commit(epoch, [Delete("large"), Delete("k")]))
    for number in range(SPARE):
        store.put_raw("other", b"%d" % number, epoch=epoch)
    store.prune("other", keep=1, epoch=epoch)
    assert files(tmp_path, "blobs") == []
    assert len(files(tmp_path, "commits")) <= SPARE + 1


def test_a_commit_and_a_read_touch_as_many_files_however_long_the_history(tmp_path: Path) -> None:
    def touched(store: FileStore, disk: LoggingDisk, epoch: int) -> int:
        reads = 0

        def counting(name: str, read: object = store._medium.read) -> bytes | None:
            nonlocal reads
            reads += 1
            return read(name)  # type: ignore[operator, no-any-return]

        store._medium.read = counting  # type: ignore[method-assign]
        store._medium.numbers = pytest.fail  # type: ignore[method-assign]
        before = len(disk.steps)
        store.put_raw("k", b"x", epoch=epoch)
        store.get_raw("k")
        return len(disk.steps) - before + reads

    results = []
    for length in (3, 60):
        directory = tmp_path / str(length)
        epoch = written(directory, length)
        disk = LoggingDisk()
        results.append(touched(FileStore(directory, disk=disk), disk, epoch))
    assert results[0] == results[1]


def test_a_foreign_file_among_the_blobs_is_left_alone(tmp_path: Path) -> None:
    with FileStore(tmp_path / "s") as store:
        epoch = store.take_over()
        for number in range(10):
            store.put_raw("k", bytes([number]) * 100_000, epoch=epoch)
        stranger = tmp_path / "s" / "blobs" / ".DS_Store"
        stranger.touch()
        assert store.prune("k", keep=2, epoch=epoch) == 8
        assert stranger.exists()
