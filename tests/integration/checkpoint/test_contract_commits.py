"""What every checkpoint store promises about a commit: all of it or nothing, and damage is never taken for data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.contract import Commit, Delete, Origin, Put, RollBack, VersionIs
from holdfast.model.errors import (
    CheckpointDamaged,
    InvalidCommit,
    InvalidKey,
    RequirementFailed,
    UnknownKey,
    UnknownVersion,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checkpoint.contract import CheckpointStore
    from tests.support.stores import StoreFactory


@pytest.mark.req("K1")
def test_a_commit_writes_all_its_keys_and_says_their_versions(store: CheckpointStore, epoch: int) -> None:
    store.commit(Commit(epoch, [Put("state", b"old"), Put("gone", b"")]))
    made = store.commit(Commit(epoch, [Put("state", b"new"), Put("offset", b"7"), Delete("gone")]))
    assert made == {"state": 2, "offset": 1, "gone": 0}
    assert store.keys() == ["offset", "state"]


BROKEN_COMMITS: dict[str, tuple[type[Exception], Callable[[int], Commit]]] = {
    "requirement": (RequirementFailed, lambda epoch: Commit(epoch, [Put("b", b"2")], [VersionIs("a", 2)])),
    "second requirement": (
        RequirementFailed,
        lambda epoch: Commit(epoch, [Put("b", b"2")], [VersionIs("a", 1), VersionIs("c", 1)]),
    ),
    "unknown version": (UnknownVersion, lambda epoch: Commit(epoch, [Put("b", b"2"), RollBack("a", 9)])),
    "unknown key": (UnknownKey, lambda epoch: Commit(epoch, [Put("b", b"2"), Delete("a"), RollBack("z", 1)])),
    "invalid key": (InvalidKey, lambda epoch: Commit(epoch, [Put("b", b"2"), Put("../z", b"")])),
    "key twice": (InvalidCommit, lambda epoch: Commit(epoch, [Put("b", b"2"), Put("a", b""), Delete("a")])),
    "origin": (InvalidCommit, lambda epoch: Commit(epoch, [Put("b", b"2"), RollBack("a", 1, Origin.PUT)])),
}


@pytest.mark.req("K1")
@pytest.mark.parametrize("case", BROKEN_COMMITS)
def test_a_commit_that_fails_in_one_place_writes_nothing(store_factory: StoreFactory, case: str) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    store.put_raw("a", b"1", epoch=epoch)
    error, broken = BROKEN_COMMITS[case]
    with pytest.raises(error):
        store.commit(broken(epoch))
    other = store_factory.open()
    assert (other.keys(), len(other.versions("a"))) == (["a"], 1)
    assert other.put_raw("b", b"", epoch=epoch) == 1


def test_version_zero_is_required_of_an_absent_key(store: CheckpointStore, epoch: int) -> None:
    first = Commit(epoch, [Put("a", b"")], [VersionIs("a", 0)])
    assert store.commit(first) == {"a": 1}
    with pytest.raises(RequirementFailed) as refused:
        store.commit(first)
    assert (refused.value.context["key"], refused.value.context["found"]) == ("a", 1)
    store.delete("a", epoch=epoch)
    assert store.commit(first) == {"a": 2}


def test_a_commit_without_updates_only_checks(store: CheckpointStore, epoch: int) -> None:
    assert store.commit(Commit(epoch, [], [VersionIs("a", 0)])) == {}
    with pytest.raises(RequirementFailed):
        store.commit(Commit(epoch, [], [VersionIs("a", 1)]))


# Damage


@pytest.mark.req("X19")
@pytest.mark.parametrize("payload", [b"a small one", b"a large one " * 1000], ids=["plain", "compressed"])
def test_a_damaged_payload_is_an_error_that_names_it(store_factory: StoreFactory, payload: bytes) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    store.commit(Commit(epoch, [Put("a", b"the one before"), Put("b", b"another key")]))
    store.put_raw("a", payload, epoch=epoch)
    store_factory.tamper("a", 2)
    reader = store_factory.open()
    with pytest.raises(CheckpointDamaged, match=r"'a' version 2"):
        reader.get_raw("a")
    with pytest.raises(CheckpointDamaged, match=r"'a' version 2"):
        reader.get_version("a", 2)
    assert [version.number for version in reader.versions("a")] == [1, 2]
    assert reader.get_version("a", 1).payload == b"the one before"
    assert (other := reader.get_raw("b")) is not None
    assert other.payload == b"another key"


def test_damage_is_never_rolled_back_to_but_can_be_left_behind(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    epoch = store.take_over()
    for payload in (b"the first payload", b"the second payload"):
        store.put_raw("a", payload, epoch=epoch)
    store_factory.tamper("a", 2)
    with pytest.raises(CheckpointDamaged):
        store.commit(Commit(epoch, [Put("b", b""), RollBack("a", 2)]))
    assert (store.keys(), len(store.versions("a"))) == (["a"], 2)
    store.commit(Commit(epoch, [RollBack("a", 1, Origin.FALLBACK)], [VersionIs("a", 2)]))
    assert (found := store.get_raw("a")) is not None
    assert (found.version.number, found.payload) == (3, b"the first payload")
