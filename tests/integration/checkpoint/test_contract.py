"""What every checkpoint store promises to one owner: reading, writing, versions. One suite for all backends."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import pytest

from holdfast.checkpoint.contract import Commit, Durability, Origin, Put, RollBack, TypedKey, VersionIs
from holdfast.model.errors import (
    InvalidCommit,
    InvalidKey,
    StoreClosed,
    UnknownKey,
    UnknownVersion,
)
from tests.support.stores import TickingClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checkpoint.contract import CheckpointStore
    from tests.support.stores import StoreFactory


@dataclass(frozen=True)
class Cursor:
    lane: str
    oseq: int


class CursorCodec:
    def encode(self, value: Cursor) -> bytes:
        return json.dumps([value.lane, value.oseq]).encode()

    def decode(self, payload: bytes) -> Cursor:
        return Cursor(*json.loads(payload))


CURSOR = TypedKey("lanes/kafka", CursorCodec())


# Reading and writing


def test_a_new_store_is_empty(store: CheckpointStore) -> None:
    assert (store.epoch(), store.keys(), store.get_raw("a"), store.versions("a")) == (0, [], None, [])
    assert isinstance(store.durability, Durability)


def test_a_typed_value_comes_back_equal(store: CheckpointStore, epoch: int) -> None:
    assert store.get(CURSOR) is None
    assert store.put(CURSOR, Cursor("kafka", 41), epoch=epoch) == 1
    assert store.put(CURSOR, Cursor("kafka", 42), epoch=epoch) == 2
    assert store.get(CURSOR) == Cursor("kafka", 42)


@pytest.mark.parametrize("payload", [b"", b"\x00\xff\r\n", b"{}", "ü€".encode(), b"x" * 4096], ids=len)
def test_bytes_come_back_unchanged(store: CheckpointStore, epoch: int, payload: bytes) -> None:
    store.put_raw("a", payload, epoch=epoch)
    found = store.get_raw("a")
    assert found is not None
    assert found.payload == payload


@pytest.mark.parametrize(
    "payload", [random.Random(7).randbytes(5_000_000), b"abcde" * 1_000_000], ids=["noise", "text"]
)
def test_five_megabytes_come_back_unchanged(store_factory: StoreFactory, payload: bytes) -> None:
    store = store_factory.open()
    store.put_raw("state/big", payload, epoch=store.take_over())
    found = store_factory.open().get_raw("state/big")
    assert found is not None
    assert (found.payload == payload, found.version.size) == (True, 5_000_000)


def test_delete_says_whether_the_key_was_there(store: CheckpointStore, epoch: int) -> None:
    store.put_raw("a", b"1", epoch=epoch)
    assert store.delete("a", epoch=epoch) is True
    assert store.delete("a", epoch=epoch) is False
    assert store.delete("never", epoch=epoch) is False
    assert (store.keys(), store.get_raw("a"), store.versions("a")) == ([], None, [])


def test_keys_are_sorted_and_a_prefix_is_taken_literally(store: CheckpointStore, epoch: int) -> None:
    names = ["b", "a/2", "a/1", "B", "a_1", "ab1"]
    store.commit(Commit(epoch, [Put(name, b"") for name in names]))
    assert store.keys() == sorted(names)
    assert store.keys("a/") == ["a/1", "a/2"]
    assert store.keys("a_") == ["a_1"]
    assert (store.keys("%"), store.keys("z"), store.keys("\x00")) == ([], [], [])


LEGAL = ["a", "A", "a/b", "a//b", "a/./b", "a/", "a:b", "a.b", "a-b", "a_b", "-a", "con", "a.json", "k" * 200]


def test_legal_keys_that_look_alike_are_kept_apart(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    store.commit(Commit(store.take_over(), [Put(key, key.encode()) for key in LEGAL]))
    other = store_factory.open()
    assert other.keys() == sorted(LEGAL)
    assert [stored.payload for key in LEGAL if (stored := other.get_raw(key))] == [key.encode() for key in LEGAL]


HOSTILE = ["", "k" * 201, "/etc/passwd", ".hidden", "..", "../up", "a/../b", "a..b", "a b", "a\x00", "a\n", "a\tb", "é"]
HOSTILE += [
    "a'; DROP TABLE holdfast_keys; --",
    'a"b',
    "a\\b",
    "a%b",
    "a?b",
    "a*b",
    "~",
    "a\ud800",
    "a\u202e",
    "a&b",
    "{a}",
]


@pytest.mark.parametrize("key", HOSTILE, ids=ascii)
def test_hostile_keys_are_refused_by_every_operation(store: CheckpointStore, epoch: int, key: str) -> None:
    operations: list[Callable[[], object]] = [
        lambda: store.get_raw(key),
        lambda: store.versions(key),
        lambda: store.get_version(key, 1),
        lambda: store.put_raw(key, b"", epoch=epoch),
        lambda: store.delete(key, epoch=epoch),
        lambda: store.roll_back(key, 1, epoch=epoch),
        lambda: store.prune(key, keep=1, epoch=epoch),
        lambda: store.commit(Commit(epoch, [Put("fine", b"")], [VersionIs(key, 0)])),
    ]
    for operation in operations:
        with pytest.raises(InvalidKey):
            operation()
    assert store.keys() == []


# Versions


def test_a_version_tells_when_by_whom_how_and_what(store_factory: StoreFactory) -> None:
    clock = TickingClock()
    store = store_factory.open(clock)
    first, second = store.take_over(), store.take_over()
    assert (first, second) == (1, 2)
    before = clock.now
    store.put_raw("a", b"hello", epoch=second)
    (version,) = store_factory.open().versions("a")
    assert (version.key, version.number, version.size, version.epoch) == ("a", 1, 5, second)
    assert version.checksum == google_crc32c.value(b"hello")
    assert (version.origin, version.restored_from) == (Origin.PUT, None)
    assert before < version.created_at <= clock.now
    assert version.created_at.utcoffset() is not None


def test_every_version_is_listed_and_can_be_read(store: CheckpointStore, epoch: int) -> None:
    for payload in (b"one", b"two", b"three"):
        store.put_raw("a", payload, epoch=epoch)
    assert [version.number for version in store.versions("a")] == [1, 2, 3]
    assert [store.get_version("a", number).payload for number in (1, 2, 3)] == [b"one", b"two", b"three"]


def test_an_unknown_key_and_an_unknown_version_are_told_apart(store: CheckpointStore, epoch: int) -> None:
    store.put_raw("a", b"", epoch=epoch)
    with pytest.raises(UnknownKey):
        store.get_version("b", 1)
    with pytest.raises(UnknownVersion):
        store.get_version("a", 2)
    with pytest.raises(UnknownKey):
        store.roll_back("b", 1, epoch=epoch)
    with pytest.raises(UnknownVersion):
        store.roll_back("a", 2, epoch=epoch)


@pytest.mark.parametrize("origin", [Origin.ROLLBACK, Origin.FALLBACK])
def test_going_back_writes_a_new_version(store: CheckpointStore, epoch: int, origin: Origin) -> None:
    for payload in (b"good", b"bad"):
        store.put_raw("a", payload, epoch=epoch)
    assert store.commit(Commit(epoch, [RollBack("a", 1, origin)])) == {"a": 3}
    assert [store.get_version("a", number).payload for number in (1, 2, 3)] == [b"good", b"bad", b"good"]
    newest = store.versions("a")[-1]
    assert (newest.origin, newest.restored_from, newest.size) == (origin, 1, 4)


def test_a_key_that_was_deleted_goes_on_counting(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    assert [store.put_raw("a", b"", epoch=epoch) for _ in range(3)] == [1, 2, 3]
    store.delete("a", epoch=epoch)
    again = store_factory.open()
    assert again.put_raw("a", b"", epoch=epoch) == 4
    assert [version.number for version in again.versions("a")] == [4]
    with pytest.raises(UnknownVersion):
        again.get_version("a", 3)


def test_pruning_keeps_the_newest(store: CheckpointStore, epoch: int) -> None:
    for number in range(5):
        store.put_raw("a", b"%d" % number, epoch=epoch)
    store.put_raw("b", b"", epoch=epoch)
    assert store.prune("a", keep=9, epoch=epoch) == 0
    assert store.prune("a", keep=2, epoch=epoch) == 3
    assert [version.number for version in store.versions("a")] == [4, 5]
    assert store.prune("a", keep=1, epoch=epoch) == 1
    assert (store.prune("absent", keep=1, epoch=epoch), len(store.versions("b"))) == (0, 1)
    assert store.put_raw("a", b"", epoch=epoch) == 6


def test_pruning_keeps_the_newest_readable_version_too(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    for number in range(1, 6):
        store.put_raw("a", b"payload number %d" % number, epoch=epoch)
    for number in (4, 5):
        store_factory.tamper("a", number)
    assert store.prune("a", keep=1, epoch=epoch) == 3
    assert [version.number for version in store.versions("a")] == [3, 5]
    assert store.get_version("a", 3).payload == b"payload number 3"


def test_pruning_to_nothing_is_refused(store: CheckpointStore, epoch: int) -> None:
    store.put_raw("a", b"", epoch=epoch)
    with pytest.raises(InvalidCommit):
        store.prune("a", keep=0, epoch=epoch)
    assert len(store.versions("a")) == 1


# Life of a handle


def test_what_was_written_is_there_for_the_next_handle(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    store.put_raw("a", b"1", epoch=epoch)
    store.close()
    again = store_factory.open()
    assert (again.epoch(), again.keys()) == (epoch, ["a"])


def test_closing_twice_is_fine_and_use_after_it_is_an_error(store: CheckpointStore, epoch: int) -> None:
    with store as entered:
        assert entered is store
    store.close()
    uses: list[Callable[[], object]] = [
        store.epoch,
        store.take_over,
        store.keys,
        lambda: store.get_raw("a"),
        lambda: store.versions("a"),
        lambda: store.get_version("a", 1),
        lambda: store.put_raw("a", b"", epoch=epoch),
        lambda: store.prune("a", keep=1, epoch=epoch),
    ]
    for use in uses:
        with pytest.raises(StoreClosed):
            use()
