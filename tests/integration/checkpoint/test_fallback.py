"""Several keys that fall back together on real stores, beside a key that is absent."""

from __future__ import annotations

import pytest

from holdfast.checkpoint.contract import Commit, Delete, Put
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.recovery import RecoveryPath, recover
from holdfast.model.errors import CheckpointDamaged
from tests.support.replicas import OFFSET, STATE, read_pair, write_pair
from tests.support.stores import StoreFactory, TickingClock

REMEMBERING = ("sqlite", "postgres", "file", "object-local", "object-s3")
"""The stores that still know of a key which they no longer hold."""


@pytest.mark.req("K1", "K3")
def test_a_key_that_was_deleted_since_is_not_left_out_of_an_older_pair(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.commit(Commit(epoch, [Delete(STATE), Put(OFFSET, b"offset 2")]))
    store_factory.tamper(OFFSET, 2)
    with pytest.raises(CheckpointDamaged):
        recover(store, (STATE, OFFSET), epoch=store.take_over(), paths=recovery_path_total())


@pytest.mark.req("K1", "K3")
@pytest.mark.parametrize("store_factory", REMEMBERING, indirect=True)
def test_a_key_that_was_never_written_does_not_keep_the_others_from_falling_back(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = store.take_over()
    for number in (1, 2):
        write_pair(store, number, epoch)
    store_factory.tamper(OFFSET, 2)
    keys = (STATE, OFFSET, "never-written")
    found = recover(store, keys, epoch=store.take_over(), paths=recovery_path_total())
    assert (found.path, read_pair(store)) == (RecoveryPath.LOCAL_FALLBACK, (1, 1))
