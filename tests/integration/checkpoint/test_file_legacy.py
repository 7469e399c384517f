"""Checkpoints of format 0, one JSON file: read, migrated once, and never gone back to."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from holdfast.checkpoint.commitlog.store import random_nonce
from holdfast.checkpoint.contract import Commit, Delete, Origin, Put
from holdfast.checkpoint.file import FileStore
from holdfast.model.errors import CheckpointDamaged, CheckpointError, ForeignFile
from tests.support.disks import Crash, dying_at

OLD_FORMAT = {"orders": {"lsn": "0/16B3748"}, "orders::sink::kafka": {"lsn": "0/16B3740", "seq": 3}}


def payload(store: FileStore, key: str) -> bytes | None:
    stored = store.get_raw(key)
    return stored.payload if stored else None


@pytest.fixture
def legacy(tmp_path: Path) -> Path:
    (tmp_path / "checkpoints.json").write_text(json.dumps(OLD_FORMAT))
    return tmp_path


@pytest.mark.req("D7")
def test_a_store_of_format_0_is_read(legacy: Path) -> None:
    store = FileStore(legacy)
    assert {key: json.loads(payload(store, key) or b"") for key in OLD_FORMAT} == OLD_FORMAT
    assert store.keys() == sorted(OLD_FORMAT)
    assert [version.origin for version in store.versions("orders")] == [Origin.MIGRATION]


@pytest.mark.req("D7")
def test_a_store_of_format_0_is_migrated_once(legacy: Path) -> None:
    FileStore(legacy)
    FileStore(legacy)
    assert [version.number for version in FileStore(legacy).versions("orders")] == [1]


@pytest.mark.req("D7")
@pytest.mark.parametrize("old_file", ["still there", "changed", "torn", "reappears"])
def test_a_migrated_store_never_goes_back_to_the_old_file(legacy: Path, old_file: str) -> None:
    store = FileStore(legacy)
    epoch = store.take_over()
    store.commit(Commit(epoch, [Put("orders", b"newer"), Delete("orders::sink::kafka")]))
    if old_file == "reappears":
        (legacy / "checkpoints.json").unlink()
        FileStore(legacy)
    if old_file == "torn":
        (legacy / "checkpoints.json").write_text("{torn")
    elif old_file != "still there":
        (legacy / "checkpoints.json").write_text('{"orders": 99, "another": 1}')
    again = FileStore(legacy)
    assert again.keys() == ["orders"]
    assert payload(again, "orders") == b"newer"


@pytest.mark.req("D7")
def test_a_store_opened_twice_at_once_is_migrated_once(legacy: Path) -> None:
    """The other process migrates between this one's look at the store and its own migration."""

    def others_first() -> str:
        FileStore(legacy)
        return random_nonce()

    store = FileStore(legacy, nonces=others_first)
    assert [version.number for version in store.versions("orders")] == [1]


@pytest.mark.req("D7")
def test_a_crash_at_any_step_of_a_migration_migrates_all_or_nothing(tmp_path: Path) -> None:
    for step in count():
        directory = tmp_path / f"store-{step}"
        directory.mkdir()
        (directory / "checkpoints.json").write_text(json.dumps(OLD_FORMAT))
        try:
            FileStore(directory, disk=dying_at(step))
        except Crash:
            store = FileStore(directory)
            assert store.keys() == sorted(OLD_FORMAT)
            assert [version.number for version in store.versions("orders")] == [1]
            continue
        break


@pytest.mark.req("D7", "X19")
@pytest.mark.parametrize(("content", "error"), [("{torn", CheckpointDamaged), ("[1, 2]", ForeignFile)])
def test_an_unreadable_file_of_format_0_does_not_start_an_empty_store(
    tmp_path: Path, content: str, error: type[CheckpointError]
) -> None:
    (tmp_path / "checkpoints.json").write_text(content)
    for _ in range(2):
        with pytest.raises(error, match=r"checkpoints\.json"):
            FileStore(tmp_path)
    assert (tmp_path / "checkpoints.json").read_text() == content
