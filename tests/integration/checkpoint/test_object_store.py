"""What is special about checkpoints as objects: damage in a bucket, prefixes, cleaning up, and opening by URL."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, S3Store

from holdfast.checkpoint.commitlog.document import commit_name
from holdfast.checkpoint.contract import CheckpointStore, Commit, Durability, Origin, Put, RollBack
from holdfast.checkpoint.objects import ObjectStore, open_object_store
from holdfast.model.errors import CheckpointDamaged, ForeignFile, MissingExtra, StoreFull, UnknownFormat
from tests.support.mounts import small_disk
from tests.support.objects import impatient_client
from tests.support.proxy import Proxy
from tests.support.servers import Bucket

LARGE = Random(3).randbytes(100_000)
KEY = {"region": "us-east-1", "access_key_id": "test", "secret_access_key": "test"}


def payload(store: CheckpointStore, key: str = "k") -> bytes | None:
    stored = store.get_raw(key)
    return stored.payload if stored else None


def bucket(s3: Bucket) -> S3Store:
    return impatient_client(s3.endpoint, s3.name)


# Damage, and places that are not a store


@pytest.fixture
def store(s3: Bucket) -> ObjectStore:
    """A store with one commit."""
    store = ObjectStore(bucket(s3), "p")
    store.put_raw("k", b"before", epoch=store.take_over())
    return store


@pytest.fixture
def another(s3: Bucket, store: ObjectStore) -> Callable[[], ObjectStore]:
    """Another handle on the same store."""
    return lambda: ObjectStore(bucket(s3), "p")


def overwrite(s3: Bucket, number: int, data: bytes) -> None:
    obstore.put(bucket(s3), f"p/{commit_name(number)}", data)


@pytest.mark.req("K1", "K2")
def test_a_document_cut_anywhere_is_never_read_as_an_older_value(
    s3: Bucket, store: ObjectStore, another: Callable[[], ObjectStore]
) -> None:
    epoch = store.epoch()
    store.commit(Commit(epoch, [Put("k", b"after"), Put("offset", b"2")]))
    path = f"p/{commit_name(3)}"
    data = bytes(obstore.get(bucket(s3), path).bytes())
    for length in range(0, len(data) - 1, 41):
        overwrite(s3, 3, data[:length])
        torn = another()
        for key, value in (("k", b"after"), ("offset", b"2")):
            try:
                assert payload(torn, key) == value
            except CheckpointDamaged:
                continue
        assert torn.get_version("k", 1).payload == b"before"


def test_a_fallback_settles_a_key_after_its_document_was_lost(
    s3: Bucket, store: ObjectStore, another: Callable[[], ObjectStore]
) -> None:
    store.put_raw("k", b"after", epoch=store.epoch())
    overwrite(s3, 3, b"")
    again = another()
    epoch = again.take_over()
    with pytest.raises(CheckpointDamaged, match="Commit 3"):
        again.get_raw("k")
    again.commit(Commit(epoch, [RollBack("k", 1, Origin.FALLBACK)]))
    assert payload(another()) == b"before"


def test_a_prefix_of_somebody_else_is_left_alone() -> None:
    objects = MemoryStore()
    obstore.put(objects, "p/notes.txt", b"mine")
    with pytest.raises(ForeignFile, match=r"notes\.txt"):
        ObjectStore(objects, "p")


def test_a_store_of_a_newer_format_is_refused() -> None:
    objects = MemoryStore()
    ObjectStore(objects, "p")
    obstore.put(objects, "p/holdfast.json", b'{"kind":"holdfast checkpoint log","format":2}')
    with pytest.raises(UnknownFormat):
        ObjectStore(objects, "p")


def test_stores_below_different_prefixes_do_not_meet() -> None:
    objects = MemoryStore()
    one, other = ObjectStore(objects, "orders"), ObjectStore(objects, "orders-2")
    one.put_raw("k", b"1", epoch=one.take_over())
    assert (other.epoch(), other.keys(), one.keys()) == (0, [], ["k"])


def test_a_prune_removes_documents_and_blobs(s3: Bucket, store: ObjectStore) -> None:
    epoch = store.epoch()
    for _ in range(8):
        store.put_raw("k", LARGE, epoch=epoch)
    assert store.prune("k", keep=1, epoch=epoch) == 8
    left = [meta["path"] for meta in obstore.list(bucket(s3)).collect()]
    assert len([path for path in left if "/commits/" in path]) <= 5
    assert payload(store) == LARGE


def test_a_read_lists_only_what_is_newer_than_what_is_known(s3: Bucket) -> None:
    proxy = Proxy(s3.endpoint)
    store = ObjectStore(impatient_client(proxy.address, s3.name), "p")
    epoch = store.take_over()
    for _ in range(6):
        store.put_raw("k", b"x", epoch=epoch)
    before = len(proxy.requests)
    store.get_raw("k")
    listed, read = proxy.requests[before:]
    assert "start-after=p%2Fcommits%2F00000000000000000006" in listed[1]
    assert read[1].endswith(commit_name(7))
    proxy.close()


# Opening


def test_what_a_commit_survives_depends_on_the_kind_of_store(tmp_path: Path, s3: Bucket) -> None:
    stores = [ObjectStore(bucket(s3)), ObjectStore(LocalStore(tmp_path)), ObjectStore(MemoryStore())]
    assert [store.durability for store in stores] == [Durability.REMOTE, Durability.CRASH, Durability.PROCESS]


def test_a_anotherory_is_opened_by_its_url(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/new%20store"
    with open_object_store(url) as store:
        store.put_raw("k", b"1", epoch=store.take_over())
    assert (tmp_path / "new store" / "commits").is_dir()
    assert payload(open_object_store(url)) == b"1"


def test_a_bucket_is_opened_by_its_url(s3: Bucket) -> None:
    with open_object_store(f"s3://{s3.name}/deep/prefix", endpoint=s3.endpoint, **KEY) as store:
        store.put_raw("k", b"1", epoch=store.take_over())
    assert payload(ObjectStore(bucket(s3), "deep/prefix")) == b"1"


def test_a_full_disk_below_a_anotherory_of_objects_is_a_full_store(tmp_path: Path) -> None:
    with small_disk(tmp_path, "128k"):
        store = ObjectStore(LocalStore(tmp_path))
        epoch = store.take_over()
        with pytest.raises(StoreFull):
            store.put_raw("k", Random(4).randbytes(200_000), epoch=epoch)
        assert store.put_raw("k", b"small", epoch=epoch) == 1


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtra, match=r"holdfast\[objects\]"):
        open_object_store("s3://bucket/prefix")
