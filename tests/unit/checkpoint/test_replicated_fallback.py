"""To which older cut several keys go back together, and where it cannot be told which one stood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.damage import flip
from tests.support.replicas import OFFSET, STATE, write_pair
from tests.support.stores import TickingClock

from holdfast.checkpoint.contract import Commit, Delete, Put, Version
from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.fallback import cuts
from holdfast.checkpoint.replication.recovery import recover
from holdfast.model.errors import CheckpointDamaged

START = datetime(2026, 1, 1, tzinfo=UTC)


def damage(shelf: Shelf, key: str, version: int) -> None:
    kept = shelf.kept[key][version]
    shelf.kept[key][version] = Kept(kept.version, replace(kept.sealed, data=flip(kept.sealed.data)))


def recovered_pair(shelf: Shelf) -> tuple[bytes | None, bytes | None]:
    store = MemoryStore(shelf, clock=TickingClock())
    found = recover(store, (STATE, OFFSET), epoch=store.take_over(), paths=recovery_path_total())
    return found.payload(STATE), found.payload(OFFSET)


def versions(key: str, seconds: Iterable[int], epoch: int = 1) -> list[Version]:
    return [Version(key, n, START + timedelta(seconds=s), 0, 0, epoch) for n, s in enumerate(seconds, 1)]


@pytest.mark.req("K1")
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], [(3, 3), (2, 2), (1, 1)]),
        ([1, 2, 4], [1, 4], [(3, 2), (2, 1), (1, 1)]),
        ([1, 2], [2], [(2, 1)]),
        ([1, 2, 4], [1, 3], [(3, 2), (1, 1)]),
        ([1, 2, 3, 5], [1, 4, 5], [(4, 3), (3, 2), (1, 1)]),
        ([1, 3], [2, 4], [(2, 2)]),
        ([1, 1, 3], [1, 4], [(3, 2)]),
        ([5, 1, 6, 7], [5, 1, 6, 7], [(4, 4), (3, 3), (2, 2), (1, 1)]),
        ([1, 3, 2], [1, 2, 3], [(3, 3)]),
        ([1, 1], [1, 1], [(2, 2)]),
    ],
    ids=[
        "in step",
        "one moves more often",
        "one began later",
        "only the clock says which was last",
        "only the clock says which was last, further back",
        "never written together",
        "which of two was written together is not known",
        "a clock went back between commits of both",
        "times that contradict each other",
        "two commits at one time",
    ],
)
def test_the_cuts_of_two_keys(a: list[int], b: list[int], expected: list[tuple[int, int]]) -> None:
    found = [(cut["a"].number, cut["b"].number) for cut in cuts({"a": versions("a", a), "b": versions("b", b)})]
    assert found == expected


@pytest.mark.req("K1")
def test_a_later_epoch_was_written_later_whatever_the_clock_says() -> None:
    lines = {"a": versions("a", [9], epoch=1), "b": [*versions("b", [1], epoch=1), *versions("b", [2, 3], epoch=2)[1:]]}
    assert [(cut["a"].number, cut["b"].number) for cut in cuts(lines)] == [(1, 2), (1, 1)]


@pytest.mark.req("K1")
def test_past_a_version_that_is_no_longer_kept_the_next_cut_is_a_commit_of_both() -> None:
    a, b = versions("a", range(1, 7)), versions("b", range(1, 7))
    assert [(cut["a"].number, cut["b"].number) for cut in cuts({"a": [a[3], a[5]], "b": b})] == [(6, 6), (4, 4)]


def test_a_single_key_goes_back_by_its_numbers_whatever_the_clock_did() -> None:
    assert [cut["a"].number for cut in cuts({"a": versions("a", [5, 1, 9, 9])})] == [4, 3, 2, 1]


@pytest.mark.req("K1", "K3")
def test_a_clock_that_went_back_between_two_keys_makes_up_no_pair() -> None:
    """The pairs that stood are (1, 1), (2, 1), (2, 2) and (2, 3); going by the times, (1, 2) would be one of them."""
    shelf, times = Shelf(), iter([1, 10, 5, 7])
    store = MemoryStore(shelf, clock=lambda: START + timedelta(seconds=next(times)))
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.put_raw(STATE, b"state 2", epoch=epoch)
    store.put_raw(OFFSET, b"offset 2", epoch=epoch)
    store.put_raw(OFFSET, b"offset 3", epoch=epoch)
    damage(shelf, OFFSET, 3)
    assert recovered_pair(shelf) == (b"state 1", b"offset 1")


@pytest.mark.req("K1", "K3")
def test_keys_whose_order_only_the_clock_would_tell_are_refused() -> None:
    shelf = Shelf()
    store = MemoryStore(shelf, clock=TickingClock())
    epoch = store.take_over()
    for number in (1, 2):
        store.put_raw(STATE, b"state %d" % number, epoch=epoch)
        store.put_raw(OFFSET, b"offset %d" % number, epoch=epoch)
    damage(shelf, OFFSET, 2)
    with pytest.raises(CheckpointDamaged):
        recovered_pair(shelf)


@pytest.mark.req("K1", "K3")
def test_a_key_that_was_deleted_since_is_not_left_out_of_an_older_pair() -> None:
    shelf = Shelf()
    store = MemoryStore(shelf, clock=TickingClock())
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.commit(Commit(epoch, [Delete(STATE), Put(OFFSET, b"offset 2")]))
    damage(shelf, OFFSET, 2)
    with pytest.raises(CheckpointDamaged, match="'state', which may have been deleted since"):
        recovered_pair(shelf)


@pytest.mark.req("K1", "K3")
def test_a_version_pruned_around_a_damaged_one_makes_up_no_pair() -> None:
    shelf = Shelf()
    store = MemoryStore(shelf, clock=TickingClock())
    epoch = store.take_over()
    for number in (1, 2, 3):
        write_pair(store, number, epoch)
    for version in (2, 3):
        damage(shelf, STATE, version)
    store.prune(STATE, keep=1, epoch=epoch)
    assert recovered_pair(shelf) == (b"state 1", b"offset 1")
