"""A file store whose documents are torn or changed at any byte: the right pair, the pair before, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.checkpoint.contract import CheckpointStore, Commit, Origin, RollBack
from holdfast.checkpoint.file import FileStore
from holdfast.model.errors import CheckpointDamaged
from tests.support.disks import Crash, LoggingDisk, TearingDisk
from tests.support.pairs import NEW, OFFSET, OLD, SECOND, STATE, Prepared, document, older, prepare, read, write


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return prepare(tmp_path)


@pytest.mark.req("K1", "K2")
def test_a_crash_after_any_byte_of_the_write_leaves_the_pair_before(prepared: Prepared) -> None:
    for length in range(len(prepared.next_document) + 1):
        with pytest.raises(Crash):
            write(FileStore(prepared.directory, disk=TearingDisk(length)), NEW, prepared.epoch)
        assert read(FileStore(prepared.directory)) == OLD
        empty(prepared.directory / "tmp")
    write(FileStore(prepared.directory), NEW, prepared.epoch)
    assert read(FileStore(prepared.directory)) == NEW


def empty(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()


def damaged_at_every_byte(data: bytes, kind: str) -> Iterator[bytes]:
    for at in range(len(data)):
        match kind:
            case "cut":
                yield data[:at]
            case "zeroed":
                yield data[:at] + bytes(len(data) - at)
            case "flipped":
                yield data[:at] + bytes([data[at] ^ 0x04]) + data[at + 1 :]


KINDS = pytest.mark.parametrize("kind", ["cut", "zeroed", "flipped"])


def fall_back(store: CheckpointStore) -> None:
    epoch = store.take_over()
    store.commit(Commit(epoch, [RollBack(key, 1, Origin.FALLBACK) for key in OLD]))


@KINDS
@pytest.mark.req("K1", "K2")
def test_a_document_damaged_at_any_byte_is_never_read_as_another_value(prepared: Prepared, kind: str) -> None:
    directory = prepared.copy()
    for damaged in damaged_at_every_byte(prepared.next_document, kind):
        document(directory, SECOND).write_bytes(damaged)
        store = FileStore(directory)
        for key in OLD:
            try:
                stored = store.get_raw(key)
            except CheckpointDamaged:
                continue
            assert stored is not None
            assert stored.payload == NEW[key], damaged


@KINDS
@pytest.mark.req("K2")
def test_the_pair_before_a_document_damaged_at_any_byte_stays_readable(prepared: Prepared, kind: str) -> None:
    directory = prepared.copy()
    for damaged in damaged_at_every_byte(prepared.next_document, kind):
        document(directory, SECOND).write_bytes(damaged)
        store = FileStore(directory)
        assert store.keys() == [OFFSET, STATE]
        assert store.versions(STATE)[0].number == 1
        assert older(store) == OLD


@KINDS
@pytest.mark.req("K1", "K2")
def test_a_fallback_from_a_document_damaged_at_any_byte_gives_the_pair_before(prepared: Prepared, kind: str) -> None:
    directory = prepared.copy()
    for damaged in list(damaged_at_every_byte(prepared.next_document, kind))[:: 1 if kind == "cut" else 16]:
        document(directory, SECOND).write_bytes(damaged)
        fall_back(FileStore(directory, disk=LoggingDisk()))
        store = FileStore(directory)
        newest = store.versions(STATE)[-1]
        assert read(store) == OLD
        assert (newest.number, newest.origin, newest.restored_from) == (3, Origin.FALLBACK, 1)
        for later in (SECOND + 1, SECOND + 2):
            document(directory, later).unlink()


def test_a_lost_document_keeps_its_keys_in_doubt_over_take_over_and_restart(prepared: Prepared) -> None:
    document(prepared.directory, SECOND).write_bytes(b"")
    FileStore(prepared.directory).take_over()
    store = FileStore(prepared.directory)
    for key in (STATE, OFFSET, "written-only-in-the-lost-document"):
        with pytest.raises(CheckpointDamaged, match="Commit 3"):
            store.get_raw(key)


@pytest.mark.req("X19")
def test_a_store_whose_only_documents_are_damaged_does_not_look_new(prepared: Prepared) -> None:
    for path in (prepared.directory / "commits").iterdir():
        path.write_bytes(b"torn")
    store = FileStore(prepared.directory)
    store.take_over()
    assert store.keys() == []
    with pytest.raises(CheckpointDamaged):
        store.get_raw(STATE)


def test_an_accepted_loss_makes_what_only_the_lost_document_knew_absent(prepared: Prepared) -> None:
    document(prepared.directory, SECOND).write_bytes(b"")
    store = FileStore(prepared.directory)
    fall_back(store)
    with pytest.raises(CheckpointDamaged):
        store.get_raw("only-there")
    store.accept_loss(epoch=store.epoch())
    assert FileStore(prepared.directory).get_raw("only-there") is None


@pytest.mark.parametrize("damaged", [[3], [7], [6, 7], [5, 7], [2, 4, 6]])
def test_versions_are_found_past_damaged_documents_of_older_commits(tmp_path: Path, damaged: list[int]) -> None:
    store = FileStore(tmp_path)
    epoch = store.take_over()
    for number in range(1, 8):
        store.put_raw("k", b"%d" % number, epoch=epoch)
    for version in damaged:
        document(tmp_path, version + 1).write_bytes(b"")
    store = FileStore(tmp_path)
    store.take_over()
    assert {version.number for version in store.versions("k")} >= {1, 2, 3, 4, 5, 6, 7} - set(damaged)
    for number in {1, 2, 3, 4, 5, 6} - set(damaged):
        assert store.get_version("k", number).payload == b"%d" % number
